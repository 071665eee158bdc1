/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sector and pieces behind it, one request each, with the time of each end: as programs read on. */
#include <math.h>

#include "measure/geometry/geometry.h"

struct piece_sink {
	struct sink sink; /* first */
	uint64_t *done_ns;
	double *access_ns;
	size_t n, at;
};

static void take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct piece_sink *p = (struct piece_sink *)s;

	if (p->at >= p->n)
		return;
	p->done_ns[p->at] = req->done_ns;
	p->access_ns[p->at++] = load_took_ns(req, is_fault);
}

int geo_read_pieces(struct geo *g, uint64_t first, const uint64_t *end, size_t n, uint64_t *ret_done_ns,
                    bool *ret_is_read, struct err *err)
{
	struct list_item items[GEO_PIECES_MOST + 1];
	double access[GEO_PIECES_MOST + 1];
	struct piece_sink sink = { { take }, ret_done_ns, access, n + 1, 0 };
	struct load load = { .targets = g->t.target, .ntargets = 1, .sink = &sink.sink, .depth = 1 };
	struct load_stats stats;
	struct list_feeder list;
	int r;

	for (size_t i = 0; i <= n; i++) {
		uint64_t from = i == 0 ? first : i == 1 ? first + 1 : end[i - 2], to = i == 0 ? first + 1 : end[i - 1];

		items[i] = (struct list_item){ .offset_bytes = from * g->t.block_bytes,
			                       .len_bytes = (uint32_t)((to - from) * g->t.block_bytes),
			                       .op = g->t.op };
		access[i] = NAN;
	}
	list_feeder_init(&list, items, n + 1);
	load.feeder = &list.f;
	r = session_load(g->ses, &load, g->t.eng, &stats, err);
	g->cost.reads += n + 1;
	*ret_is_read = r == 0 && sink.at == n + 1 && !(access[0] < g->rot.hit_most_ns);
	for (size_t i = 0; i <= n; i++)
		*ret_is_read = *ret_is_read && isfinite(access[i]);
	return r;
}
