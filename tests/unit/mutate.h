/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Something in a document becomes another thing. For tests that have included cmocka.h. */
#ifndef PLATTER_TESTS_MUTATE_H
#define PLATTER_TESTS_MUTATE_H

#include <jansson.h>
#include <stdint.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/rng.h"

static inline uint64_t strangers_cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline json_t *strangers_value(struct rng *rng)
{
	static const double numbers[] = { 0, 1, -1, 1e12, 1e18, 1e308, -1e308, 1e-308, 4294967296.0, 0.5 };
	static const char *const texts[] = { "",
		                             "a",
		                             "\n",
		                             "18446744073709551615",
		                             "9223372036854775808",
		                             "a,b:c,#d",
		                             "curve:offset_bytes:rate_bytes_per_s,figures:x",
		                             "2026-11-20T12:00:00Z" };
	static const json_int_t whole[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 4096, 1000000000000 };

	switch (rng_below(rng, 6)) {
	case 0:
		return json_null();
	case 1:
		return json_real(numbers[rng_below(rng, ARRAY_LEN(numbers))]);
	case 2:
		return json_integer(whole[rng_below(rng, ARRAY_LEN(whole))]);
	case 3:
		return json_string(texts[rng_below(rng, ARRAY_LEN(texts))]);
	case 4:
		return json_real(rng_normal(rng) * 1e9);
	default:
		return rng_below(rng, 2) ? json_array() : json_object();
	}
}

/* Something below value becomes another thing, is left out, or comes twice. */
static inline void strangers_change(struct rng *rng, json_t *value)
{
	size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value), at;
	const char *name = NULL;
	json_t *below;
	void *it;

	if (n == 0)
		return;
	at = (size_t)rng_below(rng, n);
	if (json_is_array(value)) {
		below = json_array_get(value, at);
	} else {
		it = json_object_iter(value);
		for (size_t i = 0; i < at; i++)
			it = json_object_iter_next(value, it);
		name = json_object_iter_key(it);
		below = json_object_iter_value(it);
	}
	if ((json_is_array(below) || json_is_object(below)) && rng_below(rng, 12) != 0) {
		strangers_change(rng, below);
		return;
	}
	/* of another type the document is refused mostly: numbers stay numbers two times of three, texts texts */
	for (int i = 0; i < 3; i++) {
		json_t *other = strangers_value(rng);
		bool is_like = json_is_number(below) ? json_is_number(other) : json_typeof(below) == json_typeof(other);

		if (!is_like && i < 2) {
			json_decref(other);
			continue;
		}
		if (json_is_array(value) && rng_below(rng, 8)) {
			(void)json_array_set_new(value, at, other);
		} else if (json_is_array(value)) {
			(void)json_array_insert_new(value, at, json_incref(below));
			json_decref(other);
		} else if (rng_below(rng, 8)) {
			(void)json_object_set_new(value, name, other);
		} else {
			(void)json_object_del(value, name);
			json_decref(other);
		}
		break;
	}
}

#endif
