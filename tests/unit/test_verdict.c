/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of rules: each holds above its limit and not below, and platter-check(8) has all of them. */
#include "test.h"

#include "verdict/verdict.h"

struct health_row {
	const char *device, *quantity;
	double before, after;
};
static const struct field health_fields[] = {
	FIELD_STR(struct health_row, device, "device"),
	FIELD_STR(struct health_row, quantity, "of the disk"),
	FIELD_F64(struct health_row, before, UNIT_NONE, "before"),
	FIELD_F64(struct health_row, after, UNIT_NONE, "after"),
	FIELD_END,
};
struct link_row {
	const char *path, *link;
	uint64_t link_bytes_per_s, link_max_bytes_per_s;
};
static const struct field link_fields[] = {
	FIELD_STR(struct link_row, path, "path"),
	FIELD_STR(struct link_row, link, "link"),
	FIELD_U64(struct link_row, link_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct link_row, link_max_bytes_per_s, UNIT_BYTES_PER_S, "most"),
	FIELD_END,
};

static void set_health(struct result *res, const char *quantity, double before, double after)
{
	result_row(result_table(res, "health", "Health", health_fields),
	           &(struct health_row){ "/dev/sda", quantity, before, after });
}

/* A whole check in which nothing was found. */
static struct result *sound(uint64_t link_now)
{
	struct result *res = result_new("check");

	result_target(res, &(struct link_row){ "/dev/sda", "SATA 6.0 Gbps", link_now, 600000000 }, link_fields);
	result_figure_u64(res, "sampled_places", NULL, UNIT_COUNT, 1200);
	set_health(res, "media_errors", 0, 0);
	res->status = STATUS_COMPLETE;
	return res;
}

/* The document in which the rule's sign stands on this side of its limit. */
static struct result *with(const struct verdict_rule *r, bool is_over)
{
	struct result *res = sound(strcmp(r->name, "link") == 0 && is_over ? 150000000 : 600000000);
	double step = r->above > 1e6 ? 1e6 : r->above > 0.0 && r->above < 1.0 ? 0.01 : 1.0;
	double v = is_over ? r->above + step : r->above;

	if (strcmp(r->name, "failing") == 0) {
		if (is_over)
			result_notice(res, "health-failing", "It is failing.");
	} else if (strcmp(r->figure, "damage_grown") == 0) {
		set_health(res, "reallocated", 0, is_over ? 1 : 0);
	} else if (strcmp(r->figure, "crc_grown") == 0) {
		set_health(res, "crc_errors", 7, is_over ? 8 : 7);
	} else if (strncmp(r->figure, "smart_", 6) == 0) {
		set_health(res, r->figure + 6, v, v);
	} else if (strcmp(r->figure, "failed_requests") == 0) {
		if (is_over)
			result_fault(res, "/dev/sda", "read", 4096, 4096, -5, 1.0);
	} else if (strcmp(r->name, "link") != 0) {
		result_figure(res, r->figure, NULL, UNIT_NONE, v, NULL, 0);
	}
	return res;
}

static bool names(const struct judgement *j, const char *rule)
{
	for (size_t i = 0; i < j->n; i++)
		if (strcmp(j->reasons[i]->name, rule) == 0)
			return true;
	return false;
}

TEST(each_rule_holds_beyond_its_limit_only)
{
	for (const struct verdict_rule *r = verdict_rules; r->name; r++)
		for (int is_over = 0; is_over < 2; is_over++) {
			cleanup_result struct result *res = with(r, is_over);
			const struct result *const docs[] = { res };
			struct judgement j;
			char text[VERDICT_TEXT];

			verdict_judge(docs, 1, &j);
			if (names(&j, r->name) != is_over)
				fail_msg("%s: %s", r->name, is_over ? "does not hold" : "holds");
			assert_true(is_over ? j.n >= 1 : j.n == 0); /* what grows is a count as well */
			assert_int_equal(j.is, is_over ? r->says : VERDICT_KEEP);
			if (is_over) {
				assert_null(strchr(verdict_text(&j, 0, text), '{'));
				assert_true(strlen(text) + 14 <=
				            80); /* a line of the page, with its number and how sure it is */
			}
			verdict_conclude(res);
			assert_int_equal(res->verdict_is_no, j.is == VERDICT_REJECT);
			assert_int_equal(res->verdict_is_open, j.is == VERDICT_DOUBT);
			verdict_done(&j);
		}
}

static enum verdict of_two(const char *count, double n, const char *figure, double v)
{
	cleanup_result struct result *res = sound(600000000);
	const struct result *const docs[] = { res };
	struct judgement j;
	enum verdict is;

	set_health(res, count, n, n);
	result_figure(res, figure, NULL, UNIT_NONE, v, NULL, 0);
	verdict_judge(docs, 1, &j);
	is = j.is;
	verdict_done(&j);
	return is;
}

TEST(two_doubts_reject_where_one_is_counted_and_one_measured)
{
	assert_int_equal(of_two("reallocated", 3, "weak_places", 2), VERDICT_REJECT);
	assert_int_equal(of_two("reallocated", 0, "weak_places", 2), VERDICT_DOUBT);
	assert_int_equal(of_two("timeouts", 1, "slow_stretches", 1), VERDICT_REJECT);
	assert_int_equal(of_two("power_on_hours", 90000, "slow_stretches", 0), VERDICT_KEEP);
}

TEST(a_region_slower_by_less_than_heads_differ_is_no_reason)
{
	struct slow_row {
		double rate_bytes_per_s, expected_bytes_per_s;
	};
	static const struct field fields[] = {
		FIELD_F64(struct slow_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
		FIELD_F64(struct slow_row, expected_bytes_per_s, UNIT_BYTES_PER_S, "expected"),
		FIELD_END,
	};

	for (int percent = 80; percent < 100; percent++) {
		cleanup_result struct result *res = sound(600000000);
		const struct result *const docs[] = { res };
		struct judgement j;

		result_row(result_table(res, "slow_regions", "Slow", fields), &(struct slow_row){ percent, 100.0 });
		verdict_judge(docs, 1, &j);
		assert_int_equal(j.is, percent < 90 ? VERDICT_DOUBT : VERDICT_KEEP);
		verdict_done(&j);
	}
}

TEST(few_places_are_a_reason_where_they_are_not_all_of_the_disk)
{
	static const char *const of[] = { "check", "surface", "zones" };

	for (size_t m = 0; m < ARRAY_LEN(of); m++)
		for (uint64_t places = 0; places < 100; places++)
			for (int whole = 0; whole < 2; whole++) {
				cleanup_result struct result *res = result_new(of[m]);
				const struct result *const docs[] = { res };
				struct judgement j;

				res->status = STATUS_COMPLETE;
				if (places) /* else there is no such figure */
					result_figure_u64(res, "sampled_places", NULL, UNIT_COUNT, places);
				result_figure(res, "scanned_ratio", NULL, UNIT_RATIO, whole ? 1.0 : 0.999, NULL, 0);
				verdict_judge(docs, 1, &j);
				if (!places && (m > 0 || whole))
					assert_int_equal(j.is, VERDICT_NONE);
				else
					assert_int_equal(j.is, whole || places >= 59 ? VERDICT_KEEP : VERDICT_DOUBT);
				verdict_conclude(res); /* exit status 0 is KEEP and nothing else */
				assert_int_equal(res->verdict_is_no || res->verdict_is_open, j.is != VERDICT_KEEP);
				verdict_done(&j);
			}
}

/* A write that failed was reported; what comes back from there is what lay there before. */
TEST(what_failed_to_be_written_is_no_data_that_came_back_wrong)
{
	for (unsigned failed = 0; failed <= 4096; failed += 2048) {
		cleanup_result struct result *res = sound(600000000);
		const struct result *const docs[] = { res };
		struct judgement j;

		result_figure_u64(res, "wrong_bytes", NULL, UNIT_BYTES, 4096);
		result_figure_u64(res, "failed_write_bytes", NULL, UNIT_BYTES, failed);
		verdict_judge(docs, 1, &j);
		assert_int_equal(names(&j, "wrong"), failed < 4096);
		assert_int_equal(names(&j, "unwritable"), failed > 0);
		assert_int_equal(j.is, VERDICT_REJECT);
		verdict_done(&j);
	}
}

TEST(a_count_that_rose_since_an_earlier_run_rejects)
{
	for (int rise = -1; rise <= 1; rise++) {
		struct result *then = sound(600000000), *now = sound(600000000);

		set_health(then, "timeouts", 1, 2);
		set_health(now, "timeouts", 2 + rise, 2 + rise);
		set_health(then, "crc_errors", 1, 1);
		set_health(now, "crc_errors", 9, 9);
		verdict_since(now, then);
		verdict_conclude(now);
		assert_int_equal(now->verdict_is_no, rise > 0);
		assert_true(now->verdict_is_no || now->verdict_is_open);
		result_free(then);
		result_free(now);
	}
}

TEST(a_check_without_counters_keeps_as_far_as_reading_shows)
{
	static const char *const quantities[] = { "temperature_celsius", "power_on_hours", "pending", "media_errors" };

	for (size_t i = 0; i < ARRAY_LEN(quantities); i++) {
		cleanup_result struct result *res = result_new("check");
		const struct result *const docs[] = { res };
		struct judgement j;

		result_figure_u64(res, "sampled_places", NULL, UNIT_COUNT, 1200);
		res->status = STATUS_COMPLETE;
		set_health(res, quantities[i], 0, (double)NAN);
		verdict_judge(docs, 1, &j);
		assert_int_equal(j.is, VERDICT_KEEP);
		assert_int_equal(names(&j, "uncounted"), i < 2);
		verdict_done(&j);
	}
}

/* The whole path, as a shell takes it; how long it takes on this disk; none where it would settle nothing. */
TEST(the_command_that_would_settle_a_reason_can_be_typed)
{
	static const char longest[] =
		"/dev/disk/by-id/ata-0123456789012345678901234567890123456789012345678901234567890123"
		"456789012345678901234567890123456789012345678901234567890123456789012345678901234567";
	static const struct {
		const char *path, *health, *figure, *command, *how;
		double read_all_s;
	} cases[] = {
		{ "/dev/sda", "smartctl", "slow_stretches", "platter surface /dev/sda", "takes at least 3 h 24 m",
		  12240 },
		{ "/dev/sda", "smartctl", "weak_places", "platter surface /dev/sda", NULL, (double)NAN },
		{ "/mnt/a disk", "smartctl", "weak_places", "platter surface '/mnt/a disk'", "takes at least 1 m 42 s",
		  102 },
		{ longest, "smartctl", "weak_places", NULL, "takes at least 1 m 42 s", 102 },
		{ "/dev/sda", NULL, "counters_unread", "", NULL, 102 },
		{ "/dev/sda", "smartctl learns nothing from this disk", "counters_unread", "", NULL, 102 },
		{ "/dev/sda", "--no-smart", "counters_unread", "platter check /dev/sda", "without --no-smart", 102 },
		{ "/dev/sda", "smartctl (smartmontools) is not installed", "counters_unread", "platter check /dev/sda",
		  "with smartctl", 102 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *res = result_new("check");
		char command[300];
		const struct table *t;

		result_target(res, &(struct link_row){ cases[i].path, "", 1, 1 }, link_fields);
		result_figure_u64(res, "sampled_places", NULL, UNIT_COUNT, 1200);
		result_figure(res, "read_all_s", NULL, UNIT_S, cases[i].read_all_s, NULL, 0);
		result_figure_u64(res, cases[i].figure, NULL, UNIT_COUNT, 2);
		if (strcmp(cases[i].figure, "counters_unread") != 0)
			set_health(res, "media_errors", 0, 0);
		if (cases[i].health)
			result_option(res, "health", cases[i].health);
		verdict_conclude(res);
		t = result_find_table(res, "reasons");
		assert_int_equal(t->nrows, 1);
		(void)snprintf(command, sizeof(command), "platter surface %s", cases[i].path);
		assert_string_equal(table_string(t, 0, (size_t)table_column(t, "settle")) ?: "",
		                    cases[i].command ?: command);
		assert_string_equal(table_string(t, 0, (size_t)table_column(t, "how")) ?: "", cases[i].how ?: "");
	}
}

TEST(of_one_measurement_without_a_sign_there_is_no_verdict)
{
	cleanup_result struct result *res = result_new("zones");
	const struct result *const docs[] = { res };
	struct judgement j;

	verdict_judge(docs, 1, &j);
	assert_int_equal(j.is, VERDICT_NONE);
	verdict_done(&j);
	result_figure_u64(res, "unreadable_regions", NULL, UNIT_COUNT, 2);
	verdict_judge(docs, 1, &j);
	assert_int_equal(j.is, VERDICT_REJECT);
	verdict_done(&j);
}

TEST(the_manual_page_has_the_table)
{
	const char *at = file_text(TEST_DATA "/../../man/platter-check.8");

	for (const struct verdict_rule *r = verdict_rules; r->name; r++) {
		const char *item = textf("\n.It Sy %s No %s Va %s\n", r->name, verdict_words[r->says], r->figure);

		at = strstr(at, item); /* in the same order */
		if (!at)
			fail_msg("platter-check(8) lacks, or has elsewhere:%s", item);
		assert_non_null(r->source);
	}
	at = strstr(at + 1, "\n.It Sy ");
	assert_null(at); /* and no other */
}
