/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The disk model as an engine. Waiting costs nothing: reap() moves the virtual clock to the next thing that happens on
 * any disk, and no further than it was asked to. The engine finds its sim by its clock.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "simstate.h"

struct sim_engine {
	struct io_req **ready; /* done and not reaped, in order of completion; a ring */
	uint32_t first, n, size;
	uint32_t in_flight; /* on disks */
};

#define USER_BYTES 4096

/* A request on its way: which engine it comes back to, or (se NULL) which user. */
struct ticket {
	struct sim_engine *se;
	struct io_req *req;
	struct sim_user *user;
};

static int sim_engine_open(struct engine *eng, struct err *err)
{
	struct sim_engine *se = calloc(1, sizeof(*se));

	if (!se || !(se->ready = calloc(eng->cfg.depth, sizeof(struct io_req *)))) {
		free(se);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	se->size = eng->cfg.depth;
	eng->priv = se;
	return 0;
}

static void sim_engine_close(struct engine *eng)
{
	struct sim_engine *se = eng->priv;

	free(se->ready);
	free(se);
}

static void make_ready(struct sim_engine *se, struct io_req *req, uint64_t now_ns)
{
	req->done_ns = now_ns;
	assert(se->n < se->size);
	se->ready[(se->first + se->n++) % se->size] = req;
}

static double user_gap_ns(struct sim_user *u)
{
	switch (u->rhythm) {
	case SIM_USER_REGULAR:
		return u->mean_gap_ns;
	case SIM_USER_BURSTS:
		return u->sent % 10 ? u->mean_gap_ns / 10 : 9 * rng_exp(&u->rng, u->mean_gap_ns);
	default:
		return rng_exp(&u->rng, u->mean_gap_ns);
	}
}

static void user_comes(void *arg);

/* Who thinks first comes again so long after an answer. */
static void user_has(struct sim_user *u, uint64_t took_ns)
{
	struct vclock *vc = &u->sd->sim->vc;

	u->took_ns[u->n++] = took_ns;
	if (u->is_hidden) { /* the model has counted it */
		u->sd->whole->foreign.reads--;
		u->sd->whole->foreign.read_bytes -= USER_BYTES;
		u->sd->whole->foreign.read_ns -= took_ns;
	}
	if (u->rhythm == SIM_USER_THINKS && u->sent < u->most)
		vclock_at(vc, vc->now_ns + (uint64_t)user_gap_ns(u), user_comes, u);
}

/* ---- the scheduler ---- */

static bool has_room(const struct sim_disk *sd)
{
	return disk_in_flight(sd->model) < disk_profile(sd->model)->ctl.queue_depth;
}

/* The next one upward from where the last one ended, or the lowest. */
static size_t next_upward(const struct sim_disk *sd)
{
	size_t best = 0;

	for (size_t i = 1; i < sd->nwaiting; i++) {
		uint64_t at = sd->waiting[i].offset_bytes, than = sd->waiting[best].offset_bytes;

		/* What lies below comes after all that lies above: a difference that wraps round is a large one. */
		if (at - sd->sorted_to < than - sd->sorted_to)
			best = i;
	}
	return best;
}

static void dispatch(struct sim_disk *sd, uint64_t now_ns)
{
	while (sd->nwaiting && has_room(sd)) {
		size_t i = next_upward(sd);
		struct disk_req q = sd->waiting[i];

		sd->waiting[i] = sd->waiting[--sd->nwaiting];
		sd->sorted_to = q.offset_bytes + q.len_bytes;
		if (disk_submit(sd->model, now_ns, &q) < 0)
			sim_die("out of memory");
	}
}

static void hand_over(struct sim_disk *sd, uint64_t now_ns, const struct disk_req *q)
{
	if (sd->is_sorting) {
		if (sd->nwaiting == sizeof(sd->waiting) / sizeof(sd->waiting[0]))
			sim_die("more than %zu requests wait for a scheduler", sd->nwaiting);
		sd->waiting[sd->nwaiting++] = *q;
		dispatch(sd, now_ns);
	} else if (disk_submit(sd->model, now_ns, q) < 0) {
		sim_die("out of memory");
	}
}

/* What has happened up to now comes back, oldest first over all disks. */
void sim_collect(struct sim *sim)
{
	const uint64_t now = sim->vc.now_ns;

	for (;;) {
		struct sim_disk *sd, *first = NULL;
		struct disk_done done;
		struct ticket *ticket;
		uint64_t t = CLOCK_NEVER;

		for (sd = sim->disks; sd; sd = sd->next) {
			uint64_t next;

			if (!sd->model || disk_in_flight(sd->model) == 0)
				continue;
			disk_advance(sd->model, now);
			next = disk_next_done_ns(sd->model);
			if (next <= now && next < t) {
				t = next;
				first = sd;
			}
		}
		if (!first || !disk_pop_done(first->model, now, &done))
			return;
		dispatch(first, now);
		ticket = done.req.owner;
		if (!ticket->se) {
			user_has(ticket->user, done.done_ns - done.arrival_ns);
			free(ticket);
			continue;
		}
		ticket->req->res = sim->error ? sim->error : done.res;
		ticket->se->in_flight--;
		make_ready(ticket->se, ticket->req, now);
		free(ticket);
	}
}

/* ---- somebody else ---- */

static void user_comes(void *arg)
{
	struct sim_user *u = arg;
	struct sim *sim = u->sd->sim;
	struct ticket *ticket = malloc(sizeof(*ticket));
	uint64_t blocks = u->sd->dev.size_bytes / USER_BYTES;

	if (!ticket)
		sim_die("out of memory");
	*ticket = (struct ticket){ .user = u };
	if (disk_submit(u->sd->model, sim->vc.now_ns,
	                &(struct disk_req){ .op = DISK_READ,
	                                    .offset_bytes = rng_below(&u->rng, blocks) * USER_BYTES,
	                                    .len_bytes = USER_BYTES,
	                                    .owner = ticket }) < 0)
		sim_die("out of memory");
	if (++u->sent < u->most && u->rhythm != SIM_USER_THINKS)
		vclock_at(&sim->vc, sim->vc.now_ns + (uint64_t)user_gap_ns(u), user_comes, u);
}

void sim_user_start(struct sim_user *u)
{
	rng_init(&u->rng, 20, 1);
	vclock_at(&u->sd->sim->vc, u->sd->sim->vc.now_ns + (uint64_t)rng_exp(&u->rng, u->mean_gap_ns), user_comes, u);
}

void sim_user_wait(struct sim_user *u)
{
	struct sim *sim = u->sd->sim;

	while (u->n < u->most) {
		(void)vclock_advance(&sim->vc, sim->vc.now_ns + NS_PER_MS);
		sim_collect(sim);
	}
}

/* When something happens next on a disk with requests. */
static uint64_t next_ns(const struct sim *sim)
{
	const struct sim_disk *sd;
	uint64_t next = CLOCK_NEVER;

	for (sd = sim->disks; sd; sd = sd->next) {
		uint64_t event, done;

		if (!sd->model || disk_in_flight(sd->model) == 0)
			continue;
		event = disk_next_event_ns(sd->model);
		done = disk_next_done_ns(sd->model);
		event = event < done ? event : done;
		next = event < next ? event : next;
	}
	return sim->tick_ns && next != CLOCK_NEVER ? (next + sim->tick_ns - 1) / sim->tick_ns * sim->tick_ns : next;
}

/* -errno: it cannot be issued. Otherwise *ret is what the disk gets: partitions and files end where they end. */
static int translate(const struct sim *sim, const struct io_req *req, const struct sim_open **ret_open,
                     struct disk_req *ret)
{
	const struct sim_open *o = sim_open_of(sim, req->fd);
	const struct device *dev;
	uint64_t left;

	if (!o || (io_writes(req->op) && !o->is_writable))
		return -EBADF;
	*ret_open = o;
	if (req->op == IO_FLUSH) {
		*ret = (struct disk_req){ .op = DISK_FLUSH };
		return 0;
	}
	dev = &o->sd->dev;
	if (req->len_bytes % dev->logical_block_bytes || req->offset_bytes % dev->logical_block_bytes ||
	    (uintptr_t)req->buf % dev->queue.dio_mem_align_bytes || req->offset_bytes > (uint64_t)INT64_MAX)
		return -EINVAL;
	left = req->offset_bytes < dev->size_bytes ? dev->size_bytes - req->offset_bytes : 0;
	if (left == 0 && io_writes(req->op) && req->len_bytes)
		return -ENOSPC;
	*ret = (struct disk_req){
		.op = io_writes(req->op) ? DISK_WRITE : DISK_READ,
		.fua = req->op == IO_READ_FUA || req->op == IO_WRITE_FUA,
		.is_verify = req->op == IO_VERIFY,
		.offset_bytes = o->sd->first_byte + req->offset_bytes,
		.len_bytes = req->len_bytes < left ? req->len_bytes : (uint32_t)left,
		/* Who may not write does not look at what is there either, but for how long it takes. */
		.buf = sim->has_contents && o->is_writable && req->op != IO_VERIFY ? req->buf : NULL,
	};
	return 0;
}

static void issue(struct sim *sim, struct sim_engine *se, struct io_req *req)
{
	const struct sim_open *o = NULL;
	struct disk_req q;
	struct ticket *ticket;
	int r;

	sim->vc.now_ns += sim->submit_cost_ns;
	req->submit_ns = sim->vc.now_ns;
	sim->requests++;
	r = translate(sim, req, &o, &q);
	if (r == 0 && req->op >= IO_COMMANDS && sim->verify == SIM_VERIFY_UNKNOWN)
		r = -EOPNOTSUPP;
	if (r == 0 && q.fua && o->sd != o->sd->whole) /* as engine/commands.c has it */
		r = -EOPNOTSUPP;
	if (r == 0 && req->op == IO_VERIFY && sim->verify == SIM_VERIFY_LIES)
		r = (int)req->len_bytes;
	if (r != 0) {
		req->res = r;
		make_ready(se, req, sim->vc.now_ns);
		return;
	}
	ticket = malloc(sizeof(*ticket));
	if (!ticket)
		sim_die("out of memory");
	*ticket = (struct ticket){ .se = se, .req = req };
	q.owner = ticket;
	hand_over(o->sd->whole, sim->vc.now_ns, &q);
	se->in_flight++;
}

static int sim_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	struct sim *sim = sim_of_clock(eng->clk);
	struct sim_engine *se = eng->priv;
	uint32_t i;

	for (i = 0; i < nreqs && se->in_flight + se->n < se->size; i++)
		issue(sim, se, reqs[i]);
	return (int)i;
}

static int hand_out(struct sim *sim, struct sim_engine *se, struct io_req **done, uint32_t max)
{
	uint32_t n = 0;

	if (se->n && max)
		sim->vc.now_ns += sim->reap_cost_ns;
	while (n < max && se->n) {
		done[n++] = se->ready[se->first];
		se->first = (se->first + 1) % se->size;
		se->n--;
	}
	return (int)n;
}

static int sim_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct sim *sim = sim_of_clock(eng->clk);
	struct sim_engine *se = eng->priv;

	for (;;) {
		uint64_t next;

		sim_collect(sim);
		if (se->n || max == 0)
			return hand_out(sim, se, done, max);
		if (until_ns <= sim->vc.now_ns || (se->in_flight == 0 && until_ns == CLOCK_NEVER))
			return 0;
		next = next_ns(sim);
		if (next == CLOCK_NEVER && until_ns == CLOCK_NEVER && vclock_next_timer_ns(&sim->vc) == CLOCK_NEVER)
			sim_die("%u requests are in flight that will never end", se->in_flight);
		if (vclock_advance(&sim->vc, next < until_ns ? next : until_ns))
			return 0; /* a timer: as a signal */
	}
}

/* Done on the spot: the clock has moved when submit() returns. Signals wait for the request to end. */
static int sim_sync_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	struct sim *sim = sim_of_clock(eng->clk);
	struct sim_engine *se = eng->priv;

	if (nreqs == 0 || se->n)
		return 0;
	issue(sim, se, reqs[0]);
	for (sim_collect(sim); se->n == 0; sim_collect(sim)) {
		uint64_t next = next_ns(sim);

		if (next == CLOCK_NEVER && vclock_next_timer_ns(&sim->vc) == CLOCK_NEVER)
			sim_die("a request is in flight that will never end");
		(void)vclock_advance(&sim->vc, next);
	}
	return 1;
}

const struct engine_ops engine_sim = {
	.name = "sim",
	.help = "simulated disks in virtual time",
	.max_depth = 256,
	.open = sim_engine_open,
	.submit = sim_submit,
	.reap = sim_reap,
	.close = sim_engine_close,
};

const struct engine_ops engine_sim_sync = {
	.name = "sim-sync",
	.help = "simulated disks in virtual time, one request at a time",
	.max_depth = 1,
	.issues_in_submit = true,
	.has_commands = true,
	.open = sim_engine_open,
	.submit = sim_sync_submit,
	.reap = sim_reap,
	.close = sim_engine_close,
};
