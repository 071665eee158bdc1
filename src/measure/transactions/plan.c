/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `transactions` will do: options, the classes of users, the limit of --find, and how long it takes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/units.h"
#include "measure/transactions/transactions.h"

#define LIMIT "p95<2s"

static const char *const modes[] = { "direct", "cached", NULL }; /* enum tx_mode */
static const char *const think_laws[] = { "exponential", "uniform", "fixed", NULL };
/* In the order of enum tx_randomise: Read, Xread, Yread and Zread of 1997. */
static const char *const randomisations[] = { "none", "seed", "work", "seed,work", NULL };

const struct opt tx_opts[] = {
	OPT_U64(struct tx_params, users, "users", 'u', "N", "1", "users at work at once", .min = 1, .max = 100000),
	OPT_U64(struct tx_params, count, "count", 'c', "N", NULL,
	        "transactions of each user, or arrivals in all; without it the run lasts --time (60s)", .min = 1,
	        .max = 1000000000, .is_aside = true),
	OPT_U64(struct tx_params, ios, "ios", 'i', "N", "20", "requests of a transaction", .max = 1000000),
	OPT_TIME(struct tx_params, think_ns, "think", 't', "TIME", "0", "mean think time", .max = 1000000 * 1e9),
	OPT_TIME(struct tx_params, cpu_ns, "cpu", 0, "TIME", "0", "processor time of a transaction", .max = 1000 * 1e9),
	OPT_BYTES(struct tx_params, memory_bytes, "memory", 0, "SIZE", "0",
	          "memory that each user touches in each transaction", .max = 1000000000),
	OPT_U64(struct tx_params, processors, "processors", 0, "N", NULL,
	        "processors for the users' work (default all)", .min = 1, .max = TX_PROCESSORS_MAX),
	OPT_CHOICE(struct tx_params, randomise, "randomise", 0, randomisations, "seed",
	           "draw anew: the seed by time of day, and the work of each transaction"),
	OPT_STRS(struct tx_params, classes, "class", 0, "CLASS",
	         "a kind of users: name=x,users=2,ios=60,think=4s,law=fixed,cpu=1s"),
	OPT_F64(struct tx_params, arrivals_per_s, "arrivals", 0, "RATE", NULL,
	        "open: this many arrive each second, whatever the response", .min = 1e-6, .max = 1e6),
	OPT_STR(struct tx_params, block, "block", 0, "SIZE", "4KiB",
	        "bytes of a request; several with their shares: 4K:70%,64K:30%"),
	OPT_STR(struct tx_params, range, "range", 0, "FROM-TO", NULL, "use this part only: 10GB-20GB, 50%-"),
	OPT_U64(struct tx_params, depth, "depth", 0, "N", "256", "requests given to the device at once, at most",
	        .min = 1, .max = 4096),
	OPT_BYTES(struct tx_params, size_bytes, "size", 's', "SIZE", NULL,
	          "make the file first, with so much data, and read it three times", .min = 4096, .max = 9e18),
	OPT_FLAG(struct tx_params, keep, "keep", 0, "leave the file of --size where it is", .is_aside = true),
	OPT_RATIO(struct tx_params, write_ratio, "write", 'w', "RATIO", NULL,
	          "this share of the requests writes, all without a share: destroys data (see --destroy-data)",
	          .implied = "100%", .max = 1.0),
	OPT_CHOICE(struct tx_params, mode, "mode", 0, modes, "direct", "past the page cache or through it"),
	OPT_FLAG(struct tx_params, find_users, "find", 0, "find how many users stay within --limit"),
	OPT_STR(struct tx_params, limit, "limit", 0, "LIMIT", LIMIT, "for --find: mean, p50, p95, p99 or max"),
	OPT_STR(struct tx_params, each, "each", 0, "FILE", NULL, "write every transaction to this CSV file",
	        .writes = OUTFILE_EACH),
	OPT_END,
};

/* ---- classes and limit ---- */

static int class_name(struct tx_class *c, const char *value, struct err *err)
{
	for (const char *at = value; *at; at++)
		if (iscntrl((unsigned char)*at) || *at == '"')
			return err_set(
				err, -EINVAL,
				"A name of --class has no quotes and no control characters; write it with letters.");
	if ((size_t)snprintf(c->name, sizeof(c->name), "%s", value) >= sizeof(c->name) || !*value)
		return err_set(err, -EINVAL, "--class: the name '%.40s' has not 1 to %zu characters; give another one.",
		               value, sizeof(c->name) - 1);
	return 0;
}

/* Most words mean what the options of these names do, for this class alone. */
static int class_word(struct tx_class *c, struct tx_params *own, const char *key, const char *value, struct err *err)
{
	if (value && strcmp(key, "name") == 0)
		return class_name(c, value, err);
	for (int i = 0; value && strcmp(key, "law") == 0 && think_laws[i]; i++)
		if (strcmp(value, think_laws[i]) == 0) {
			c->think_law = i;
			return 0;
		}
	if (value && str_is_one_of(key, "users count ios think cpu memory")) {
		int r = opt_parse_one(tx_opts, key, value, own, err);

		if (r < 0)
			(void)err_prefix(err, "--class");
		return r;
	}
	return err_set(
		err, -EINVAL,
		"--class does not know \"%s\"; give name, users, count, ios, think, law (exponential, uniform, fixed), cpu and memory, each with =VALUE.",
		key);
}

static int parse_class(const struct tx_params *p, const char *text, struct tx_class *c, struct err *err)
{
	struct tx_params own = *p;
	char copy[256], *save = NULL;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return err_set(err, -EINVAL, "--class=%.40s... is too long; shorten its name.", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');
		int r;

		if (value)
			*value++ = '\0';
		r = class_word(c, &own, word, value, err);
		if (r < 0)
			return r;
	}
	c->users = own.users;
	c->count = own.count;
	c->ios = own.ios;
	c->think_ns = own.think_ns;
	c->cpu_ns = own.cpu_ns;
	c->memory_bytes = own.memory_bytes;
	return 0;
}

int tx_parse_classes(const struct tx_params *p, struct tx_class *ret, size_t *ret_n, struct err *err)
{
	size_t n = p->classes.n ? p->classes.n : 1;

	if (n > TX_CLASSES_MAX)
		return err_set(err, -EINVAL, "--class can be given %d times; make fewer classes with more users each.",
		               TX_CLASSES_MAX);
	for (size_t i = 0; i < n; i++) {
		int r;

		ret[i] = (struct tx_class){ .name = "users" };
		if (p->classes.n)
			(void)snprintf(ret[i].name, sizeof(ret[i].name), "class %zu", i + 1);
		r = parse_class(p, p->classes.n ? p->classes.v[i] : "", &ret[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++) {
		if (p->arrivals_per_s > 0.0 && ret[i].think_ns)
			return err_set(
				err, -EINVAL,
				"With --arrivals nobody thinks: each transaction comes on its own; leave the think time out.");
		if (ret[i].ios == 0 && ret[i].cpu_ns == 0 && ret[i].think_ns == 0)
			return err_set(
				err, -EINVAL,
				"Transactions without requests, processor time and think time do nothing; give --ios, --cpu or --think.");
	}
	*ret_n = n;
	return 0;
}

int tx_parse_limit(const char *text, struct tx_limit *ret, struct err *err)
{
	static const struct {
		const char *word;
		double quantile;
	} words[] = { { "mean<", -1.0 }, { "p50<", 0.5 }, { "p95<", 0.95 }, { "p99<", 0.99 }, { "max<", 1.0 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(text, words[i].word, strlen(words[i].word)) == 0) {
			struct err why = { 0 };
			int r = units_parse_time(text + strlen(words[i].word), &ret->limit_ns, &why);

			ret->quantile = words[i].quantile;
			if (r < 0)
				return err_set(err, r, "--limit=%s: %s", text, why.text);
			return ret->limit_ns ? 0
			                     : err_set(err, -EINVAL,
			                               "--limit=%s is below every response; give a longer time.", text);
		}
	return err_set(err, -EINVAL,
	               "--limit=%s is not a limit; write mean<TIME, p50<TIME, p95<TIME, p99<TIME or max<TIME.", text);
}

/* More than there is would have the kernel end programs, perhaps not this one. */
static int check_memory(const struct tx_params *p, const struct tx_class *c, size_t n, struct err *err)
{
	struct sysinfo info;
	uint64_t have, want = 0;

	if (sysinfo(&info) < 0)
		return 0;
	have = ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
	for (size_t i = 0; i < n; i++)
		want += c[i].memory_bytes * (p->arrivals_per_s > 0.0 ? TX_MEMORY_SLOTS : c[i].users);
	if (want > have)
		return err_set(err, -EINVAL,
		               "The users' memory is %" PRIu64
		               " bytes together, more than memory and swap of this machine, %" PRIu64
		               "; give fewer users or less --memory.",
		               want, have);
	return 0;
}

static int check_record(const struct tx_params *p, const struct device *d, struct err *err)
{
	uint64_t size = p->size_bytes ? p->size_bytes : d->size_bytes, first, end;
	int r = units_parse_range(p->range, size, &first, &end, err);
	struct tx_sizes s;

	if (r < 0)
		return r;
	if (size == 0 && d->kind == DEVICE_FILE)
		return err_set(err, -EINVAL, "%s is empty or not there; --size makes it.", d->path);
	r = tx_parse_sizes(p->block, &s, err);
	if (r < 0)
		return r;
	if (end - first < s.most)
		return err_set(err, -EINVAL,
		               "--block=%" PRIu32 " is more than the %" PRIu64 " bytes of %s; give a smaller one.",
		               s.most, end - first, p->range ? "--range" : d->path);
	for (size_t i = 0; r == 0 && i < s.n; i++)
		r = plan_block(d, s.bytes[i], p->mode == TX_CACHED ? 0 : d->logical_block_bytes, err);
	return r;
}

uint32_t tx_record_bytes(const struct tx_params *p)
{
	struct tx_sizes s;

	return tx_parse_sizes(p->block, &s, NULL) < 0 ? 0 : s.most; /* as planned */
}

static int check_target(const struct tx_params *p, const struct device *d, struct err *err)
{
	if (d->kind == DEVICE_DIRECTORY)
		return err_set(err, -EINVAL, "%s is a directory; give a file in it, and --size to make it.", d->path);
	if (p->size_bytes && d->kind != DEVICE_FILE)
		return err_set(err, -EINVAL, "%s is a block device; --size makes files only.", d->path);
	if (p->keep && !p->size_bytes)
		return err_set(err, -EINVAL, "--keep is for the file that --size makes; give --size, too.");
	if (p->write_ratio > 0.0 && !p->size_bytes && d->kind == DEVICE_FILE && !datafile_is_ours(d->path))
		return err_set(
			err, -EINVAL,
			"%s was not made by platter, and is never written over; --size makes a file to write to.",
			d->path);
	return check_record(p, d, err);
}

static bool has_count(const struct tx_params *p)
{
	bool has = p->count != 0;

	for (size_t i = 0; i < p->classes.n; i++)
		has = has || strstr(p->classes.v[i], "count=");
	return has;
}

uint64_t tx_time_ns(const struct session *ses, const struct tx_params *p)
{
	return ses->common->time_ns || has_count(p) ? ses->common->time_ns : TX_TIME_DEFAULT_NS;
}

bool tx_file_is_wanted(const struct session *ses, const struct tx_params *p)
{
	return p->size_bytes || (p->write_ratio > 0.0 && ses->devs[0].kind == DEVICE_FILE);
}

bool tx_file_is_all(const struct session *ses, const struct tx_params *p)
{
	return p->size_bytes && tx_time_ns(ses, p) == TX_TIME_DEFAULT_NS && !ses->common->time_ns && !p->find_users &&
	       !p->classes.n && p->arrivals_per_s <= 0.0;
}

static void plan_file(const struct session *ses, const struct tx_params *p, struct plan *plan)
{
	plan->opens_itself = true;
	if (!p->size_bytes)
		return;
	plan_phase(plan, "make the file", plan_guess_ns(p->size_bytes));
	plan_phase(plan, "three passes", 3 * TX_PASS_NS);
	if (tx_file_is_all(ses, p) || p->write_ratio <= 0.0)
		plan->write_bytes = p->size_bytes;
}

static int check_find_users(const struct tx_params *p, size_t n, struct err *err)
{
	const struct opt_pair pairs[] = { { p->find_users && p->arrivals_per_s > 0.0, "find", "arrivals" }, { 0 } };

	if (!p->find_users && strcmp(p->limit, LIMIT) != 0)
		return err_set(err, -EINVAL, "--limit is for --find; give both, or neither.");
	if (p->find_users && n > 1)
		return err_set(err, -EINVAL, "--find varies the users of one class; leave all but one --class out.");
	return opt_pairs(pairs, err);
}

int tx_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct tx_params *p = params;
	const struct device *d = &ses->devs[0];
	uint64_t time_ns = tx_time_ns(ses, p), first = 0, end = 0;
	struct tx_class classes[TX_CLASSES_MAX];
	struct tx_limit limit;
	size_t n;
	int r = tx_parse_classes(p, classes, &n, err) ?: tx_parse_limit(p->limit, &limit, err);

	if (r == 0)
		r = check_target(p, d, err) ?: check_memory(p, classes, n, err) ?: check_find_users(p, n, err);
	if (r < 0)
		return r;
	plan->is_direct = p->mode != TX_CACHED;
	plan->is_latency = true;
	plan->lasts = !has_count(p);
	plan->writes = p->write_ratio > 0.0 && d->kind != DEVICE_FILE ? WRITE_DESTROY : WRITE_NONE;
	plan->touch_first = datafile_first_byte(d);
	(void)units_parse_range(p->range, d->size_bytes - plan->touch_first, &first, &end, NULL); /* as checked */
	plan->touch_end = plan->touch_first + end;
	plan->touch_first += first;
	plan->read_bytes = p->write_ratio >= 1.0 ? 0 : UINT64_MAX;
	plan->write_bytes = p->write_ratio > 0.0 ? UINT64_MAX : 0;
	if (tx_file_is_wanted(ses, p))
		plan_file(ses, p, plan);
	if (!tx_file_is_all(ses, p))
		plan_phase(plan, p->find_users ? "tries" : "transactions",
		           (p->find_users ? 12 : 1) * (time_ns ? time_ns : TX_TIME_DEFAULT_NS));
	return 0;
}
