/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/plotdata.h"
#include "report/svg.h"

struct place {
	uint64_t first_byte;
	double rate_bytes_per_s;
};
static const struct field place_fields[] = {
	FIELD_U64(struct place, first_byte, UNIT_BYTES, "First byte"),
	FIELD_F64(struct place, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_END,
};

/* In whatever order the table has them; two of one place are one. */
TEST(every_bad_place_has_its_mark_in_a_picture)
{
	static const uint64_t at[] = { 900000, 100000, 500000, 100000, 1ull << 60 };
	struct result *res = result_new("zones");
	const struct result *one[] = { res };
	const char *mark;
	struct plot_data *d;
	unsigned n = 0;
	size_t len = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		result_row(result_table(res, "bad", "Bad", place_fields), &(struct place){ at[i], 0 });
	for (uint64_t i = 0; i < 10; i++)
		result_row(result_table(res, "curve", "Curve", place_fields), &(struct place){ i * 100000, 5 });
	result_plot(res, &(struct plot_decl){ .kind = "line",
	                                      .table = "curve",
	                                      .x = "first_byte",
	                                      .y = "rate_bytes_per_s",
	                                      .marks = "bad:first_byte:first_byte" });
	d = plot_data_new(one, 1, &res->plots[0]);
	assert_non_null(d);
	svg_plot(f, d);
	assert_int_equal(fclose(f), 0);
	for (mark = text; (mark = strstr(mark, "<rect class=\"mark")); mark++)
		n++;
	assert_int_equal(n, 3);
	free(text);
	plot_data_free(d);
	result_free(res);
}
