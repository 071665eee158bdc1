/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles as text, platter-simdisk-profile(5): a key and its values per line, # begins a comment. Keys are a table;
 * the few with more than one value have a function each. The text may come from anywhere: every number is checked here
 * for its form, in profile_finish for its sense.
 */
#include "profile_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_MAX_BYTES 4096

int parser_fail(const struct parser *ps, const char *what, const char *word)
{
	return err_set(ps->err, -EINVAL, "%s:%u: %s%s%s%s", ps->name, ps->line, what, word ? ": '" : "",
	               word ? word : "", word ? "'" : "");
}

int parser_get_double(const struct parser *ps, const char *word, double *ret)
{
	char *end;
	double x;

	if (!isdigit((unsigned char)word[0]) && word[0] != '.')
		return parser_fail(ps, "a number was expected", word);
	x = strtod(word, &end);
	if (*end || !isfinite(x) || strpbrk(word, "xXpP"))
		return parser_fail(ps, "a number was expected", word);
	*ret = x;
	return 0;
}

int parser_get_u64(const struct parser *ps, const char *word, uint64_t max, uint64_t *ret)
{
	char *end;
	uint64_t x;

	if (!isdigit((unsigned char)word[0]))
		return parser_fail(ps, "a whole number was expected", word);
	errno = 0;
	x = strtoull(word, &end, 10);
	if (*end || errno || x > max)
		return parser_fail(ps, *end ? "a whole number was expected" : "the number is too large", word);
	*ret = x;
	return 0;
}

int parser_get_u32(const struct parser *ps, const char *word, uint32_t *ret)
{
	uint64_t x = 0;
	int r = parser_get_u64(ps, word, UINT32_MAX, &x);

	if (r == 0)
		*ret = (uint32_t)x;
	return r;
}

/* An errno by its name. */
static int get_errno(const struct parser *ps, const char *word, int *ret)
{
	int e;

	for (e = 1; e < 134; e++) {
		const char *name = strerrorname_np(e);

		if (name && strcmp(name, word) == 0) {
			*ret = -e;
			return 0;
		}
	}
	return parser_fail(ps, "there is no such error; names are as in errno(3): EIO, ENODATA, ETIMEDOUT", word);
}

/* ---- keys with one value ---- */

#define KEY(t, n, m)                                                                \
	{                                                                           \
		n, t, offsetof(struct profile, m), sizeof(((struct profile *)0)->m) \
	}

const struct key profile_keys[] = {
	KEY(KEY_TEXT, "name", name),
	KEY(KEY_TEXT, "model", reported.model),
	KEY(KEY_TEXT, "serial", reported.serial),
	KEY(KEY_TEXT, "firmware", reported.firmware),
	KEY(KEY_TEXT, "vendor", reported.vendor),
	KEY(KEY_TEXT, "transport", reported.transport),
	KEY(KEY_TEXT, "note", note),
	KEY(KEY_U32, "sector", logical_sector_bytes),
	KEY(KEY_U32, "physical_sector", physical_sector_bytes),
	KEY(KEY_U64, "capacity_lba", capacity_lba),
	KEY(KEY_DOUBLE, "rpm", spindle.rpm),
	KEY(KEY_U32, "surfaces", surfaces),
	KEY(KEY_DOUBLE, "settle_ms", seek.settle_ms),
	KEY(KEY_DOUBLE, "head_switch_ms", seek.head_switch_ms),
	KEY(KEY_DOUBLE, "write_settle_ms", seek.write_settle_ms),
	KEY(KEY_DOUBLE, "overhead_ms", ctl.overhead_ms),
	KEY(KEY_DOUBLE, "hit_overhead_ms", ctl.hit_overhead_ms),
	KEY(KEY_MBS, "interface_mbs", path.interface_bytes_per_s),
	KEY(KEY_MBS, "limit_mbs", path.limit_bytes_per_s),
	KEY(KEY_KB, "credit_kb", path.credit_bytes),
	KEY(KEY_KB, "cache_kb", cache.bytes),
	KEY(KEY_U32, "segments", cache.segments),
	KEY(KEY_BOOL, "read_ahead", cache.read_ahead),
	KEY(KEY_KB, "write_cache_kb", wcache.bytes),
	KEY(KEY_DOUBLE, "write_start", wcache.start),
	KEY(KEY_DOUBLE, "write_delay_ms", wcache.delay_ms),
	KEY(KEY_BOOL, "ignore_flush", wcache.is_flush_ignored),
	KEY(KEY_U32, "queue_depth", ctl.queue_depth),
	KEY(KEY_DOUBLE, "max_age_ms", ctl.max_age_ms),
	KEY(KEY_U32, "channels", ssd.channels),
	KEY(KEY_DOUBLE, "read_latency_us", ssd.read_latency_us),
	KEY(KEY_DOUBLE, "write_latency_us", ssd.write_latency_us),
	KEY(KEY_DOUBLE, "flush_latency_us", ssd.flush_latency_us),
	KEY(KEY_MBS, "channel_mbs", ssd.channel_bytes_per_s),
	KEY(KEY_U32, "stripe_bytes", ssd.stripe_bytes),
	KEY(KEY_U64, "seed", seed),
	KEY(KEY_DOUBLE, "jitter_us", noise.jitter_us),
	KEY(KEY_DOUBLE, "retry_per_gb", noise.retry_per_gb),
	KEY(KEY_U64, "gone_at_request", faults.gone_at_request),
	KEY(KEY_U64, "power_loss_at_request", faults.power_loss_at_request),
	KEY(KEY_U64, "drop_writes_from", faults.miswrites.drop_from),
	{ .name = NULL },
};

static int set_key(const struct parser *ps, const struct key *k, char *value)
{
	void *at = (char *)ps->p + k->offset;
	double x = 0;
	uint64_t kb = 0;
	int r = 0;

	switch (k->type) {
	case KEY_TEXT:
		if (strlen(value) >= k->size)
			return parser_fail(ps, "the text is too long", value);
		memcpy(at, value, strlen(value) + 1);
		return 0;
	case KEY_U32:
		return parser_get_u32(ps, value, at);
	case KEY_U64:
		return parser_get_u64(ps, value, UINT64_MAX, at);
	case KEY_DOUBLE:
		return parser_get_double(ps, value, at);
	case KEY_KB:
		r = parser_get_u64(ps, value, UINT64_MAX >> 10, &kb);
		if (r == 0)
			*(uint64_t *)at = kb << 10;
		return r;
	case KEY_MBS:
		r = parser_get_double(ps, value, &x);
		if (r == 0)
			*(double *)at = x * 1e6;
		return r;
	case KEY_BOOL:
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return parser_fail(ps, "yes or no was expected", value);
		*(bool *)at = value[0] == 'y';
		return 0;
	}
	return -EINVAL;
}

/* ---- keys with several values ---- */

static int key_kind(struct parser *ps)
{
	if (strcmp(ps->word[1], "rotating") == 0)
		ps->p->kind = DISK_ROTATING;
	else if (strcmp(ps->word[1], "ssd") == 0)
		ps->p->kind = DISK_SSD;
	else
		return parser_fail(ps, "kind is rotating or ssd", ps->word[1]);
	return 0;
}

static int key_queue(struct parser *ps)
{
	if (strcmp(ps->word[1], "fifo") == 0)
		ps->p->ctl.queue = QUEUE_FIFO;
	else if (strcmp(ps->word[1], "satf") == 0)
		ps->p->ctl.queue = QUEUE_SATF;
	else
		return parser_fail(ps, "queue is fifo or satf", ps->word[1]);
	return 0;
}

static int key_spare(struct parser *ps)
{
	int r = parser_get_u32(ps, ps->word[1], &ps->zone.spare_sectors);

	return r < 0 ? r : parser_get_u32(ps, ps->word[2], &ps->zone.spare_tracks);
}

static int key_layout(struct parser *ps)
{
	struct profile_zone *z = &ps->zone;
	size_t i = 2;

	if (strcmp(ps->word[1], "head-first") == 0) {
		z->band_tracks = 1;
	} else if (strcmp(ps->word[1], "seek-first") == 0) {
		int r;

		if (ps->nwords < 3)
			return parser_fail(ps, "seek-first wants the number of tracks in a band", NULL);
		r = parser_get_u32(ps, ps->word[i++], &z->band_tracks);
		if (r < 0)
			return r;
	} else {
		return parser_fail(ps, "layout is head-first or seek-first", ps->word[1]);
	}
	z->tracks_alternate = z->heads_alternate = false;
	for (; i < ps->nwords; i++) {
		if (strcmp(ps->word[i], "serpentine") == 0)
			z->tracks_alternate = true;
		else if (strcmp(ps->word[i], "alternating") == 0)
			z->heads_alternate = true;
		else if (strcmp(ps->word[i], "forward") != 0)
			return parser_fail(ps, "after the layout: serpentine, alternating or forward", ps->word[i]);
	}
	return 0;
}

static int key_skew(struct parser *ps)
{
	double x = 0, unit = 1;
	char *word = ps->word[1];
	size_t len = strlen(word);
	int r;

	if (strcmp(word, "auto") == 0) {
		x = NAN;
	} else {
		if (len > 3 && strcmp(word + len - 3, "deg") == 0) {
			word[len - 3] = 0;
			unit = 360;
		}
		r = parser_get_double(ps, word, &x);
		if (r < 0)
			return r;
		x /= unit;
		if (x >= 1)
			return parser_fail(ps, "a skew is less than one revolution", word);
	}
	*(ps->word[0][0] == 'h'   ? &ps->zone.head_skew
	  : ps->word[0][0] == 'c' ? &ps->zone.cyl_skew
	                          : &ps->zone.band_skew) = x;
	return 0;
}

static int key_seek(struct parser *ps)
{
	double *const at[] = { &ps->p->seek.a_ms, &ps->p->seek.b_ms, &ps->p->seek.knee, &ps->p->seek.c_ms,
		               &ps->p->seek.e_ms };
	size_t i;

	if (ps->nwords != 3 && ps->nwords != 6)
		return parser_fail(ps, "seek wants A B, or A B KNEE C E", NULL);
	ps->p->seek.knee = INFINITY;
	for (i = 1; i < ps->nwords; i++) {
		int r = parser_get_double(ps, ps->word[i], at[i - 1]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int key_zone(struct parser *ps)
{
	struct profile_zone z = ps->zone;
	size_t i;
	int r = parser_get_u32(ps, ps->word[1], &z.cylinders);

	if (r < 0)
		return r;
	if (ps->nwords != 3 && ps->nwords != ps->p->surfaces + 2)
		return parser_fail(
			ps,
			"zone wants CYLINDERS and one number of sectors per track, or one for each surface (say `surfaces` first)",
			NULL);
	for (i = 0; i < ps->p->surfaces && i < PROFILE_SURFACES_MAX; i++) {
		r = parser_get_u32(ps, ps->word[ps->nwords == 3 ? 2 : i + 2], &z.spt[i]);
		if (r < 0)
			return r;
	}
	r = profile_add_zone(ps->p, &z);
	return r < 0 ? parser_fail(ps, "too many zones", NULL) : 0;
}

static int key_skip(struct parser *ps)
{
	struct profile_skip s = { .count = UINT32_MAX };
	uint32_t *const at[] = { &s.cylinder, &s.surface, &s.first, &s.count };
	size_t i;

	for (i = 1; i < ps->nwords && i <= 4; i++) {
		int r = parser_get_u32(ps, ps->word[i], at[i - 1]);

		if (r < 0)
			return r;
	}
	return profile_add_skip(ps->p, &s) < 0 ? parser_fail(ps, "too many skips", NULL) : 0;
}

static int key_bad(struct parser *ps)
{
	struct profile_bad b = { .err = -EIO };
	const char *kind = ps->word[3];
	int r = parser_get_u64(ps, ps->word[1], UINT64_MAX, &b.lba);

	if (r == 0)
		r = parser_get_u64(ps, ps->word[2], UINT64_MAX, &b.count);
	if (r == 0)
		r = parser_get_double(ps, ps->word[4], &b.revolutions);
	if (r == 0 && ps->nwords == 6)
		r = get_errno(ps, ps->word[5], &b.err);
	if (r < 0)
		return r;
	if (strcmp(kind, "r") == 0)
		b.kind = BAD_READ;
	else if (strcmp(kind, "w") == 0)
		b.kind = BAD_WRITE;
	else if (strcmp(kind, "rw") == 0)
		b.kind = BAD_READ | BAD_WRITE;
	else if (strcmp(kind, "heal") == 0)
		b.kind = BAD_READ | BAD_HEALS;
	else
		return parser_fail(ps, "a bad region is r, w, rw or heal", kind);
	return profile_add_bad(ps->p, &b) < 0 ? parser_fail(ps, "too many bad regions", NULL) : 0;
}

static int key_slow(struct parser *ps)
{
	struct profile_slow s = { .heals = ps->nwords > 5 };
	int r = parser_get_u64(ps, ps->word[1], UINT64_MAX, &s.lba);

	if (r == 0)
		r = parser_get_u64(ps, ps->word[2], UINT64_MAX, &s.count);
	if (r == 0)
		r = parser_get_u32(ps, ps->word[3], &s.every);
	if (r == 0)
		r = parser_get_double(ps, ps->word[4], &s.revolutions);
	if (r < 0)
		return r;
	if (s.heals && strcmp(ps->word[5], "heal") != 0)
		return parser_fail(ps, "behind a slow region there is nothing, or heal", ps->word[5]);
	return profile_add_slow(ps->p, &s) < 0 ? parser_fail(ps, "too many slow regions", NULL) : 0;
}

static int get_op(const struct parser *ps, const char *word, enum disk_op *ret)
{
	static const char *const names[] = {
		[DISK_READ] = "read", [DISK_WRITE] = "write", [DISK_FLUSH] = "flush", [DISK_ANY] = "any"
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], word) == 0) {
			*ret = (enum disk_op)i;
			return 0;
		}
	return parser_fail(ps, "read, write, flush or any was expected", word);
}

/* fail OP NTH [errno NAME] [short BYTES] [delay SECONDS] [every N] */
static int key_fail(struct parser *ps)
{
	struct profile_fail f = { .short_bytes = UINT64_MAX };
	size_t i;
	int r = get_op(ps, ps->word[1], &f.op);

	if (r == 0)
		r = parser_get_u64(ps, ps->word[2], UINT64_MAX, &f.nth);
	for (i = 3; r == 0 && i < ps->nwords; i += 2) {
		if (i + 1 == ps->nwords)
			return parser_fail(ps, "a value is missing after", ps->word[i]);
		if (strcmp(ps->word[i], "errno") == 0)
			r = get_errno(ps, ps->word[i + 1], &f.err);
		else if (strcmp(ps->word[i], "short") == 0)
			r = parser_get_u64(ps, ps->word[i + 1], UINT32_MAX, &f.short_bytes);
		else if (strcmp(ps->word[i], "delay") == 0)
			r = parser_get_double(ps, ps->word[i + 1], &f.delay_s);
		else if (strcmp(ps->word[i], "every") == 0)
			r = parser_get_u64(ps, ps->word[i + 1], UINT64_MAX, &f.every);
		else
			return parser_fail(ps, "fail takes errno, short, delay, every", ps->word[i]);
	}
	if (r < 0)
		return r;
	return profile_add_fail(ps->p, &f) < 0 ? parser_fail(ps, "too many failing requests", NULL) : 0;
}

static int key_stall(struct parser *ps)
{
	struct profile_stall s;
	int r = parser_get_double(ps, ps->word[1], &s.at_s);

	if (r == 0)
		r = parser_get_double(ps, ps->word[2], &s.length_s);
	if (r < 0)
		return r;
	return profile_add_stall(ps->p, &s) < 0 ? parser_fail(ps, "too many stalls", NULL) : 0;
}

static int key_gone(struct parser *ps)
{
	int r;

	if (strcmp(ps->word[0], "gone_as") == 0) {
		if (strcmp(ps->word[1], "error") != 0 && strcmp(ps->word[1], "zero") != 0)
			return parser_fail(ps, "error or zero was expected", ps->word[1]);
		ps->p->faults.gone = ps->word[1][0] == 'e' ? GONE_ERROR : GONE_ZERO;
		return 0;
	}
	r = parser_get_double(ps, ps->word[1], &ps->p->faults.gone_at_s);
	return r;
}

static int key_pair(struct parser *ps)
{
	bool is_wobble = ps->word[0][0] == 'w';
	int r = parser_get_double(ps, ps->word[1], is_wobble ? &ps->p->spindle.wobble : &ps->p->noise.outlier_p);

	if (r == 0)
		r = parser_get_double(ps, ps->word[2],
		                      is_wobble ? &ps->p->spindle.wobble_period_s : &ps->p->noise.outlier_ms);
	return r;
}

static const struct special {
	const char *name;
	size_t min, max; /* values */
	int (*set)(struct parser *ps);
} specials[] = {
	{ "spare", 2, 2, key_spare },
	{ "kind", 1, 1, key_kind },
	{ "queue", 1, 1, key_queue },
	{ "layout", 1, 4, key_layout },
	{ "head_skew", 1, 1, key_skew },
	{ "cyl_skew", 1, 1, key_skew },
	{ "band_skew", 1, 1, key_skew },
	{ "seek", 2, 5, key_seek },
	{ "zone", 2, PROFILE_SURFACES_MAX + 1, key_zone },
	{ "skip", 2, 4, key_skip },
	{ "bad", 4, 5, key_bad },
	{ "slow", 4, 5, key_slow },
	{ "fail", 2, 10, key_fail },
	{ "stall", 2, 2, key_stall },
	{ "gone_at_s", 1, 1, key_gone },
	{ "gone_as", 1, 1, key_gone },
	{ "wobble", 2, 2, key_pair },
	{ "outlier", 2, 2, key_pair },
};

/* ---- lines ---- */

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return s;
}

static int split(struct parser *ps, char *line)
{
	char *save = NULL, *w;

	ps->nwords = 0;
	for (w = strtok_r(line, " \t\r\v\f", &save); w; w = strtok_r(NULL, " \t\r\v\f", &save)) {
		if (ps->nwords == WORDS_MAX)
			return parser_fail(ps, "too many values", NULL);
		ps->word[ps->nwords++] = w;
	}
	return 0;
}

static int parse_line(struct parser *ps, char *line)
{
	char *hash = strchr(line, '#'), *key, *value;
	size_t i, len;
	int r;

	if (hash)
		*hash = 0;
	key = trim(line);
	if (!*key)
		return 0;
	for (i = 0; key[i]; i++)
		if ((unsigned char)key[i] < ' ' && key[i] != '\t')
			return parser_fail(ps, "there is a control character in the line", NULL);
	len = strcspn(key, " \t");
	for (i = 0; i < ARRAY_LEN(specials); i++) {
		const struct special *s = &specials[i];

		if (strlen(s->name) != len || strncmp(s->name, key, len) != 0)
			continue;
		r = split(ps, key);
		if (r < 0)
			return r;
		if (ps->nwords - 1 < s->min || ps->nwords - 1 > s->max)
			return parser_fail(ps, "wrong number of values for", s->name);
		return s->set(ps);
	}
	value = trim(key + len);
	for (i = 0; profile_keys[i].name; i++) {
		if (strlen(profile_keys[i].name) != len || strncmp(profile_keys[i].name, key, len) != 0)
			continue;
		if (!*value)
			return parser_fail(ps, "a value is missing after", profile_keys[i].name);
		return set_key(ps, &profile_keys[i], value);
	}
	r = split(ps, key);
	if (r < 0 || traits_parse(ps, &r))
		return r;
	return parser_fail(ps, "there is no such key", ps->word[0]);
}

int profile_parse(struct profile *ret, const char *name, const char *text, size_t len, struct err *err)
{
	struct profile p;
	struct parser ps = { .p = &p, .name = name, .err = err };
	const char *at = text, *end = text + len;
	int r = 0;

	profile_init(&p);
	ps.zone = (struct profile_zone){ .band_tracks = 1, .head_skew = NAN, .cyl_skew = NAN, .band_skew = NAN };
	if (len > PROFILE_TEXT_MAX)
		return err_set(err, -EFBIG, "%s: a profile is at most %u bytes long", name, PROFILE_TEXT_MAX);
	while (r == 0 && at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((eol ? eol : end) - at);
		char line[LINE_MAX_BYTES];

		ps.line++;
		if (n >= sizeof(line)) {
			r = parser_fail(&ps, "the line is too long", NULL);
		} else if (memchr(at, 0, n)) {
			r = parser_fail(&ps, "there is a zero byte in the line", NULL);
		} else {
			memcpy(line, at, n);
			line[n] = 0;
			r = parse_line(&ps, line);
		}
		at += n + 1;
	}
	if (r == 0) {
		if (!p.name[0]) {
			const char *slash = strrchr(name, '/');

			(void)snprintf(p.name, sizeof(p.name), "%s", slash ? slash + 1 : name);
			if (strlen(p.name) > 5 && strcmp(p.name + strlen(p.name) - 5, ".disk") == 0)
				p.name[strlen(p.name) - 5] = 0;
		}
		r = profile_finish(&p, err);
	}
	if (r < 0) {
		profile_done(&p);
		return r;
	}
	*ret = p;
	return 0;
}

int profile_load(struct profile *ret, const char *path, struct err *err)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	cleanup_free char *text = NULL;
	size_t len = 0, room = 0;

	if (!f)
		return err_set(err, -errno, "cannot open the disk profile %s: %s", path, strerror(errno));
	do {
		char *bigger;

		room = room ? room * 2 : 65536;
		bigger = realloc(text, room);
		if (!bigger)
			return err_set(err, -ENOMEM, "%s: out of memory", path);
		text = bigger;
		len += fread(text + len, 1, room - len, f);
	} while (len == room && len <= PROFILE_TEXT_MAX);
	if (ferror(f))
		return err_set(err, -EIO, "cannot read the disk profile %s", path);
	return profile_parse(ret, path, text, len, err);
}
