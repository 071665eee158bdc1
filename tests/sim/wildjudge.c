/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document against a disk: each figure beside its truth, and whatever is said that is false. A statement is false
 * when the model says otherwise, not when it is imprecise: what is hedged (unclear, not reported) is never a lie.
 */
#include <math.h>
#include <string.h>

#include "wildjudge.h"

#define FAR_US  1000.0 /* of a read: the media of no flat device takes as long */
#define STALL_S 4.0    /* a wait so long may be reported as a stall, which begins at 5 s */

/* ---- figures ---- */

static void one_figure(struct judge *j, const struct wild_figure *f)
{
	double reported = wild_number(json_object_get(j->c->doc, "figures"), f->name);
	double x = f->member ? wild_number(j->c->truth, f->member) : (double)NAN;

	if (!f->is_mechanical || j->c->p->kind == DISK_ROTATING)
		wild_add_figure(j->figures, j->c->doc, f->name, f->member ? (struct interval){ x, x } : f->truth(j->c),
		                f->scale);
	else if (isfinite(reported))
		lie(j, f->name, "%.6g is given, but nothing rotates there", reported);
}

/* Rows of a table whose rate is of the bytes that it names. */
static void rate_rows(struct judge *j, const char *table, const char *name)
{
	for (struct wild_row row = wild_begin(j->c->doc, table); wild_next(&row);) {
		double reported[3] = { wild_at(&row, "rate_bytes_per_s"), wild_at(&row, "low"), wild_at(&row, "high") };
		double first = wild_at(&row, "first_byte");
		double last = wild_at(&row, "last_byte");
		struct interval truth;

		if (!isfinite(reported[0]) || !(first >= 0 && last >= first && last < (double)geometry_bytes(j->c->g)))
			continue;
		truth = wild_rate(j->c, (uint64_t)first, (uint64_t)last + 1);
		wild_add(j->figures, name, reported, truth, WILD_RATIO);
	}
}

/* ---- smr ---- */

static void shingling(struct judge *j)
{
	const char *reported = wild_figure_word(j->c->doc, "shingled");
	bool shingles = j->c->p->mcache.band_bytes > 0;

	j->planted++;
	if (reported && strcmp(reported, shingles ? "no" : "yes") == 0)
		lie(j, "shingled", "%s reported, and its tracks %s", reported, shingles ? "shingle" : "do not");
	else if (!reported || strcmp(reported, "undecided") == 0)
		wild_say(j->missed, "verdict", "whether its tracks shingle");
}

/* ---- buffer ---- */

/* Texts: each is reported rightly, or it is false, or missed. */
static void policy(struct judge *j, const char *name, const char *truth)
{
	const char *reported = wild_figure_word(j->c->doc, name);

	j->planted += truth != NULL;
	if (reported && !(truth && strcmp(reported, truth) == 0))
		lie(j, name, "%s reported, in truth %s", reported, truth ? truth : "there is no such thing");
	else if (!reported && truth)
		wild_say(j->missed, name, "%s", truth);
}

/* refused: what is reported of them then. */
static const char *fua_reads(const struct profile *p, const char *refused)
{
	if (p->kind != DISK_ROTATING)
		return NULL;
	return p->cache.fua_reads == FUA_READS_REFUSED  ? refused
	       : p->cache.fua_reads == FUA_READS_BUFFER ? "come from the buffer"
	                                                : "come from the media";
}

static const char *ahead_ends(const struct profile *p)
{
	uint64_t segment = p->cache.bytes / (p->cache.sizing == CACHE_FIXED ? p->cache.segments : 2);

	if (p->cache.ahead_reach == AHEAD_TRACK)
		return "at the end of a track";
	return p->cache.ahead_bytes && p->cache.ahead_bytes < segment ? "after a fixed length"
	                                                              : "when its segment is full";
}

static void policies(struct judge *j)
{
	const struct profile *p = j->c->p;
	bool rotates = p->kind == DISK_ROTATING, ahead = rotates && p->cache.read_ahead && p->cache.bytes;
	bool caches = rotates && p->wcache.is_on && p->wcache.bytes;

	policy(j, "sizing",
	       rotates && p->cache.segments > 1 ? p->cache.sizing == CACHE_FIXED ? "fixed" : "by use" : NULL);
	policy(j, "reads_ahead",
	       !rotates                              ? NULL
	       : !ahead                              ? "never"
	       : p->cache.ahead_when == AHEAD_ALWAYS ? "always"
	                                             : "after reads in sequence");
	policy(j, "read_ahead_ends", ahead ? ahead_ends(p) : NULL);
	policy(j, "write_cache", !rotates ? NULL : caches ? "on" : "off");
	policy(j, "flush", !caches ? NULL : p->wcache.is_flush_ignored ? "returns at once" : "waits for the media");
	policy(j, "fua_reads", fua_reads(p, NULL));
	policy(j, "fua_writes", !caches ? NULL : p->wcache.is_fua_ignored ? "return at once" : "wait for the media");
	policy(j, "reads_pass_writes", caches ? "go between" : NULL);
	policy(j, "keeps_before", rotates ? p->cache.is_pre_read ? "yes" : "no" : NULL);
}

/* ---- notices that blame somebody ---- */

static bool is_flat(const struct wild_case *c)
{
	return c->p->kind != DISK_ROTATING;
}

static bool never(const struct wild_case *c)
{
	(void)c;
	return false;
}

/* A flat device whose reads take as long as a disk's: a network. */
static bool is_far(const struct wild_case *c)
{
	return is_flat(c) && c->p->ssd.read_latency_us >= FAR_US;
}

static bool is_rotating(const struct wild_case *c)
{
	return c->p->kind == DISK_ROTATING;
}

static bool is_limited(const struct wild_case *c)
{
	return c->p->path.limit_bytes_per_s > 0 || c->p->path.limit_ops > 0;
}

static bool changes_with_time(const struct wild_case *c)
{
	return c->p->faults.nstalls || c->p->spindle.drift != 0.0 || is_limited(c);
}

static bool may_stall(const struct wild_case *c)
{
	const struct profile *p = c->p;
	double turn_s = is_rotating(c) ? 60 / p->spindle.rpm : 0;

	for (size_t i = 0; i < p->faults.nstalls; i++)
		if (p->faults.stalls[i].length_s >= STALL_S)
			return true;
	for (size_t i = 0; i < p->faults.nfails; i++)
		if (p->faults.fails[i].delay_s >= STALL_S)
			return true;
	for (size_t i = 0; i < p->media.nbads; i++)
		if (p->media.bads[i].revolutions * turn_s >= STALL_S)
			return true;
	if (p->wcache.is_on && p->wcache.bytes && wild_is(c, "buffer")) /* of a flush of all that it takes */
		return true;
	return is_limited(c) || p->own.standby_s >= STALL_S ||
	       p->mcache.bytes > 0; /* which is cleaned for as long as it takes */
}

static bool has_unstored(const struct wild_case *c)
{
	return c->p->media.ntrims > 0;
}

static bool has_two_arms(const struct wild_case *c)
{
	return c->p->arms.kind != ARMS_ONE;
}

static bool is_of_two(const struct wild_case *c)
{
	return isfinite(wild_second_begins(c));
}

static bool is_uneven(const struct wild_case *c)
{
	return is_flat(c) && c->p->media.ntrims > 0;
}

static bool sleeps(const struct wild_case *c)
{
	return c->p->own.park_after_s > 0 || c->p->own.standby_after_s > 0 || c->p->own.begins_asleep;
}

static bool fails_at_times(const struct wild_case *c)
{
	for (size_t i = 0; i < c->p->media.nbads; i++)
		if (c->p->media.bads[i].kind & BAD_HEALS)
			return true;
	return c->p->faults.nfails > 0;
}

static bool has_errors(const struct wild_case *c)
{
	return c->p->media.nbads || c->p->faults.nfails;
}

static bool goes(const struct wild_case *c)
{
	return isfinite(c->p->faults.gone_at_s) || c->p->faults.gone_at_request;
}

static bool drops_flushes(const struct wild_case *c)
{
	return c->p->wcache.is_flush_ignored;
}

static bool drops_fua(const struct wild_case *c)
{
	return c->p->wcache.is_fua_ignored;
}

static bool keeps_nothing(const struct wild_case *c)
{
	return c->p->cache.drops_read || !c->p->cache.bytes;
}

/* What a notice claims, and when that is so. Simulated machines are idle and nobody else is on them. */
static const struct claim {
	const char *code;
	bool (*is_true)(const struct wild_case *c);
	const char *otherwise;
} claims[] = {
	{ "not-rotating", is_flat, "it rotates" },
	{ "not-rotational", is_flat, "it rotates" },
	{ "says-rotating", is_flat, "it rotates, as it says" },
	{ "says-not-rotating", is_rotating, "nothing rotates there" },
	{ "rotation-unclear", is_far, "the machine was idle, and no network between" },
	{ "not-stored", has_unstored, "all of it is stored" },
	{ "not-one-arm", has_two_arms, "one arm moves over all of it" },
	{ "another-device", is_of_two, "it is one device with one arm" },
	{ "uneven", is_uneven, "all of it is alike" },
	{ "flush-returns-at-once", drops_flushes, "it waits for the media" },
	{ "fua-ignored", drops_fua, "they wait for the media" },
	{ "nothing-kept", keeps_nothing, "it keeps what it has read" },
	{ "bursts", is_limited, "there is no limit and the machine was idle" },
	{ "token-bucket", is_limited, "there is no limit" },
	{ "speed-up", changes_with_time, "it was idle before" },
	{ "drift", changes_with_time, "it is as fast as before" },
	{ "stalled", may_stall, "no request takes so long" },
	{ "spin-up", sleeps, "it was awake" },
	{ "healed", fails_at_times, "nothing heals there" },
	{ "too-many-errors", has_errors, "it has no errors" },
	{ "device-gone", goes, "it is there" },
	{ "other-io", never, "nobody else used it" },
	{ "steal", never, "there is no hypervisor" },
	{ "thermal", never, "nothing is hot" },
	{ "stopped", never, "nobody stopped it" },
	{ "device-errors", has_errors, "it has no errors" },
	{ NULL, NULL, NULL },
};

static void notices(struct judge *j)
{
	const json_t *all = json_object_get(j->c->doc, "notices"), *n;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)all, i, n)
	{
		const char *code = json_string_value(json_object_get(n, "code"));
		const struct claim *c = claims;

		if (!code)
			continue;
		(void)json_array_append_new(j->notices, json_string(code));
		while (c->code && strcmp(c->code, code) != 0)
			c++;
		if (c->code && !c->is_true(j->c))
			lie(j, code, "but %s: \"%.200s\"", c->otherwise, json_string_value(json_object_get(n, "text")));
	}
}

json_t *wild_judge(const struct wild_case *c)
{
	const json_t *head = json_object_get(c->doc, "head");
	const char *command = json_string_value(json_object_get(head, "measurement"));
	const char *status = json_string_value(json_object_get(c->doc, "status"));
	struct judge j = { .c = c, .command = command ? command : "" };

	j.figures = json_array();
	j.lies = json_array();
	j.notices = json_array();
	j.missed = json_array();
	for (const struct wild_figure *f = wild_figures; f->name; f++)
		if (strcmp(f->command, j.command) == 0)
			one_figure(&j, f);
	if (strcmp(j.command, "zones") == 0) {
		rate_rows(&j, "curve", "(places of the curve)");
		judge_zones(&j);
	}
	if (strcmp(j.command, "geometry") == 0 && c->p->kind == DISK_ROTATING) {
		judge_geometry(&j);
		policy(&j, "fua_reads", fua_reads(c->p, "are refused"));
	}
	if (strcmp(j.command, "smr") == 0)
		shingling(&j);
	if (strcmp(j.command, "buffer") == 0)
		policies(&j);
	j.planted += wild_surface(c, j.lies, j.missed);
	j.planted += wild_sustain(c, j.figures, j.lies, j.missed);
	notices(&j);
	return json_pack("{s:o,s:o,s:o,s:I,s:o,s:s,s:o}", "figures", j.figures, "lies", j.lies, "missed", j.missed,
	                 "planted", (json_int_t)j.planted, "notices", j.notices, "status", status ? status : "none",
	                 "device_s", wild_real(wild_number(head, "elapsed_s")));
}
