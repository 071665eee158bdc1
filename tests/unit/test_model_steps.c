/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What traits of the disk model do, step by step: tests/data/cases/steps, where the steps are explained. */
#include "test.h"

#include <ctype.h>

#include "cases.h"
#include "modelrun.h"

static const char *const bases[][2] = {
	{ "bare", "rpm 7200\nqueue_depth 1\n" },
	{ "plain", RUN_BASE },
	{ "cached", /* segments of 256 KiB: 512 sectors, a little more than a track */
	  "rpm 7200\nsurfaces 2\ncache_kb 1024\nsegments 4\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.02\n"
	  "seek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 1000\n" },
	{ "writing", RUN_BASE "queue_depth 32\nwrite_cache_kb 1024\nwrite_start 0.5\nwrite_delay_ms 100000\n"
	                      "hit_overhead_ms 0.02\nwrite_settle_ms 0.3\n" },
};

/* "BASE; TRAIT; TRAIT" */
static void disk_of(struct run *r, char *text)
{
	char profile[2048] = "", *save = NULL, *base = strtok_r(text, ";", &save);

	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (strcmp(base, bases[i][0]) == 0)
			(void)snprintf(profile, sizeof(profile), "%s" RUN_ZONE, bases[i][1]);
	assert_true(profile[0]);
	for (char *trait; (trait = strtok_r(NULL, ";", &save));) {
		size_t used = strlen(profile);

		(void)snprintf(profile + used, sizeof(profile) - used, "%s\n", trait + 1);
	}
	run_new(r, profile);
}

static bool is_answered(const struct run *r, const char *word, size_t len)
{
	static const char *const hows[] = {
		[HOW_HIT] = "hit", [HOW_MEDIA] = "media", [HOW_STREAM] = "stream", [HOW_CACHED] = "cached"
	};
	char text[24];

	for (size_t i = 0; i < ARRAY_LEN(hows); i++)
		if (hows[i] && strlen(hows[i]) == len && memcmp(hows[i], word, len) == 0)
			return (size_t)r->done.how == i;
	(void)snprintf(text, sizeof(text), "%.*s", (int)len, word);
	return isdigit((unsigned char)*word) ? r->done.res == atoi(text)
	                                     : r->done.res < 0 && strcmp(err_name((int)r->done.res), text) == 0;
}

/* "r0+8=hit<1"; false: it was not so. */
static bool step(struct run *r, char *text)
{
	char *at = text + 1;
	struct disk_req q = { .op = strchr("wW", *text) ? DISK_WRITE : DISK_READ,
		              .fua = isupper((unsigned char)*text) };
	bool is_so = true, has_answer = false;

	if (*text == '.') {
		r->now += (uint64_t)(strtod(at, NULL) * 1e6);
		return true;
	}
	assert_non_null(strchr("rRwW", *text));
	q.offset_bytes = strtoull(at, &at, 10) * 512;
	assert_int_equal(*at, '+');
	q.len_bytes = (uint32_t)strtoul(at + 1, &at, 10) * 512;
	assert_int_equal(disk_submit(r->d, r->now, &q), 0);
	(void)run_wait(r);
	while (*at && is_so) {
		char what = *at++;
		double took = run_took(r), ms;
		bool is_not = *at == '!';

		if (what == '=') {
			size_t len = strcspn(at += is_not, "<>~");

			is_so = is_answered(r, at, len) != is_not;
			at += len;
			has_answer = true;
			continue;
		}
		ms = 1e6 * strtod(at, &at);
		assert_non_null(strchr("<>~", what));
		is_so = what == '<' ? took < ms : what == '>' ? took > ms : fabs(took - ms) <= 2;
	}
	return is_so && (has_answer || r->done.res == (int64_t)q.len_bytes);
}

TEST(each_trait_does_step_by_step_what_its_sentence_says)
{
	struct cases c = cases_open(TEST_DATA "/cases/steps");
	size_t n = 0;

	while (cases_next(&c)) {
		cleanup_model struct run r = { 0 };
		char *steps = strchr(c.line, ':'), *save = NULL;

		assert_non_null(steps);
		*steps++ = '\0';
		disk_of(&r, c.line);
		for (char *s = strtok_r(steps, " ", &save); s; s = strtok_r(NULL, " ", &save), n++)
			if (!step(&r, s))
				fail_msg("%s\n%s: %s: how %d, %d bytes, %.6f ms", c.title, c.line, s, (int)r.done.how,
				         (int)r.done.res, run_took(&r) * 1e-6);
	}
	assert_true(n > 150);
}
