/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of a full cache when the verdict stands. Is it the map that is full, or the room? The comb makes room
 * for as many writes as teeth go at once; where larger blocks come then, as many find room if it is entries that count,
 * and only as many bytes if it is those. And how soon does it recover: after a rest as many writes are fast again as it
 * has cleaned for.
 */
#include <math.h>

#include "measure/smr/smr.h"

#define ENTRIES_LEAST 0.6 /* of the writes that found room before: entries count */
#define BYTES_MOST    0.3 /* bytes do: an eighth of them, and one that a cleaning is late by */
#define GROWS                                                                                                         \
	0.3 /* the longer rest has to make more room, and about as much a second: not all drives clean when they rest \
	     */
#define CHANCE    128 /* writes: what was left of the last cleaning */
#define UNDER_WAY 2   /* first writes after a rest: a cleaning that had begun ends before */

static const uint64_t rests_ns[SMR_RESTS] = { 10 * NS_PER_S, 30 * NS_PER_S };

uint64_t smr_rest_ns(const struct smr_found *f)
{
	return f->rests < SMR_RESTS ? rests_ns[f->rests] : 0;
}

size_t smr_before(const struct smr_input *in)
{
	size_t i = 0;

	while (i < in->n && in->v[i].rest_ns == 0 && in->v[i].block_bytes != SMR_LARGE)
		i++;
	return i;
}

static bool has_to_wait(const struct smr_found *f, const struct smr_sample *s)
{
	return (double)(s->write_ns + s->flush_ns) > f->wait_ns;
}

/* Writes from one wait to the next, of those of large blocks. */
static void count_large(const struct smr_input *in, size_t from, struct smr_found *f)
{
	size_t first = 0, last = 0, n = 0;
	double share;
	bool is_known;

	for (size_t i = from; i < in->n && in->v[i].block_bytes == SMR_LARGE; i++, n++)
		if (has_to_wait(f, &in->v[i])) {
			f->large_gaps += last > 0;
			last = n + 1;
			first = first ? first : last;
		}
	f->large = n;
	share = f->large_gaps ? (double)(last - first) / (double)f->large_gaps / f->teeth : 0;
	is_known = f->large_gaps >= SMR_LARGE_GAPS;
	if (is_known ? share >= ENTRIES_LEAST : (double)n / (double)(f->large_gaps + 2) >= ENTRIES_LEAST * f->teeth)
		f->limit = SMR_ENTRIES;
	else if (is_known && share <= BYTES_MOST)
		f->limit = SMR_BYTES;
	if (f->limit == SMR_BYTES)
		f->bytes = (struct stats_estimate){ SMR_BLOCK * f->entries.value,
			                            { SMR_BLOCK * f->entries.ci.low, SMR_BLOCK * f->entries.ci.high } };
}

/* Of the whole cache as of what was seen; the interval is what the rests, and the time between them, differ by. */
static void recovery(struct smr_found *f, const double *rate, double more, size_t n)
{
	struct stats_estimate *r = &f->recovery;

	if (n < SMR_RESTS || !(rate[2] > GROWS * rate[1]) || more <= (f->teeth > 0 ? 2 * f->teeth : CHANCE))
		return;
	*r = (struct stats_estimate){ rate[1], { rate[1], rate[1] } };
	for (size_t i = 0; i < 3; i++) {
		r->ci.low = fmin(r->ci.low, rate[i]);
		r->ci.high = fmax(r->ci.high, rate[i]);
	}
	if (r->ci.low > 0)
		f->recovery_ns = (struct stats_estimate){ f->entries.value / r->value * 1e9,
			                                  { f->entries.ci.low / r->ci.high * 1e9,
			                                    f->entries.ci.high / r->ci.low * 1e9 } };
}

static void count_rests(const struct smr_input *in, size_t from, struct smr_found *f)
{
	double rate[3], room[SMR_RESTS];
	size_t n = 0;

	for (size_t i = from; i < in->n; i++) {
		uint64_t begin = in->v[i].first;
		size_t k = i + 1;

		if (in->v[i].rest_ns == 0)
			continue;
		f->rests++;
		while (k < in->n && in->v[k].rest_ns == 0 && (k < i + UNDER_WAY || !has_to_wait(f, &in->v[k])))
			k++;
		f->is_resting = k == in->n && in->v[k - 1].first - begin < SMR_REST_MOST;
		if (f->is_resting || n == SMR_RESTS) /* it is not known how many there would be */
			continue;
		room[n] = k < in->n ? (double)(in->v[k].first - begin) : (double)NAN;
		rate[n] = room[n] * 1e9 / (double)in->v[i].rest_ns;
		n++;
	}
	if (n == SMR_RESTS)
		rate[2] = fmax(0, room[1] - room[0]) * 1e9 / (double)(rests_ns[1] - rests_ns[0]);
	recovery(f, rate, n == SMR_RESTS ? room[1] - room[0] : 0, n);
}

void smr_after(const struct smr_input *in, size_t from, struct smr_found *f)
{
	if (f->teeth > 0 && !isnan(f->entries.value))
		count_large(in, from, f);
	count_rests(in, from, f);
}

enum smr_step smr_after_next(const struct smr_input *in, const struct smr_found *f)
{
	bool has_rested = f->rests > 0;

	if (!(f->wait_ns > 0))
		return SMR_STOP;
	if (!has_rested && f->teeth > 0 && !isnan(f->entries.value) && f->large_gaps < SMR_LARGE_GAPS &&
	    f->large < in->layout->large.n)
		return SMR_WIDE;
	if (has_rested && f->is_resting)
		return SMR_FEW;
	return f->rests < SMR_RESTS ? SMR_REST : SMR_STOP;
}
