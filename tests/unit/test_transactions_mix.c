/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that are mixed by what they do and by size, and arrivals at equal times. */
#include "test.h"

#include "ran.h"

extern const struct measure measure_transactions;

static struct result *measured_on(const char *profile, const char *words)
{
	struct sim_run run = ran(&measure_transactions, profile, words);

	sim_free(run.sim);
	return run.res;
}

static struct result *measured(const char *words)
{
	return measured_on("modern-4tb", words);
}

#define KINDS_MOST 16
struct kind { /* as table "requests" has it */
	const char *op;
	uint64_t block_bytes, requests;
	double mean_ns;
};

static const struct field kind_fields[] = {
	FIELD_STR(struct kind, op, ""),
	FIELD_U64(struct kind, block_bytes, UNIT_BYTES, ""),
	FIELD_U64(struct kind, requests, UNIT_COUNT, ""),
	FIELD_F64(struct kind, mean_ns, UNIT_NS, ""),
	FIELD_END,
};

/* The rows; *ret_n of them. All requests together. */
static double kinds_of(const struct result *res, struct kind *ret, size_t *ret_n)
{
	const struct table *t = result_find_table(res, "requests");
	double all = 0.0;

	*ret_n = t ? t->nrows : 0;
	assert_true(*ret_n <= KINDS_MOST);
	for (size_t i = 0; i < *ret_n; i++) {
		table_row(t, i, kind_fields, &ret[i]);
		all += (double)ret[i].requests;
	}
	return all;
}

/* Within four deviations of a binomial share. */
static void assert_share(double n, double of, double share)
{
	if (!(fabs(n - of * share) < 4.0 * sqrt(of * share * (1.0 - share))))
		fail_msg("%g of %g are not a share of %g", n, of, share);
}

TEST(a_share_of_the_requests_writes)
{
	static const double shares[] = { 0.05, 0.3, 0.8 };

	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct kind kinds[KINDS_MOST];
		char words[160];
		cleanup_result struct result *res = NULL;
		double n;
		size_t rows;

		(void)snprintf(words, sizeof(words),
		               "--write=%g%% --destroy-data=SIM0004000 --users=2 --time=60s --seed=%zu sda",
		               100.0 * shares[i], i + 1);
		res = measured(words);
		n = kinds_of(res, kinds, &rows);
		assert_true(n > 1000.0);
		assert_int_equal(rows, 2);
		assert_string_equal(kinds[0].op, "read");
		assert_string_equal(kinds[1].op, "write");
		assert_share((double)kinds[1].requests, n, shares[i]);
		assert_true(kinds[0].mean_ns != kinds[1].mean_ns);
	}
}

/* Each with a time of its own: 1 MiB takes its transfer longer than 4 KiB, and what is asked is a share of requests. */
TEST(requests_of_several_sizes_come_in_their_shares)
{
	static const struct {
		uint64_t bytes;
		double share;
	} sizes[] = { { 4096, 0.5 }, { 65536, 0.3 }, { 1 << 20, 0.2 } };
	static const char *const words[] = { "--block=4K:50%,64K:30%,1M:20% --time=120s --seed=3 sda",
		                             "--block=4K:.5,64K:.3,1M:.2 --write=30% --destroy-data=SIM0004000 "
		                             "--time=120s --seed=3 sda" };

	for (size_t w = 0; w < ARRAY_LEN(words); w++) {
		cleanup_result struct result *res = measured(words[w]);
		struct kind kinds[KINDS_MOST];
		size_t rows, each;
		double n = kinds_of(res, kinds, &rows);

		assert_int_equal(rows, ARRAY_LEN(sizes) * (w + 1));
		each = rows / ARRAY_LEN(sizes);
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			double of = 0.0;

			for (size_t k = i * each; k < (i + 1) * each; k++) {
				assert_int_equal(kinds[k].block_bytes, sizes[i].bytes);
				of += (double)kinds[k].requests;
			}
			assert_share(of, n, sizes[i].share);
		}
		assert_true(kinds[2 * each].mean_ns > kinds[0].mean_ns + 2e6);
		assert_true(n > 1000.0 && (double)result_find_figure(res, "io_service_mean_ns")->samples == n);
	}
}
