/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen: the sentence that the clauses of a measurement make of a document, and the lines that it may have.
 */
#include "golden.h"

#include "cli/cli.h"

struct place {
	uint64_t first_byte;
	double rate_bytes_per_s;
};
static const struct field place_fields[] = {
	FIELD_U64(struct place, first_byte, UNIT_BYTES, "First byte"),
	FIELD_F64(struct place, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_END,
};

static struct result *zones(double slow, double unreadable)
{
	struct result *res = result_new("zones");

	result_figure(res, "start_bytes_per_s", "start", UNIT_BYTES_PER_S, 82.04e6,
	              &(struct interval){ 81.9e6, 82.1e6 }, 4);
	result_figure(res, "middle_bytes_per_s", "middle", UNIT_BYTES_PER_S, 70.3e6, NULL, 0);
	result_figure(res, "end_bytes_per_s", "end", UNIT_BYTES_PER_S, 45e6, NULL, 0);
	result_figure_u64(res, "bands", "recording zones", UNIT_COUNT, 16);
	result_figure(res, "slow_least_loss_ratio", "least loss", UNIT_RATIO, 0.1, NULL, 0);
	result_figure(res, "slow_regions", "slow regions", UNIT_COUNT, slow, NULL, 0);
	result_figure(res, "unreadable_regions", "unreadable regions", UNIT_COUNT, unreadable, NULL, 0);
	result_figure(res, "read_bytes", "read", UNIT_BYTES, 3.2e9, NULL, 0);
	result_figure(res, "read_ratio", "share read", UNIT_RATIO, 0.0008, NULL, 0);
	result_figure_text(res, "next_command", "to read each block", "platter surface /dev/sda");
	res->status = STATUS_COMPLETE;
	return res;
}

static void expect_answer(struct result *res, const char *answer)
{
	cli_screen(res);
	if (answer)
		assert_string_equal(res->answer, answer);
	else
		assert_null(res->answer);
	result_free(res);
}

#define PLACES  "82.0 MB/s at the start, 70.3 MB/s in the middle, 45.0 MB/s at the end; 16 recording zones; "
#define OF_READ "in the 3.20 GB (0.08 %) that were read nothing failed"
#define NEXT    "."

TEST(the_answer_says_what_the_figures_say)
{
	expect_answer(zones(0, 0), PLACES OF_READ ", and nothing was slow by 10 % or more" NEXT);
	expect_answer(zones(1, 0),
	              PLACES "1 slow region and 0 unreadable regions in the 3.20 GB (0.08 %) that were read" NEXT);
	expect_answer(zones(2, 3),
	              PLACES "2 slow regions and 3 unreadable regions in the 3.20 GB (0.08 %) that were read" NEXT);
	expect_answer(zones(0, 1), PLACES "1 unreadable region in the 3.20 GB (0.08 %) that were read" NEXT);
}

/* Nothing was looked for: that nothing was found must not be said. */
TEST(what_is_not_known_is_not_said)
{
	struct result *res = zones(NAN, NAN);

	result_figure(res, "end_bytes_per_s", "end", UNIT_BYTES_PER_S, NAN, NULL, 0);
	result_figure(res, "mean_bytes_per_s", "mean", UNIT_BYTES_PER_S, 66e6, NULL, 0);
	expect_answer(res, "66.0 MB/s on average; 16 recording zones" NEXT);
	expect_answer(result_new("zones"), NULL);
	expect_answer(result_new("nothing of ours"), NULL);
	expect_answer(result_new(NULL), NULL);
}

TEST(what_hardly_is_known_is_said_by_its_ends)
{
	static const struct {
		struct interval ci;
		const char *says;
	} cases[] = {
		{ { 500e6, 526e6 }, "513" },
		{ { 400e6, 626e6 }, "513" },
		{ { 220e6, 1194e6 }, "220 to 1194" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *res = zones(NAN, NAN);
		char says[64];

		result_figure(res, "start_bytes_per_s", "start", UNIT_BYTES_PER_S, 513e6, &cases[i].ci, 11);
		cli_screen(res);
		(void)snprintf(says, sizeof(says), "%s MB/s at the start, ", cases[i].says);
		assert_ptr_equal(strstr(res->answer, says), res->answer);
	}
}

/* Over all that was asked; over a share; over nothing. */
TEST(what_was_not_read_is_not_called_good)
{
	struct result *res = zones(0, 0);

	result_figure(res, "read_ratio", "share read", UNIT_RATIO, 1, NULL, 0);
	result_figure_text(res, "next_command", "to read each block", NULL);
	expect_answer(res,
	              PLACES "in the 3.20 GB that were read nothing failed, and nothing was slow by 10 % or more.");
	res = zones(0, 0);
	result_notice(res, "healed", "A failed request was read well when tried again.");
	expect_answer(res,
	              PLACES "what failed in the 3.20 GB (0.08 %) that were read was read well when tried again" NEXT);
	res = zones(0, 0);
	result_figure(res, "read_bytes", "read", UNIT_BYTES, 0, NULL, 0);
	result_figure(res, "read_ratio", "share read", UNIT_RATIO, 0, NULL, 0);
	expect_answer(res, PLACES "nothing was read that gives a rate" NEXT);
}

TEST(the_screen_is_the_same_from_a_file)
{
	struct result *res = zones(0, 0), *read = NULL;
	cleanup_free char *text = NULL;

	cli_screen(res);
	text = result_to_json(res);
	MUST(result_from_json(&read, text, strlen(text), &err));
	assert_string_equal(read->answer, res->answer);
	assert_string_equal(read->shows, res->shows);
	result_free(res);
	result_free(read);
}

/* ---- lines ---- */

static char *rendered(const struct result *res, unsigned width, unsigned lines)
{
	const struct text_style style = { .width = width, .lines = lines, .unicode = width % 2 };

	return WRITTEN(out, assert_int_equal(report_text(out, res, &style), 0));
}

static void expect_fits(const char *text, unsigned width, unsigned lines)
{
	unsigned n = expect_lines_within(text, width);

	if (n > lines)
		fail_msg("%u lines, not %u, of %u columns:\n%s", n, lines, width, text);
}

struct drive {
	const char *path, *model;
};
static const struct field drive_fields[] = {
	FIELD_STR(struct drive, path, "path"),
	FIELD_STR(struct drive, model, "model"),
	FIELD_END,
};

/* More of everything than there is room for: bits of what say of what. */
static struct result *many(unsigned what)
{
	static const char *const tables[] = { "slow_regions", "unreadable", "stretches" };
	struct result *res = zones(2, 3);
	char words[401] = "";

	for (size_t i = 0; i < sizeof(words) - 1; i += 8)
		memcpy(words + i, " and on,", 9);
	for (size_t i = 0; what & 1 && i < 20; i++)
		result_target(res, &(struct drive){ "/dev/disk/by-id/something", "A MODEL WITH A NAME" }, drive_fields);
	for (size_t i = 0; what & 2 && i < 60; i++) {
		result_figure(res, textf("more_%zu_ratio", i), NULL, UNIT_RATIO, 0.5, NULL, 0);
	}
	for (size_t k = 0; what & 4 && k < ARRAY_LEN(tables); k++)
		for (size_t i = 0; i < 100; i++)
			result_row(result_table(res, tables[k], tables[k], place_fields),
			           &(struct place){ i * 1000000, 1e6 * (double)i });
	for (size_t i = 0; what & 8 && i < 50; i++)
		result_notice(res, "note", "%zu: a notice that goes on%.*s.", i, (int)i * 8 % 400, words);
	for (size_t i = 0; what & 16 && i < 1000; i++)
		result_fault(res, "/dev/sda", "read", i * 512, 512, -EIO, 1);
	for (size_t i = 0; what & 32 && i < 50; i++)
		result_row(result_table(res, "curve", "curve", place_fields),
		           &(struct place){ i * 1000000, 1e6 * (double)(100 - i) });
	if (what & 32)
		result_plot(res, &(struct plot){ .kind = "line",
		                                 .title = "The curve",
		                                 .table = "curve",
		                                 .x = "first_byte",
		                                 .y = "rate_bytes_per_s" });
	if (what & 64)
		cli_screen(res);
	return res;
}

TEST(whatever_there_is_the_screen_has_its_lines)
{
	for (unsigned what = 0; what < 128; what++) {
		cleanup_result struct result *res = many(what);

		for (unsigned width = 80; width <= 120; width += 13) {
			cleanup_free char *text = rendered(res, width, SCREEN_LINES);

			expect_fits(text, width, SCREEN_LINES);
			if (what & 8) /* of many at least one, and the others are counted */
				assert_non_null(strstr(text, "note: 0: a notice"));
			if ((what & 8) && !strstr(text, "notices"))
				fail_msg("the notices that are left out are not counted:\n%s", text);
			if ((what & 16) && !strstr(text, "Disk errors: 1000"))
				fail_msg("no word of errors:\n%s", text);
		}
	}
}

/* Joined at the backslashes it is the command again, with nothing behind it. */
TEST(the_next_command_can_be_typed_as_it_stands)
{
	static const char command[] = "platter surface --recheck-all --range=3278848512-15104737280 "
				      "--mapfile='/var/lib/a disk.map' --state=/var/lib/platter/sdb.json /dev/sdb";
	cleanup_result struct result *res = zones(1, 1);
	char *text, *at, *joined, *to;

	result_figure_text(res, "next_command", "to go on", command);
	cli_screen(res);
	text = rendered(res, 80, SCREEN_LINES);
	expect_fits(text, 80, SCREEN_LINES);
	at = strstr(text, "To go on:\n");
	assert_non_null(at);
	at += strlen("To go on:\n");
	to = joined = calloc(strlen(at) + 1, 1);
	for (at += strspn(at, " "); *at && *at != '\n'; at++)
		if (at[0] == '\\' && at[1] == '\n')
			at += 1 + strspn(at + 2, " ");
		else
			*to++ = *at;
	assert_string_equal(joined, command);
	free(joined);
	free(text);
}

TEST(a_picture_is_among_them_where_there_is_one)
{
	cleanup_result struct result *res = many(32 | 64);
	char *text = rendered(res, 80, SCREEN_LINES), *all = rendered(res, 80, 0);

	assert_non_null(strstr(text, "The curve\n"));
	assert_null(strstr(all, "The curve\n"));
	assert_non_null(strstr(text, "82.0 MB/s at the start"));
	assert_non_null(strstr(text, "More with -v: "));
	assert_null(strstr(all, "More with"));
	free(text);
	free(all);
}
