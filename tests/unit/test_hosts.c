/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several hosts: what they say to each other, over queues in memory, each host a thread with a clock of its own; clocks
 * from round trips; the documents of all as one. The times of these tests have no bounds that a busy machine could
 * break. MPI itself: block/mpi.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "hosts/hosts.h"
#include "measure/measures.h"
#include "stats/stats.h"

#define HOSTS_MAX 8

/* ---- messages in memory ---- */

struct message {
	struct message *next;
	unsigned from, to;
	int tag;
	size_t n;
	char *data;
};

struct wire {
	struct transport t; /* first */
	struct net {
		pthread_mutex_t lock;
		struct message *first, **end;
		bool is_dead[HOSTS_MAX];
	} * net;
};

static int wire_send(struct transport *t, unsigned to, int tag, const void *data, size_t n)
{
	struct net *net = ((struct wire *)t)->net;
	struct message *m = calloc(1, sizeof(*m));

	*m = (struct message){ .from = t->rank, .to = to, .tag = tag, .n = n, .data = calloc(1, n + 1) };
	if (n)
		memcpy(m->data, data, n);
	pthread_mutex_lock(&net->lock);
	if (net->is_dead[t->rank] || net->is_dead[to]) {
		free(m->data);
		free(m);
	} else {
		*net->end = m;
		net->end = &m->next;
	}
	pthread_mutex_unlock(&net->lock);
	return 0;
}

static int wire_receive(struct transport *t, unsigned from, int tag, void **ret_data, size_t *ret_n)
{
	struct net *net = ((struct wire *)t)->net;
	int r = -EAGAIN;

	pthread_mutex_lock(&net->lock);
	for (struct message **at = &net->first; *at && r; at = &(*at)->next) {
		struct message *m = *at;

		if (m->from != from || m->to != t->rank || m->tag != tag)
			continue;
		*at = m->next;
		if (net->end == &m->next)
			net->end = at;
		*ret_data = m->data;
		*ret_n = m->n;
		free(m);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&net->lock);
	return r;
}

static void wire_close(struct transport *t, bool is_whole)
{
	(void)is_whole;
	free(t);
}

/* ---- hosts as threads ---- */

struct shifted { /* a clock that was started at another time */
	struct clock clk;
	uint64_t shift_ns;
};

static uint64_t shifted_now_ns(struct clock *clk)
{
	return clock_now_ns(clock_monotonic()) + ((struct shifted *)clk)->shift_ns;
}

static void shifted_sleep(struct clock *clk, uint64_t until_ns)
{
	clock_monotonic()->sleep_until_ns(clock_monotonic(), until_ns - ((struct shifted *)clk)->shift_ns);
}

struct actor {
	struct net *net;
	unsigned rank, size;
	struct shifted clk;
	/* What it does: */
	uint64_t wait_ns;
	const char *words, *complaint;
	bool refuses, dies_after_start, fails_before_start;
	/* What became of it: */
	int met, agreed, gathered;
	bool refused;
	struct err err;
	uint64_t began_real_ns;
	struct hosts_part *parts;
};

static void *act(void *arg)
{
	struct actor *a = arg;
	struct hosts_config cfg = { .clk = &a->clk.clk, .wait_ns = a->wait_ns };
	struct wire *w = calloc(1, sizeof(*w));
	struct hosts *h = NULL;
	struct result *doc;
	uint64_t began_ns = 0;

	*w = (struct wire){ { a->rank, a->size, wire_send, wire_receive, wire_close }, a->net };
	cfg.transport = &w->t;
	(void)snprintf(cfg.name, sizeof(cfg.name), "host%u", a->rank);
	assert_int_equal(hosts_new(&h, &cfg, NULL), 0);
	if (a->complaint)
		(void)err_set(&a->err, -EINVAL, "%s", a->complaint);
	a->met = hosts_meet(h, a->words, a->complaint ? -EINVAL : 0, &a->err);
	a->agreed = -1;
	if (a->met == 0) {
		a->refused = a->refuses;
		if (a->refuses)
			(void)err_set(&a->err, -EPERM, "No.");
		a->agreed = hosts_agree(h, a->refuses ? -EPERM : 0, &a->refused, &a->err);
	}
	if (a->agreed == 0) {
		doc = result_new("stream");
		doc->status = STATUS_COMPLETE;
		result_figure_u64(doc, "rank", NULL, UNIT_NONE, a->rank);
		if (!a->fails_before_start) {
			hosts_start(h);
			began_ns = clock_now_ns(&a->clk.clk);
			a->began_real_ns = began_ns - a->clk.shift_ns;
		}
		if (a->dies_after_start) {
			pthread_mutex_lock(&a->net->lock);
			a->net->is_dead[a->rank] = true;
			pthread_mutex_unlock(&a->net->lock);
		}
		a->gathered = hosts_gather(h, doc, began_ns, &a->parts, &a->err);
		result_free(doc);
	}
	hosts_free(h);
	return NULL;
}

static void play(struct actor *actors, unsigned n)
{
	struct net net = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[HOSTS_MAX];

	net.end = &net.first;
	for (unsigned i = 0; i < n; i++) {
		struct actor *a = &actors[i];

		a->net = &net;
		a->rank = i;
		a->size = n;
		a->clk = (struct shifted){ { "shifted", shifted_now_ns, shifted_sleep, 1000 }, i * 12345678901ull };
		a->words = a->words ? a->words : "the same";
		a->wait_ns = a->wait_ns ? a->wait_ns : 60 * NS_PER_S;
		assert_int_equal(pthread_create(&threads[i], NULL, act, a), 0);
	}
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	while (net.first) {
		struct message *m = net.first;

		net.first = m->next;
		free(m->data);
		free(m);
	}
}

static void all_begin_at_one_instant_by_clocks_that_differ(void **state)
{
	struct actor actors[4] = { 0 };
	double first = INFINITY;

	(void)state;
	play(actors, 4);
	for (unsigned i = 0; i < 4; i++)
		first = fmin(first, (double)actors[i].began_real_ns);
	for (unsigned i = 0; i < 4; i++) {
		const struct hosts_part *p = &actors[0].parts[i];

		assert_int_equal(actors[i].gathered, 0);
		assert_true(p->has_start);
		assert_int_equal((int)figure_number(result_find_figure(p->doc, "rank")), (int)i);
		/* What is told of the start is right within the error that is told with it, and 1 us of rounding
		 * doubles and rates. */
		assert_true(fabs(p->start_ns - (double)actors[i].began_real_ns) <= p->clock_error_ns + 1000);
		assert_true(i == 0 || isfinite(p->clock_drift_ppm));
	}
	hosts_parts_free(actors[0].parts, 4);
}

static void one_refusal_stops_all_and_has_a_name(void **state)
{
	struct actor actors[4] = { [2] = { .refuses = true } };

	(void)state;
	play(actors, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(actors[i].agreed, -EPERM);
		assert_true(actors[i].refused);
		assert_string_equal(actors[i].err.text, "Host host2 (rank 2): No.");
		assert_int_equal(actors[i].began_real_ns, 0);
	}
}

static void other_words_and_complaints_stop_all(void **state)
{
	struct actor words[3] = { [1] = { .words = "not the same" } },
		     complaint[3] = { { .complaint = "No such file." } };

	(void)state;
	play(words, 3);
	play(complaint, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(words[i].met, -EINVAL);
		assert_non_null(strstr(words[i].err.text, "host1"));
		assert_int_equal(complaint[i].met, -EINVAL);
		assert_string_equal(complaint[i].err.text, "Host host0 (rank 0): No such file.");
	}
}

static void who_fails_before_the_start_holds_nobody(void **state)
{
	for (unsigned who = 0; who < 2; who++) {
		struct actor actors[3] = { 0 };

		(void)state;
		actors[who].fails_before_start = true;
		play(actors, 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(actors[i].gathered, 0);
			assert_non_null(actors[0].parts[i].doc);
			assert_int_equal(actors[0].parts[i].has_start, i != who);
		}
		hosts_parts_free(actors[0].parts, 3);
	}
}

/* Of those that live nothing is claimed: where they get no processor for so long, they are lost as well. */
static void a_dead_host_costs_its_own_part(void **state)
{
	struct actor actors[3] = { { .wait_ns = 2 * NS_PER_S },
		                   { .wait_ns = 2 * NS_PER_S, .dies_after_start = true },
		                   { .wait_ns = 2 * NS_PER_S } };
	struct actor headless[3] = { { .wait_ns = 2 * NS_PER_S, .dies_after_start = true },
		                     { .wait_ns = 2 * NS_PER_S },
		                     { .wait_ns = 2 * NS_PER_S } };

	(void)state;
	play(actors, 3);
	if (actors[0].agreed == 0) {
		assert_non_null(actors[0].parts[0].doc);
		assert_null(actors[0].parts[1].doc);
		assert_string_equal(actors[0].parts[1].name, "host1");
	}
	hosts_parts_free(actors[0].parts, 3);
	play(headless, 3);
	for (unsigned i = 1; i < 3; i++)
		if (headless[i].agreed == 0) {
			assert_int_equal(headless[i].gathered, -ESHUTDOWN);
			assert_non_null(strstr(headless[i].err.text, "host0"));
		}
	hosts_parts_free(headless[0].parts, 3);
}

/* ---- clocks ---- */

/* Ways there and back of any lengths, often very unequal; the clocks drift, and are compared before and after. */
static void an_offset_is_never_off_by_more_than_is_told(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		double drift, shift, tightest = INFINITY, error, at;
		struct clock_offset of[2];
		struct rng rng;

		rng_init(&rng, seed, 24);
		drift = (rng_double(&rng) - 0.5) * 1e-4;
		shift = (rng_double(&rng) - 0.5) * 1e15;
		for (size_t k = 0; k < 2; k++) {
			struct clock_sample s[50];
			double now = 1e12 + (double)k * 600e9;

			for (size_t i = 0; i < 50; i++) {
				double there = 2000 + rng_exp(&rng, 20000), back = 2000 + rng_exp(&rng, 5000),
				       mid = now + there;

				s[i] = (struct clock_sample){ (uint64_t)now,
					                      (uint64_t)(mid + 1e15 + shift + drift * (mid - 1e12)),
					                      (uint64_t)(mid + back) };
				tightest = fmin(tightest, (there + back) / 2);
				now = mid + back;
			}
			assert_true(clock_offset_of(s, 50, &of[k]));
			/* As it was at the end; 5 ns a ms of drift meanwhile, and rounding. */
			assert_true(fabs(of[k].offset_ns - (shift + 1e15 + drift * (now - 1e12))) <=
			            of[k].error_ns + 200);
		}
		assert_true(of[0].error_ns <= tightest * 3 + 200);
		at = 1e12 + rng_double(&rng) * 600e9; /* when something happened, by our clock */
		assert_true(
			fabs(clock_ours(&of[0], &of[1], (uint64_t)(at + 1e15 + shift + drift * (at - 1e12)), &error) -
		             at) <= error + 300);
	}
}

/* ---- the slow one ---- */

/* Hosts of like disks: 3 % of tolerance, noise of a tenth in each second, now and then a stall. slow: how many times as
 * long host 0 takes. */
static void make_paces(struct host_pace *ret, size_t nhosts, size_t steps, bool is_paced, double slow, struct rng *rng)
{
	for (size_t h = 0; h < nhosts; h++) {
		double own = exp(0.03 * rng_normal(rng)) * (h == 0 ? slow : 1.0);

		for (size_t i = 0; i < steps; i++) {
			double latency = 5e6 * own * exp(0.1 * rng_normal(rng)) * (rng_double(rng) < 0.02 ? 5.0 : 1.0);

			/* Paced: all get the same; else a queue of 4 is kept full. */
			ret[h * steps + i] =
				(struct host_pace){ h, is_paced ? 100e6 : 4 * 1048576 / (latency * 1e-9), latency };
		}
	}
}

static void a_slow_host_is_named_and_no_other(void **state)
{
	size_t runs = getenv("PLATTER_LONG") ? 2000 : 200;

	(void)state;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		struct host_pace paces[HOSTS_MAX * 60];
		struct straggler s[HOSTS_MAX];
		struct rng rng;

		rng_init(&rng, seed, 7);
		for (size_t nhosts = 2; nhosts <= HOSTS_MAX; nhosts += 3) {
			for (int is_paced = 0; is_paced < 2; is_paced++) {
				make_paces(paces, nhosts, 60, is_paced, 1.0, &rng);
				assert_true(straggler_find(paces, nhosts * 60, nhosts, s));
				for (size_t h = 0; h < nhosts; h++)
					assert_false(s[h].p < STRAGGLER_P);
				make_paces(paces, nhosts, 60, is_paced, 1.8, &rng);
				assert_true(straggler_find(paces, nhosts * 60, nhosts, s));
				for (size_t h = 0; h < nhosts; h++)
					assert_int_equal(s[h].p < STRAGGLER_P, h == 0);
				assert_true(s[0].ratio > 1.5 && s[0].ratio < 2.2);
			}
		}
	}
}

/* More asked of one host makes it slower as it would make any: it is the same disk further up its curve, and the
 * others' go as far. */
static void who_has_more_to_do_is_not_slow_for_that(void **state)
{
	struct host_pace paces[4 * 60];
	struct straggler s[4];
	struct rng rng;

	(void)state;
	rng_init(&rng, 1, 8);
	for (size_t h = 0; h < 4; h++)
		for (size_t i = 0; i < 60; i++) { /* a day's load: each host at another hour */
			double load = 0.5 + 0.4 * sin((double)i / 10 + (double)h);

			paces[h * 60 + i] =
				(struct host_pace){ h, 100e6 * load, 5e6 / (1 - load) * exp(0.05 * rng_normal(&rng)) };
		}
	assert_true(straggler_find(paces, 4 * 60, 4, s));
	for (size_t h = 0; h < 4; h++)
		assert_false(s[h].p < STRAGGLER_P);
}

static void one_host_or_none_is_not_judged(void **state)
{
	struct host_pace one[] = { { 0, 1e6, 1e6 }, { 0, 1e6, 2e6 }, { 0, NAN, 1e6 }, { 0, 0, 0 } };
	struct straggler s[2];

	(void)state;
	assert_true(straggler_find(one, 4, 1, s));
	assert_true(isnan(s[0].p));
	assert_true(straggler_find(one, 4, 2, s)); /* of the second nothing is known */
	assert_true(isnan(s[0].p) && isnan(s[1].p));
	assert_true(straggler_find(NULL, 0, 0, s));
}

/* ---- documents of many as one ---- */

struct step {
	double time_s, rate_bytes_per_s;
	uint64_t occupancy_bytes, blocks;
	double service_mean_ns;
};
static const struct field step_fields[] = {
	FIELD_F64(struct step, time_s, UNIT_S, "time"),
	FIELD_F64(struct step, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct step, occupancy_bytes, UNIT_BYTES, "ring"),
	FIELD_U64(struct step, blocks, UNIT_COUNT, "blocks"),
	FIELD_F64(struct step, service_mean_ns, UNIT_NS, "service"),
	FIELD_END,
};
struct span {
	double start_s, length_s;
	uint64_t dropped_bytes;
};
static const struct field span_fields[] = {
	FIELD_F64(struct span, start_s, UNIT_S, "at"),
	FIELD_F64(struct span, length_s, UNIT_S, "for"),
	FIELD_U64(struct span, dropped_bytes, UNIT_BYTES, "dropped"),
	FIELD_END,
};
struct moved {
	const char *target;
	uint64_t bytes;
};
static const struct field moved_fields[] = {
	FIELD_STR(struct moved, target, "target"),
	FIELD_U64(struct moved, bytes, UNIT_BYTES, "moved"),
	FIELD_END,
};
struct piece {
	const char *of;
	uint64_t value_ns, count;
};
static const struct field piece_fields[] = {
	FIELD_STR(struct piece, of, "of"),
	FIELD_U64(struct piece, value_ns, UNIT_NS, "time"),
	FIELD_U64(struct piece, count, UNIT_COUNT, "count"),
	FIELD_END,
};

/* Seconds 0 to n of a host that moves `rate` in each, with one overflow. */
static struct result *document(size_t seconds, double rate, double service_ns, double gap_s, const struct hist *h)
{
	struct result *doc = result_new("stream"), *loaded = NULL;
	struct span gap = { gap_s, 0.1, 1000 };
	struct moved moved = { "sda", (1ull << 62) + 1 }; /* no double holds it */
	struct piece piece = { .of = "response" };
	cleanup_free char *text = NULL;

	doc->status = STATUS_COMPLETE;
	result_figure_u64(doc, "requested_bytes_per_s", NULL, UNIT_BYTES_PER_S, 1000000);
	result_figure(doc, "sustained", NULL, UNIT_COUNT, gap_s < 0 ? 1.0 : 0.0, NULL, 0);
	result_figure_u64(doc, "overflows", NULL, UNIT_COUNT, gap_s >= 0);
	result_figure_u64(doc, "dropped_bytes", NULL, UNIT_BYTES, gap_s >= 0 ? 1000 : 0);
	result_figure(doc, "first_overflow_s", NULL, UNIT_S, gap_s >= 0 ? gap_s : (double)NAN, NULL, 0);
	result_figure(doc, "peak_ratio", NULL, UNIT_RATIO, 0.25, NULL, 0);
	for (size_t i = 1; i <= seconds; i++)
		result_row(result_table(doc, "timeline", "Over time", step_fields),
		           &(struct step){ (double)i, rate, 0, 1, service_ns });
	result_row(result_table(doc, "targets", "Targets", moved_fields), &moved);
	if (gap_s >= 0)
		result_row(result_table(doc, "overflows", "Overflows", span_fields), &gap);
	for (size_t at = 0; hist_next(h, &at, &piece.value_ns, &piece.count);)
		result_row(result_table(doc, "histogram", "Histogram", piece_fields), &piece);
	text = result_to_json(doc);
	assert_int_equal(result_from_json(&loaded, text, strlen(text), NULL), 0);
	result_free(doc);
	return loaded;
}

static void many_documents_become_one(void **state)
{
	struct hosts_part parts[4] = { { .rank = 0, .name = "a", .has_start = true, .start_ns = 5e9 },
		                       { .rank = 1, .name = "b", .has_start = true, .start_ns = 5.5e9 },
		                       { .rank = 2, .name = "c", .has_start = true, .start_ns = 5e9 },
		                       { .rank = 3, .name = "d" } };
	struct hist *all = hist_new(), *own = hist_new();
	const struct table *t;
	struct result *res;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		hist_clear(own);
		for (uint64_t k = 0; k < 1000; k++) {
			hist_add(own, (k * k * 7919 + i * 100003) % 50000000);
			hist_add(all, (k * k * 7919 + i * 100003) % 50000000);
		}
		/* a and b at 3 s of the common axis, c alone at 7 s; of a the timeline ends first */
		parts[i].doc = document(i == 0 ? 8 : 20, 1e6 * (double)(i + 1), 1e6,
		                        i == 0   ? 3.0
		                        : i == 1 ? 2.55
		                                 : 7.0,
		                        own);
	}
	res = hosts_merge(parts, 4, measure_find("stream")->together);
	assert_int_equal(res->status, STATUS_FAILED); /* d was lost */
	assert_true(result_has_notice(res, "host-lost"));
	assert_true(figure_number(result_find_figure(res, "window_s")) == 7.5); /* from 0.5 to 8 s */
	assert_true(fabs(figure_number(result_find_figure(res, "rate_bytes_per_s")) - 6e6) < 1);
	assert_true(result_find_figure(res, "moved_bytes")->value.u64 == 3 * ((1ull << 62) + 1));
	assert_true(figure_number(result_find_figure(res, "requested_bytes_per_s")) == 3e6);
	assert_true(figure_number(result_find_figure(res, "sustained")) == 0);
	assert_true(figure_number(result_find_figure(res, "hosts_sustained")) == 0);
	assert_true(figure_number(result_find_figure(res, "dropped_bytes")) == 3000);
	assert_true(figure_number(result_find_figure(res, "first_overflow_s")) == 3.0);
	assert_true(figure_number(result_find_figure(res, "gaps_shared")) == 2);
	assert_true(figure_number(result_find_figure(res, "gaps_own")) == 1);
	assert_true((uint64_t)figure_number(result_find_figure(res, "response_p99_ns")) == hist_quantile(all, 0.99));
	assert_true((uint64_t)figure_number(result_find_figure(res, "response_max_ns")) == all->max);
	t = result_find_table(res, "timeline");
	assert_int_equal(t->nrows, 48);
	assert_string_equal(table_string(t, 8, 0), "b");
	assert_true(table_number(t, 8, 1) == 1.5); /* the first second of b ends there */
	assert_int_equal(result_find_table(res, "hosts")->nrows, 4);
	assert_int_equal(result_find_table(res, "shares")->nrows, 3);
	result_free(res);
	free(all);
	free(own);
	for (size_t i = 0; i < 3; i++)
		result_free(parts[i].doc);
}

/* What is lost is not taken for held, and what held is not taken for lost. */
static void a_verdict_of_all_wants_all(void **state)
{
	struct hosts_part parts[2] = { { .rank = 0, .name = "a", .has_start = true, .start_ns = 5e9 },
		                       { .rank = 1, .name = "b", .has_start = true, .start_ns = 5e9 } };
	struct hist *h = hist_new();
	struct result *res;

	(void)state;
	hist_add(h, 1000);
	parts[0].doc = document(5, 1e6, 1e6, -1, h);
	parts[1].doc = document(5, 1e6, 1e6, -1, h);
	res = hosts_merge(parts, 2, measure_find("stream")->together);
	assert_true(figure_number(result_find_figure(res, "sustained")) == 1);
	assert_false(res->verdict_is_no);
	assert_int_equal(res->status, STATUS_COMPLETE);
	result_free(res);
	result_free(parts[1].doc);
	parts[1] = (struct hosts_part){ .rank = 1, .name = "b" };
	res = hosts_merge(parts, 2, measure_find("stream")->together);
	assert_true(isnan(figure_number(result_find_figure(res, "sustained"))));
	assert_int_equal(res->status, STATUS_FAILED);
	result_free(res);
	result_free(parts[0].doc);
	parts[0] = (struct hosts_part){ .rank = 0, .name = "a" };
	res = hosts_merge(parts, 2, measure_find("stream")->together); /* nobody is left */
	assert_int_equal(res->status, STATUS_FAILED);
	assert_null(result_find_figure(res, "sustained"));
	result_free(res);
	free(h);
}

/* A figure that a host does not have, or has as another type, is no other host's. */
static void each_for_itself_is_a_row_each(void **state)
{
	struct hosts_part parts[3] = { { .rank = 0, .name = "a" },
		                       { .rank = 1, .name = "b" },
		                       { .rank = 2, .name = "c" } };
	const struct table *t;
	struct result *res;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		parts[i].doc = result_new("zones");
		parts[i].doc->status = STATUS_COMPLETE;
		result_row(result_table(parts[i].doc, "targets", "Targets", moved_fields), &(struct moved){ "sda", i });
		result_plot(parts[i].doc, &(struct plot_decl){ .kind = "line",
		                                               .title = "x",
		                                               .table = "targets",
		                                               .x = "bytes",
		                                               .y = "bytes",
		                                               .marks = "figures:one" });
	}
	result_figure(parts[0].doc, "one", "One", UNIT_S, 1.5, NULL, 0);
	result_figure_text(parts[0].doc, "word", "Word", "yes");
	result_figure_u64(parts[0].doc, "only", "Only", UNIT_COUNT, 7);
	result_figure_text(parts[1].doc, "one", "One", "a text");
	result_figure_text(parts[1].doc, "word", "Word", "no");
	res = hosts_merge(parts, 3, hosts_apart);
	t = result_find_table(res, "shares");
	assert_int_equal(t->nrows, 2);
	assert_true(table_number(t, 0, 1) == 1.5 && isnan(table_number(t, 1, 1)));
	assert_string_equal(table_string(t, 1, 2), "no");
	assert_true(table_number(t, 0, 3) == 7 && isnan(table_number(t, 1, 3)));
	t = result_find_table(res, "targets");
	assert_int_equal(t->nrows, 2);
	assert_string_equal(table_string(t, 1, 0), "b");
	assert_int_equal(res->nplots, 1);
	assert_string_equal(res->plots[0].series, "host");
	assert_null(res->plots[0].marks);
	assert_int_equal(res->status, STATUS_FAILED); /* c was lost */
	result_free(res);
	result_free(parts[0].doc);
	result_free(parts[1].doc);
}

static void a_histogram_in_pieces_is_the_same_again(void **state)
{
	struct hist *h = hist_new(), *again = hist_new();
	struct rng rng;

	(void)state;
	rng_init(&rng, 3, 3);
	for (size_t n = 0; n < 3; n++) { /* none, one, many */
		uint64_t value, count;

		for (size_t i = 0; n == 2 && i < 5000; i++)
			hist_add(h, (uint64_t)rng_exp(&rng, 1e6));
		if (n == 1)
			hist_add(h, 12345678901);
		hist_clear(again);
		for (size_t at = 0; hist_next(h, &at, &value, &count);)
			hist_add_n(again, value, count);
		assert_true(again->count == h->count && again->min == h->min && again->max == h->max);
		assert_memory_equal(again->bucket, h->bucket, sizeof(h->bucket));
	}
	free(h);
	free(again);
}

/* ---- a peer that says anything ---- */

static uint8_t babble_byte; /* of all that it says */

static int babble_send(struct transport *t, unsigned to, int tag, const void *data, size_t n)
{
	(void)t;
	(void)to;
	(void)tag;
	(void)data;
	(void)n;
	return 0;
}

/* Without an end: no byte of it is 0, nor is the one behind it. */
static int babble_receive(struct transport *t, unsigned from, int tag, void **ret_data, size_t *ret_n)
{
	char *data = malloc(8192);

	(void)t;
	(void)from;
	if (tag == 11) { /* a beat: there is always one more */
		free(data);
		return -EAGAIN;
	}
	assert_non_null(data);
	memset(data, babble_byte, 4096);
	memset(data + 4096, 'B', 4096);
	*ret_data = data;
	*ret_n = 4096;
	return 0;
}

static void babble_close(struct transport *t, bool is_whole)
{
	(void)is_whole;
	free(t);
}

static void what_a_peer_says_ends_where_it_has_to(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0x01, 'A', 0x80 };

	(void)state;
	for (unsigned rank = 0; rank < 2; rank++)
		for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
			struct transport *t = calloc(1, sizeof(*t));
			struct hosts_config cfg = {
				.transport = t, .clk = clock_monotonic(), .wait_ns = NS_PER_S, .name = "me"
			};
			struct hosts *h = NULL;
			struct err err = { 0 };
			int r;

			babble_byte = bytes[i];
			*t = (struct transport){ rank, 2, babble_send, babble_receive, babble_close };
			assert_int_equal(hosts_new(&h, &cfg, &err), 0);
			r = hosts_meet(h, "words", 0, &err);
			assert_true(r < 0); /* above 0 is no answer, either */
			assert_true(strlen(err.text) < sizeof(err.text));
			hosts_free(h);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_begin_at_one_instant_by_clocks_that_differ),
		cmocka_unit_test(one_refusal_stops_all_and_has_a_name),
		cmocka_unit_test(other_words_and_complaints_stop_all),
		cmocka_unit_test(who_fails_before_the_start_holds_nobody),
		cmocka_unit_test(a_dead_host_costs_its_own_part),
		cmocka_unit_test(an_offset_is_never_off_by_more_than_is_told),
		cmocka_unit_test(a_slow_host_is_named_and_no_other),
		cmocka_unit_test(who_has_more_to_do_is_not_slow_for_that),
		cmocka_unit_test(one_host_or_none_is_not_judged),
		cmocka_unit_test(many_documents_become_one),
		cmocka_unit_test(a_verdict_of_all_wants_all),
		cmocka_unit_test(each_for_itself_is_a_row_each),
		cmocka_unit_test(a_histogram_in_pieces_is_the_same_again),
		cmocka_unit_test(what_a_peer_says_ends_where_it_has_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
