/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes that are mixed: which a request is, and what each of them takes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/transactions/transactions.h"

static bool is_mixed(double share)
{
	return share > 0.0 && share < 1.0;
}

int tx_mix_start(struct tx_mix *m, double share)
{
	struct hist **all[] = { &m->service, &m->of[0], &m->of[1] };

	m->share = share;
	m->written = 0;
	for (size_t i = 0; i < (is_mixed(share) ? ARRAY_LEN(all) : 1); i++) {
		*all[i] = *all[i] ? *all[i] : hist_new();
		if (!*all[i])
			return -ENOMEM;
		hist_clear(*all[i]);
	}
	return 0;
}

void tx_mix_done(struct tx_mix *m)
{
	free(m->service);
	free(m->of[0]);
	free(m->of[1]);
}

/* Without a mix nothing is drawn, and buffers stay as they were filled; of a mix a read may have left anything there.
 */
void tx_mix_op(struct tx_mix *m, struct rng *rng, uint64_t seed, struct io_req *req)
{
	if (!is_mixed(m->share)) {
		req->op = m->share > 0.0 ? IO_WRITE : IO_READ;
		return;
	}
	req->op = rng_double(rng) < m->share ? IO_WRITE : IO_READ;
	if (req->op == IO_WRITE)
		payload_fill(req->buf, &(struct payload_id){ seed, ++m->written, 0, 0, req->len_bytes });
}

void tx_mix_take(struct tx_mix *m, const struct io_req *req)
{
	uint64_t took_ns = req->done_ns - req->submit_ns;

	if (req->is_late)
		return;
	hist_add(m->service, took_ns);
	if (is_mixed(m->share))
		hist_add(m->of[io_writes(req->op)], took_ns);
}

void tx_mix_tell(const struct tx_mix *m, struct result *res)
{
	static const struct {
		const char *name, *label;
		double q; /* 0: the mean */
	} parts[] = {
		{ "mean", "mean", 0.0 }, { "p50", "median", 0.5 }, { "p99", "99 %", 0.99 }, { "p999", "99.9 %", 0.999 }
	};
	static const char *const ops[] = { "read", "write" };

	for (size_t k = 0; is_mixed(m->share) && k < ARRAY_LEN(ops) * ARRAY_LEN(parts); k++) {
		size_t op = k / ARRAY_LEN(parts), i = k % ARRAY_LEN(parts);
		const struct hist *h = m->of[op];
		char name[40], label[60];
		double value = (double)NAN;

		(void)snprintf(name, sizeof(name), "io_%s_%s_ns", ops[op], parts[i].name);
		(void)snprintf(label, sizeof(label), "a %s, from issue to answer, %s", ops[op], parts[i].label);
		if (parts[i].q <= 0.0 && h->count)
			value = hist_mean(h);
		else if (parts[i].q > 0.0 && hist_can_quantile(h, parts[i].q))
			value = (double)hist_quantile(h, parts[i].q);
		result_figure(res, name, label, UNIT_NS, value, NULL, h->count);
	}
}
