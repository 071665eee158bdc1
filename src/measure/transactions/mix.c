/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that are mixed, by size and by what they do: which one is next, and what each kind of them takes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/transactions/transactions.h"

#define SIZE_LEAST  512u
#define SIZE_MOST   67108864u
#define SHARES_NEAR 0.0005 /* of one: shares are typed with few digits */

/* One of them, "4K:70%", or of a single one "4K". */
static int parse_size(char *text, struct tx_sizes *s, double *sum, struct err *err)
{
	char *share = strchr(text, ':');
	struct err why = { 0 };
	double ratio = 1.0;
	uint64_t bytes;
	int r;

	if (share)
		*share++ = '\0';
	r = units_parse_bytes(text, &bytes, &why);
	if (r == 0 && share)
		r = units_parse_ratio(share, &ratio, &why);
	if (r < 0)
		return err_set(err, -EINVAL, "--block: %s", why.text);
	if (bytes < SIZE_LEAST || bytes > SIZE_MOST)
		return err_set(err, -EINVAL, "--block: '%s' is out of range; give 512 to 64MiB.", text);
	for (size_t i = 0; i < s->n; i++)
		if (s->bytes[i] == bytes)
			return err_set(err, -EINVAL, "--block names %s twice; give each size once.", text);
	if (!(ratio > 0.0))
		return err_set(err, -EINVAL, "--block: a share is more than 0 %%; leave %s out.", text);
	*sum += ratio;
	s->bytes[s->n] = (uint32_t)bytes;
	s->until[s->n++] = *sum;
	return 0;
}

int tx_parse_sizes(const char *text, struct tx_sizes *ret, struct err *err)
{
	char copy[256], *save = NULL;
	double sum = 0.0;

	*ret = (struct tx_sizes){ .least = UINT32_MAX };
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return err_set(err, -EINVAL, "--block=%.40s... is too long; give fewer sizes.", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		int r;

		if (ret->n == TX_SIZES_MAX)
			return err_set(err, -EINVAL, "--block takes %d sizes; give fewer.", TX_SIZES_MAX);
		r = parse_size(word, ret, &sum, err);
		if (r < 0)
			return r;
	}
	if (ret->n == 0 || fabs(sum - 1.0) > SHARES_NEAR)
		return err_set(err, -EINVAL,
		               "--block=%s: the shares are not 100 %% together; write 4K, or 4K:70%%,64K:30%%.", text);
	for (size_t i = 0; i < ret->n; i++) {
		ret->least = ret->bytes[i] < ret->least ? ret->bytes[i] : ret->least;
		ret->most = ret->bytes[i] > ret->most ? ret->bytes[i] : ret->most;
	}
	return 0;
}

static bool has_both(const struct tx_mix *m)
{
	return m->share > 0.0 && m->share < 1.0;
}

/* Kinds: of each size, and where both are there, its reads before its writes. */
static size_t kinds(const struct tx_mix *m)
{
	return m->sizes.n * (has_both(m) ? 2 : 1);
}

void tx_mix_start(struct tx_mix *m, const struct tx_sizes *sizes, double share)
{
	m->sizes = *sizes;
	m->share = share;
	m->written = m->asked_bytes = 0;
	for (size_t i = 0; i <= kinds(m); i++) {
		struct hist **h = i ? &m->of[i - 1] : &m->service;

		*h = *h ? *h : hist_new();
		hist_clear(*h);
	}
}

void tx_mix_done(struct tx_mix *m)
{
	free(m->service);
	for (size_t i = 0; i < ARRAY_LEN(m->of); i++)
		free(m->of[i]);
}

/*
 * Each size begins at multiples of the smallest, as far as it fits. Without a mix nothing is drawn, and buffers stay as
 * they were filled; of a mix a read may have left anything there.
 */
void tx_mix_draw(struct tx_mix *m, struct rng *rng, const struct tx_place *place, struct io_req *req)
{
	const struct tx_sizes *s = &m->sizes;
	double draw = s->n > 1 ? rng_double(rng) : 0.0;
	size_t i = 0;

	while (i + 1 < s->n && draw >= s->until[i])
		i++;
	req->len_bytes = s->bytes[i];
	req->offset_bytes = place->first_byte + rng_below(rng, (place->bytes - s->bytes[i]) / s->least + 1) * s->least;
	req->op = m->share > 0.0 && (!has_both(m) || rng_double(rng) < m->share) ? IO_WRITE : IO_READ;
	if (req->op == IO_WRITE && has_both(m))
		payload_fill(req->buf, &(struct payload_id){ place->seed, ++m->written, 0, 0, req->len_bytes });
}

void tx_mix_take(struct tx_mix *m, const struct io_req *req)
{
	uint64_t took_ns = req->done_ns - req->submit_ns;
	size_t i = 0;

	m->asked_bytes += req->len_bytes;
	if (req->is_late)
		return;
	while (m->sizes.bytes[i] != req->len_bytes)
		i++;
	hist_add(m->service, took_ns);
	hist_add(m->of[has_both(m) ? 2 * i + io_writes(req->op) : i], took_ns);
}

struct kind_row {
	const char *op;
	uint64_t block_bytes, requests;
	double mean_ns;
	uint64_t p50_ns, p99_ns, p999_ns, max_ns;
};

const struct field tx_kind_fields[] = {
	FIELD_STR(struct kind_row, op, "request"),
	FIELD_U64(struct kind_row, block_bytes, UNIT_BYTES, "size"),
	FIELD_U64(struct kind_row, requests, UNIT_COUNT, "requests"),
	FIELD_F64(struct kind_row, mean_ns, UNIT_NS, "mean"),
	FIELD_U64(struct kind_row, p50_ns, UNIT_NS, "median"),
	FIELD_U64(struct kind_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_U64(struct kind_row, p999_ns, UNIT_NS, "99.9 %"),
	FIELD_U64(struct kind_row, max_ns, UNIT_NS, "worst"),
	FIELD_END,
};

void tx_mix_report(const struct tx_mix *m, struct table *t)
{
	for (size_t k = 0; k < kinds(m); k++) {
		const struct hist *h = m->of[k];
		bool writes = has_both(m) ? k % 2 : m->share > 0.0;

		result_row(t, &(struct kind_row){ .op = writes ? "write" : "read",
		                                  .block_bytes = m->sizes.bytes[has_both(m) ? k / 2 : k],
		                                  .requests = h->count,
		                                  .mean_ns = h->count ? hist_mean(h) : (double)NAN,
		                                  .p50_ns = hist_known_quantile(h, 0.5),
		                                  .p99_ns = hist_known_quantile(h, 0.99),
		                                  .p999_ns = hist_known_quantile(h, 0.999),
		                                  .max_ns = h->count ? h->max : UINT64_MAX });
	}
}
