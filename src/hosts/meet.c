/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hosts say to each other: a star around rank 0. Each step is a message of all to rank 0 and one back. Whoever
 * waits looks whether the other lives (BEAT, each second), so that every wait has an end, and a slow host is not taken
 * for a dead one.
 */
#include "hosts/hosts.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"

#define BEAT_NS   NS_PER_S
#define LOOK_NS   NS_PER_MS         /* between looks for a message */
#define PINGS     200               /* round trips for an offset: about 1 ms where nothing is in the way */
#define PING_NS   (300 * NS_PER_MS) /* at most for all of them */
#define GOOD_NS   (10 * NS_PER_US)  /* error of an offset: far below what a request takes */
#define CLOCKS_NS NS_PER_S          /* for rounds until it is as good */
#define SPIN_NS   (20 * NS_PER_MS)  /* who was asked the time is asked again at once: no sleep until then */
#define AHEAD_NS \
	(100 * NS_PER_MS) /* that the start lies in the future: for the message to arrive everywhere (a choice) */
#define AHEAD_EACH (2 * NS_PER_MS) /* and for each host more */
#define CANCEL_NS  (2 * NS_PER_S)  /* for the others' answers, once a signal came: launchers are not patient */

enum tag {
	TAG_HELLO,
	TAG_WELCOME,
	TAG_GATE,
	TAG_GO,
	TAG_READY,
	TAG_PING,
	TAG_PONG,
	TAG_START,
	TAG_DONE,
	TAG_THANKS,
	TAG_BYE,
	TAG_BEAT
};

/* May it go on? Of each host, and as the answer for all. */
struct verdict {
	int r;
	uint8_t is_refused; /* no bool: it comes from elsewhere */
	char text[sizeof(((struct err *)0)->text)];
	char name[HOST_NAME_BYTES]; /* whose it is */
	uint64_t words;             /* what it was told to do */
	uint64_t seed;
};
struct ping {
	uint64_t number, there_ns;
};

struct peer {
	char name[HOST_NAME_BYTES];
	bool is_lost, has_before, has_after;
	uint64_t heard_ns; /* real time */
	struct clock_offset before, after;
	void *done; /* what it measured: when it began (uint64_t), and its document */
	size_t done_bytes;
};

struct hosts {
	struct hosts_config cfg;
	struct transport *t;
	struct peer *peers; /* one for each rank */
	bool is_started;
	pthread_t beat;
	bool has_beat, is_ending;
	pthread_mutex_t lock; /* the transport, is_ending, heard_ns and is_lost */
	pthread_cond_t wake;
};

static uint64_t real_ns(void)
{
	return clock_now_ns(clock_monotonic());
}

/* ---- that we live ---- */

static unsigned first_peer(const struct hosts *h)
{
	return h->t->rank ? 0 : 1;
}

static unsigned end_of_peers(const struct hosts *h)
{
	return h->t->rank ? 1 : h->t->size;
}

static void take_beats(struct hosts *h, unsigned from)
{
	void *data;
	size_t n;

	while (h->t->receive(h->t, from, TAG_BEAT, &data, &n) == 0) {
		free(data);
		h->peers[from].heard_ns = real_ns();
	}
}

static void *beat(void *arg)
{
	struct hosts *h = arg;
	uint64_t next_ns = real_ns();

	(void)pthread_mutex_lock(&h->lock);
	while (!h->is_ending) {
		struct timespec ts;

		for (unsigned i = first_peer(h); i < end_of_peers(h); i++) {
			if (h->peers[i].is_lost)
				continue;
			(void)h->t->send(h->t, i, TAG_BEAT, NULL, 0); /* whoever misses it says so */
			take_beats(h, i);
		}
		next_ns += BEAT_NS;
		ts = (struct timespec){ (time_t)(next_ns / NS_PER_S), (long)(next_ns % NS_PER_S) };
		(void)pthread_cond_clockwait(&h->wake, &h->lock, CLOCK_MONOTONIC, &ts);
	}
	(void)pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- messages ---- */

static void say(struct hosts *h, unsigned to, enum tag tag, const void *data, size_t n)
{
	(void)pthread_mutex_lock(&h->lock);
	if (!h->peers[to].is_lost)
		(void)h->t->send(h->t, to, (int)tag, data,
		                 n); /* a host that cannot be reached is silent, too, and found so */
	(void)pthread_mutex_unlock(&h->lock);
}

/* 0, -EAGAIN, or -ESHUTDOWN: nothing was heard of it for too long. */
static int look(struct hosts *h, unsigned from, enum tag tag, void **ret_data, size_t *ret_n)
{
	struct peer *p = &h->peers[from];
	uint64_t now = real_ns();
	int r;

	(void)pthread_mutex_lock(&h->lock);
	take_beats(h, from);
	r = p->is_lost ? -ESHUTDOWN : h->t->receive(h->t, from, (int)tag, ret_data, ret_n);
	if (r == 0)
		p->heard_ns = now;
	else if (r != -EAGAIN || now > p->heard_ns + h->cfg.wait_ns)
		p->is_lost = true;
	r = p->is_lost ? -ESHUTDOWN : r;
	(void)pthread_mutex_unlock(&h->lock);
	return r;
}

/* Until it comes, or its sender is lost; once a signal came, not for long. until_ns: real time. */
static int await_until(struct hosts *h, unsigned from, enum tag tag, uint64_t until_ns, void **ret_data, size_t *ret_n)
{
	uint64_t cancelled_ns = 0;

	for (;;) {
		int r = look(h, from, tag, ret_data, ret_n);
		uint64_t now = real_ns();

		if (r != -EAGAIN)
			return r;
		if (!cancelled_ns && h->cfg.cancel && *h->cfg.cancel)
			cancelled_ns = now;
		if (now >= until_ns || (cancelled_ns && now > cancelled_ns + CANCEL_NS))
			return -ETIMEDOUT;
		if (until_ns != CLOCK_NEVER)
			(void)sched_yield(); /* a round trip: the other one may need this processor */
		else
			clock_monotonic()->sleep_until_ns(clock_monotonic(), now + LOOK_NS);
	}
}

static int await(struct hosts *h, unsigned from, enum tag tag, void **ret_data, size_t *ret_n)
{
	int r = await_until(h, from, tag, CLOCK_NEVER, ret_data, ret_n);

	if (r == -ETIMEDOUT) { /* cancelled, and no answer */
		(void)pthread_mutex_lock(&h->lock);
		h->peers[from].is_lost = true;
		(void)pthread_mutex_unlock(&h->lock);
	}
	return r;
}

/* ---- who is there ---- */

int hosts_new(struct hosts **ret, const struct hosts_config *cfg, struct err *err)
{
	struct hosts *h = calloc(1, sizeof(*h));

	if (h)
		h->peers = calloc(cfg->transport->size, sizeof(*h->peers));
	if (!h || !h->peers) {
		free(h);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	h->cfg = *cfg;
	h->t = cfg->transport;
	for (unsigned i = 0; i < h->t->size; i++) {
		h->peers[i].heard_ns = real_ns();
		(void)snprintf(h->peers[i].name, sizeof(h->peers[i].name), "rank %u", i);
	}
	memcpy(h->peers[h->t->rank].name, cfg->name, sizeof(cfg->name));
	(void)pthread_mutex_init(&h->lock, NULL); /* cannot fail on Linux */
	(void)pthread_cond_init(&h->wake, NULL);
	h->has_beat = pthread_create(&h->beat, NULL, beat, h) == 0;
	*ret = h;
	return 0;
}

unsigned hosts_rank(const struct hosts *h)
{
	return h->t->rank;
}

unsigned hosts_count(const struct hosts *h)
{
	return h->t->size;
}

uint64_t hosts_seed(const struct hosts *h)
{
	return h->cfg.seed;
}

char *hosts_own_file(const char *path, unsigned rank)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *dot = path ? strrchr(slash ? slash : path, '.') : NULL;
	char *own;

	if (!path || !strcmp(path, "-"))
		return NULL;
	if (!dot)
		dot = path + strlen(path);
	return asprintf(&own, "%.*s.%u%s", (int)(dot - path), path, rank, dot) < 0 ? NULL : own;
}

/* ---- may all go on ---- */

/* What comes from another host may be anything: texts end here. false: it is no verdict. */
static bool take_verdict(struct verdict *ret, const void *data, size_t n)
{
	if (n < sizeof(*ret))
		return false;
	memcpy(ret, data, sizeof(*ret));
	ret->text[sizeof(ret->text) - 1] = ret->name[sizeof(ret->name) - 1] = '\0';
	ret->is_refused = ret->is_refused == 1;
	ret->r = ret->r > 0 ? -EPROTO : ret->r;
	return true;
}

static uint64_t words_hash(const char *words)
{
	uint64_t hash = 0;

	for (; words && *words; words++)
		hash = rng_mix(hash ^ (uint8_t)*words);
	return hash;
}

/* What a host has to say becomes everybody's when it is the first that cannot go on. */
static void judge(struct hosts *h, unsigned from, const struct verdict *v, struct verdict *all)
{
	struct verdict own = *v;

	if (own.name[0])
		memcpy(h->peers[from].name, own.name, sizeof(own.name));
	if (own.r == 0 && own.words != all->words) {
		own.r = -EINVAL;
		(void)snprintf(
			own.text, sizeof(own.text),
			"Its command line differs from that of rank 0; give the same to all hosts, with %%h or %%r where they differ.");
	}
	if (own.r == 0 || all->r < 0)
		return;
	all->r = own.r;
	all->is_refused = own.is_refused;
	(void)snprintf(all->text, sizeof(all->text), "Host %s (rank %u): %.*s", h->peers[from].name, from,
	               (int)sizeof(all->text) - 120, own.text);
}

/* Rank 0: hears all, and tells all what comes of it. */
static void decide(struct hosts *h, enum tag up, enum tag down, struct verdict *own)
{
	struct verdict all = { .words = own->words, .seed = h->cfg.seed };

	judge(h, 0, own, &all);
	for (unsigned i = 1; i < h->t->size; i++) {
		struct verdict theirs = { .r = -ESHUTDOWN,
			                  .text = "It does not answer; see whether it is up, and what mpirun says." };
		void *data = NULL;
		size_t n;

		if (await(h, i, up, &data, &n) == 0)
			(void)take_verdict(&theirs, data, n);
		free(data);
		judge(h, i, &theirs, &all);
	}
	memcpy(all.name, h->cfg.name, sizeof(all.name));
	for (unsigned i = 1; i < h->t->size; i++)
		say(h, i, down, &all, sizeof(all));
	*own = all;
}

/* The others: tell, and hear. */
static void ask(struct hosts *h, enum tag up, enum tag down, struct verdict *own)
{
	char *data = NULL;
	size_t n = 0;

	say(h, 0, up, own, sizeof(*own));
	if (await(h, 0, down, (void **)&data, &n) < 0 || !take_verdict(own, data, n)) {
		own->r = -ESHUTDOWN;
		(void)snprintf(own->text, sizeof(own->text),
		               "Host %s (rank 0) does not answer; see whether it is up, and what mpirun says.",
		               h->peers[0].name);
		free(data);
		return;
	}
	memcpy(h->peers[0].name, own->name, sizeof(own->name));
	free(data);
}

static int agree(struct hosts *h, enum tag up, struct verdict *v, struct err *err)
{
	memcpy(v->name, h->cfg.name, sizeof(v->name));
	if (v->r < 0 && err)
		(void)snprintf(v->text, sizeof(v->text), "%s", err->text);
	if (h->t->rank == 0)
		decide(h, up, up + 1, v);
	else
		ask(h, up, up + 1, v);
	return v->r < 0 ? err_set(err, v->r, "%s", v->text) : 0;
}

int hosts_meet(struct hosts *h, const char *words, int r, struct err *err)
{
	struct verdict v = { .r = r, .words = words_hash(words) };

	r = agree(h, TAG_HELLO, &v, err);
	h->cfg.seed = v.seed;
	return r;
}

int hosts_agree(struct hosts *h, int r, bool *refused, struct err *err)
{
	struct verdict v = { .r = r, .is_refused = *refused };

	r = agree(h, TAG_GATE, &v, err);
	*refused = v.is_refused;
	return r;
}

/* ---- clocks ---- */

/* Round trips to another, numbered from `first` on, and what they say; false: none came back. */
static bool ping_round(struct hosts *h, unsigned with, uint64_t first, struct clock_offset *ret)
{
	size_t pings = clock_is_virtual(h->cfg.clk) ? 1 : PINGS, n = 0;
	uint64_t end_ns = real_ns() + PING_NS;
	struct clock_sample samples[PINGS];

	for (uint64_t number = first; number < first + pings && (n == 0 || real_ns() < end_ns); number++) {
		struct ping ping = { .number = number };
		void *data = NULL;
		size_t bytes;

		samples[n].sent_ns = clock_now_ns(h->cfg.clk);
		say(h, with, TAG_PING, &ping, sizeof(ping));
		do {
			free(data);
			data = NULL;
			if (await_until(h, with, TAG_PONG, n ? end_ns : CLOCK_NEVER, &data, &bytes) < 0)
				return clock_offset_of(samples, n, ret);
			memcpy(&ping, data, bytes < sizeof(ping) ? bytes : sizeof(ping));
		} while (ping.number != number); /* an answer to one that was given up */
		samples[n].back_ns = clock_now_ns(h->cfg.clk);
		samples[n++].there_ns = ping.there_ns;
		free(data);
	}
	return clock_offset_of(samples, n, ret);
}

/* Rank 0: how another's clock stands to ours. Where processors are shared a round may meet no quick answer; then there
 * are more. */
static bool compare_clocks(struct hosts *h, unsigned with, struct clock_offset *ret)
{
	uint64_t end_ns = real_ns() + CLOCKS_NS;
	bool is_known = ping_round(h, with, 0, ret);

	for (uint64_t first = PINGS; is_known && ret->error_ns > GOOD_NS && real_ns() < end_ns; first += PINGS) {
		struct clock_offset again;

		if (clock_is_virtual(h->cfg.clk) || !ping_round(h, with, first, &again))
			break;
		if (again.error_ns < ret->error_ns)
			*ret = again;
	}
	return is_known;
}

/* The others: tell the time when asked, until something else comes. False: rank 0 was lost. */
static bool serve(struct hosts *h, enum tag until, void **ret_data, size_t *ret_n)
{
	uint64_t spin_ns = 0, cancelled_ns = 0;

	for (;;) {
		struct ping ping = { 0 };
		void *data = NULL;
		size_t n;
		int r = look(h, 0, TAG_PING, &data, &n);

		if (r == 0) {
			memcpy(&ping, data, n < sizeof(ping) ? n : sizeof(ping));
			ping.there_ns = clock_now_ns(h->cfg.clk);
			say(h, 0, TAG_PONG, &ping, sizeof(ping));
			free(data);
			spin_ns = real_ns() + SPIN_NS;
			continue;
		}
		if (r == -EAGAIN)
			r = look(h, 0, until, ret_data, ret_n);
		if (r != -EAGAIN)
			return r == 0;
		if (!cancelled_ns && h->cfg.cancel && *h->cfg.cancel)
			cancelled_ns = real_ns();
		if (cancelled_ns && real_ns() > cancelled_ns + CANCEL_NS)
			return false;
		if (real_ns() < spin_ns)
			(void)sched_yield();
		else
			clock_monotonic()->sleep_until_ns(clock_monotonic(), real_ns() + LOOK_NS);
	}
}

/* ---- the start ---- */

/* Rank 0: a host that is ready to begin has said so, one that cannot has told what became of it. */
static bool is_ready(struct hosts *h, unsigned i)
{
	struct peer *p = &h->peers[i];

	for (;;) {
		void *data;
		size_t n;
		int r = await_until(h, i, TAG_READY, real_ns(), &data, &n);

		if (r == 0) {
			free(data);
			return true;
		}
		if (r != -ETIMEDOUT || look(h, i, TAG_DONE, &p->done, &p->done_bytes) != -EAGAIN ||
		    (h->cfg.cancel && *h->cfg.cancel))
			return false;
		clock_monotonic()->sleep_until_ns(clock_monotonic(), real_ns() + LOOK_NS);
	}
}

/* Rank 0: waits for all, compares the clocks, and chooses the instant. Nobody asks the time in the last moments before
 * it. */
static uint64_t choose_start(struct hosts *h)
{
	uint64_t start_ns;

	for (unsigned i = 1; i < h->t->size; i++)
		h->peers[i].has_before = is_ready(h, i);
	for (unsigned i = 1; i < h->t->size; i++)
		h->peers[i].has_before = h->peers[i].has_before && compare_clocks(h, i, &h->peers[i].before);
	start_ns = clock_now_ns(h->cfg.clk) + AHEAD_NS + h->t->size * AHEAD_EACH;
	for (unsigned i = 1; i < h->t->size; i++) {
		uint64_t theirs = start_ns + (uint64_t)(int64_t)h->peers[i].before.offset_ns;

		if (h->peers[i].has_before)
			say(h, i, TAG_START, &theirs, sizeof(theirs));
	}
	h->is_started = true;
	return start_ns;
}

void hosts_start(struct hosts *h)
{
	uint64_t start_ns = 0;
	void *data = NULL;
	size_t n = 0;

	if (h->is_started)
		return;
	if (h->t->rank == 0) {
		start_ns = choose_start(h);
	} else {
		h->is_started = true;
		say(h, 0, TAG_READY, NULL, 0);
		if (serve(h, TAG_START, &data, &n) && n == sizeof(start_ns))
			memcpy(&start_ns, data, sizeof(start_ns));
		free(data);
		if (start_ns > clock_now_ns(h->cfg.clk) + h->cfg.wait_ns) /* no start that is meant */
			start_ns = 0;
	}
	while (clock_now_ns(h->cfg.clk) < start_ns && !(h->cfg.cancel && *h->cfg.cancel))
		h->cfg.clk->sleep_until_ns(h->cfg.clk, start_ns);
}

/* ---- the end ---- */

static void fill_part(const struct hosts *h, unsigned i, struct hosts_part *part)
{
	const struct peer *p = &h->peers[i];
	struct clock_offset same = { 0 };
	const struct clock_offset *before = i == 0 ? &same : p->has_before ? &p->before : NULL;
	uint64_t start_ns = 0;
	bool is_alone = true;

	*part = (struct hosts_part){ .rank = i, .clock_error_ns = (double)NAN, .clock_drift_ppm = (double)NAN };
	for (unsigned k = 0; k < h->t->size; k++)
		is_alone = is_alone && (k == i || strcmp(h->peers[k].name, p->name) != 0);
	if (is_alone)
		(void)snprintf(part->name, sizeof(part->name), "%s", p->name);
	else
		(void)snprintf(part->name, sizeof(part->name), "%s:%u", p->name, i);
	if (!p->done || p->done_bytes <= sizeof(start_ns))
		return;
	memcpy(&start_ns, p->done, sizeof(start_ns));
	if (result_from_json(&part->doc, (char *)p->done + sizeof(start_ns), p->done_bytes - sizeof(start_ns), NULL) <
	    0)
		part->doc = NULL;
	part->has_start = start_ns && before && part->doc;
	if (!part->has_start)
		return;
	part->start_ns = clock_ours(before, p->has_after ? &p->after : NULL, start_ns, &part->clock_error_ns);
	if (p->has_after && p->after.at_ns > before->at_ns)
		part->clock_drift_ppm =
			(p->after.offset_ns - before->offset_ns) / (double)(p->after.at_ns - before->at_ns) * 1e6;
}

static int gather(struct hosts *h, struct hosts_part **ret_parts, struct err *err)
{
	struct hosts_part *parts = calloc(h->t->size, sizeof(*parts));

	if (!parts)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (!h->is_started) /* what was to be measured here did not come so far; the others wait */
		(void)choose_start(h);
	for (unsigned i = 1; i < h->t->size; i++)
		if (!h->peers[i].done && await(h, i, TAG_DONE, &h->peers[i].done, &h->peers[i].done_bytes) < 0)
			h->peers[i].done = NULL;
	for (unsigned i = 1; i < h->t->size; i++) {
		struct peer *p = &h->peers[i];

		p->has_after = p->has_before && p->done && !p->is_lost && compare_clocks(h, i, &p->after);
		say(h, i, TAG_THANKS, NULL, 0);
	}
	for (unsigned i = 0; i < h->t->size; i++)
		fill_part(h, i, &parts[i]);
	*ret_parts = parts;
	return 0;
}

int hosts_gather(struct hosts *h, const struct result *doc, uint64_t start_ns, struct hosts_part **ret_parts,
                 struct err *err)
{
	cleanup_free char *text = doc ? result_to_json(doc) : NULL;
	size_t n = sizeof(start_ns) + (text ? strlen(text) : 0);
	char *out = malloc(n);
	void *data = NULL;
	bool is_well;

	*ret_parts = NULL;
	if (!out)
		return err_set(err, -ENOMEM, "Out of memory.");
	memcpy(out, &start_ns, sizeof(start_ns));
	if (text)
		memcpy(out + sizeof(start_ns), text, strlen(text));
	if (h->t->rank == 0) {
		h->peers[0].done = out;
		h->peers[0].done_bytes = n;
		return gather(h, ret_parts, err);
	}
	say(h, 0, TAG_DONE, out, n);
	free(out);
	is_well = serve(h, TAG_THANKS, &data, &n);
	free(data);
	return is_well ? 0
	               : err_set(err, -ESHUTDOWN,
	                         "Host %s (rank 0) was lost, and with it the result of all; what this host measured is its own.",
	                         h->peers[0].name);
}

void hosts_parts_free(struct hosts_part *parts, size_t n)
{
	for (size_t i = 0; parts && i < n; i++)
		result_free(parts[i].doc);
	free(parts);
}

bool hosts_is_alone(const struct hosts *h)
{
	return h->t->rank && h->peers[0].is_lost;
}

void hosts_free(struct hosts *h)
{
	bool is_whole = true;

	if (!h)
		return;
	if (h->t->rank == 0) {
		for (unsigned i = 1; i < h->t->size; i++)
			is_whole = is_whole && !h->peers[i].is_lost;
		for (unsigned i = 1; i < h->t->size; i++)
			say(h, i, TAG_BYE, &is_whole, sizeof(is_whole));
	} else {
		void *data = NULL;
		size_t n;

		is_whole = await(h, 0, TAG_BYE, &data, &n) == 0 && n == sizeof(bool) && *(uint8_t *)data == 1;
		free(data);
	}
	(void)pthread_mutex_lock(&h->lock);
	h->is_ending = true;
	(void)pthread_cond_signal(&h->wake);
	(void)pthread_mutex_unlock(&h->lock);
	if (h->has_beat)
		(void)pthread_join(h->beat, NULL);
	for (unsigned i = 0; i < h->t->size; i++)
		free(h->peers[i].done);
	h->t->close(h->t, is_whole);
	(void)pthread_mutex_destroy(&h->lock);
	(void)pthread_cond_destroy(&h->wake);
	free(h->peers);
	free(h);
}
