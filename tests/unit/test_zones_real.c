/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `zones` makes of a real drive's readings (tests/data/reads-twice): a healthy one, whose hiccups are those of its host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/zones/zones.h"

#define PIECES 1024
#define BYTES  (4u << 20)
#define REV_NS (60e9 / 5400)

struct reads {
	double us[2][PIECES];
};

static void load(struct reads *ret)
{
	FILE *f = fopen(TEST_DATA "/reads-twice", "re");
	size_t n[2] = { 0 };
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		size_t run = line[0] == '1' ? 0 : 1;
		char *end, *at = line + 1;

		for (double us; line[0] != '#' && (us = strtod(at, &end), end != at); at = end) {
			assert_true(n[run] < PIECES);
			ret->us[run][n[run]++] = us;
		}
	}
	(void)fclose(f);
	assert_true(n[0] == PIECES && n[1] == PIECES);
}

/* The slow regions told of runs first to last, each a pass. slow_us: so much more in pieces 500 to 519. */
static size_t slow_regions(const struct reads *reads, size_t first, size_t last, double slow_us)
{
	struct device dev = { .path = "/dev/sda", .disk_size_bytes = 160041885696u, .logical_block_bytes = 512 };
	struct zone_layout l = { .end_bytes = (uint64_t)PIECES * BYTES,
		                 .align_bytes = 512,
		                 .block_bytes = BYTES / 16,
		                 .request_bytes = BYTES / 16,
		                 .cell_bytes = BYTES,
		                 .slots = 8,
		                 .npositions = PIECES,
		                 .middle = PIECES / 2,
		                 .end = PIECES - 1,
		                 .rev_ns = REV_NS };
	struct zone_target t = { .dev = &dev, .layout = l, .interface_bytes_per_s = NAN };
	size_t n = 0;
	double at_s = 0.0, usual = reads->us[0][PIECES / 2];

	dev.size_bytes = l.end_bytes;
	t.layout.positions = calloc(PIECES, sizeof(*t.layout.positions));
	t.samples.v = calloc((size_t)2 * PIECES, sizeof(*t.samples.v));
	assert_true(t.layout.positions && t.samples.v);
	for (size_t i = 0; i < PIECES; i++)
		t.layout.positions[i].cell_bytes = i * BYTES;
	for (size_t k = first * PIECES; k < (last + 1) * PIECES; k++) {
		size_t i = k % PIECES;
		double ns = 1e3 * (reads->us[k / PIECES][i] + (i >= 500 && i < 520 ? slow_us : 0.0));
		double lost = floor((ns - 1e3 * usual) / REV_NS + 0.1), part = ns / BYTES;

		at_s += ns * 1e-9;
		t.samples.v[t.samples.n++] =
			(struct zone_sample){ .position = i,
			                      .kind = SAMPLE_CURVE,
			                      .pass = (uint32_t)(k / PIECES),
			                      .first_bytes = i * BYTES,
			                      .from_bytes = i * BYTES,
			                      .end_bytes = (i + 1) * BYTES,
			                      .moved_bytes = BYTES,
			                      .elapsed_ns = ns,
			                      .ns_per_byte = part,
			                      .part_ns_per_byte = { part, part, part, part },
			                      .se_ratio = 0.005,
			                      .at_s = at_s,
			                      .flush_ns = NAN,
			                      .waits = (uint32_t)fmax(lost, 0.0), /* all that it may have been */
			                      .wait_revs = (uint32_t)fmax(lost, 0.0),
			                      .is_good = true };
	}
	assert_int_equal(zone_analyse(&t), 0);
	for (size_t i = 0; i < t.analysis->slows.n; i++)
		n += t.analysis->slows.v[i].is_confirmed;
	zone_layout_done(&t.layout);
	zone_analysis_free(t.analysis);
	free(t.samples.v);
	return n;
}

static void no_slow_region_is_told_of_a_healthy_drive_by_either_run_or_both(void **state)
{
	struct reads *reads = calloc(1, sizeof(*reads));

	(void)state;
	assert_non_null(reads);
	load(reads);
	for (size_t run = 0; run < 2; run++)
		assert_int_equal(slow_regions(reads, run, run, 0.0), 0);
	assert_int_equal(slow_regions(reads, 0, 1, 0.0), 0);
	/* Two revolutions in each of twenty pieces, in both: that would be one. */
	assert_int_equal(slow_regions(reads, 0, 1, 2.0 * REV_NS * 1e-3), 1);
	free(reads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slow_region_is_told_of_a_healthy_drive_by_either_run_or_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
