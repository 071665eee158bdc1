/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "load/load.h"

#define BLOCK 4096u

static const struct payload_id id = { .seed = 7,
	                              .sequence = 11,
	                              .offset_bytes = 40960,
	                              .target = 2,
	                              .len_bytes = BLOCK };

TEST(a_block_comes_back_as_it_was)
{
	static const uint32_t lengths[] = { 64, 65, 72, 127, 128, 129, 512, 4095, 4096 };
	uint8_t buf[BLOCK + 16];

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct payload_id want = id, found;

		want.len_bytes = lengths[i];
		memset(buf, 0xa5, sizeof(buf));
		payload_fill(buf, &want);
		for (size_t k = lengths[i]; k < sizeof(buf); k++)
			assert_int_equal(buf[k], 0xa5); /* nothing beyond the block */
		assert_int_equal(payload_look(buf, &want, &found), PAYLOAD_GOOD);
		assert_memory_equal(&found, &want, sizeof(want));
	}
}

TEST(every_single_flipped_bit_is_found_and_placed)
{
	static const uint32_t lengths[] = { 64, 600, 4096 };
	uint8_t buf[BLOCK];

	for (size_t i = 0; i < 3; i++) {
		struct payload_id want = id;

		want.len_bytes = lengths[i];
		payload_fill(buf, &want);
		for (uint32_t bit = 0; bit < want.len_bytes * 8; bit++) {
			struct err err = { 0 };
			char where[64];

			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(payload_check(buf, &want, &err), -EILSEQ);
			if (bit < 64 * 8)
				(void)snprintf(where, sizeof(where), "block at offset 40960 has a damaged header");
			else
				(void)snprintf(where, sizeof(where), "(1 bits), the first at byte %u, bit %u", bit / 8,
				               bit % 8);
			assert_non_null(strstr(err.text, where));
			buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_int_equal(payload_check(buf, &want, NULL), 0);
	}
}

TEST(swapped_words_anywhere_in_the_filling_are_found)
{
	uint8_t buf[BLOCK];

	payload_fill(buf, &id);
	for (size_t distance = 8; distance < BLOCK - 64; distance *= 2) {
		for (size_t at = 64; at + distance + 8 <= BLOCK; at += 8) {
			uint8_t tmp[8];

			memcpy(tmp, buf + at, 8);
			memcpy(buf + at, buf + at + distance, 8);
			memcpy(buf + at + distance, tmp, 8);
			assert_int_equal(payload_check(buf, &id, NULL), -EILSEQ);
			memcpy(buf + at + distance, buf + at, 8);
			memcpy(buf + at, tmp, 8);
		}
	}
	assert_int_equal(payload_check(buf, &id, NULL), 0);
}

static void check_says(const uint8_t *buf, const struct payload_id *expect, const char *text)
{
	struct err err = { 0 };

	assert_int_equal(payload_check(buf, expect, &err), -EILSEQ);
	assert_non_null(strstr(err.text, text));
}

TEST(wrong_blocks_are_distinguished)
{
	uint8_t buf[BLOCK];
	struct payload_id other = id;

	other.offset_bytes = 8192; /* the neighbour's block lies here: swapped or doubled */
	payload_fill(buf, &other);
	check_says(buf, &id, "swapped, or one was written twice. It says offset 8192 of");
	other = id;
	other.sequence = 4; /* what was there before */
	payload_fill(buf, &other);
	check_says(buf, &id, "the last write was lost. It says offset 40960 of target 2, number 4 for 11");
	other = id;
	other.seed = 99;
	payload_fill(buf, &other);
	check_says(buf, &id, "another run");
	other = id;
	other.target = 0;
	payload_fill(buf, &other);
	check_says(buf, &id, "of target 0, ");
	memset(buf, 0, sizeof(buf));
	check_says(buf, &id, "zeros");
	memset(buf, 0x5a, sizeof(buf));
	check_says(buf, &id, "not one of platter's");
	payload_fill(buf, &id);
	memset(buf + 2048, 0, 1024); /* two sectors of it were not written */
	check_says(buf, &id, "the first at byte 2048");
}

TEST(a_new_header_over_old_filling_is_a_good_block)
{
	uint8_t buf[BLOCK];
	struct payload_id next = id;

	payload_fill(buf, &id);
	next.sequence++;
	next.offset_bytes += BLOCK;
	payload_stamp(buf, &next);
	assert_int_equal(payload_check(buf, &next, NULL), 0);
	check_says(buf, &id, "It says offset 45056");
	buf[1000] ^= 4;
	check_says(buf, &next, "(1 bits), the first at byte 1000, bit 2");
}

TEST(filling_does_not_compress)
{
	/* Ones in every bit place, and equal words: both would show a generator that is stuck. */
	static uint64_t buf[1 << 16];
	struct payload_id want = id;

	want.len_bytes = sizeof(buf);
	payload_fill(buf, &want);
	for (int bit = 0; bit < 64; bit++) {
		int ones = 0;

		for (size_t i = 8; i < 1 << 16; i++)
			ones += (int)(buf[i] >> bit & 1);
		assert_in_range(ones, 32768 - 640, 32768 + 640); /* five deviations */
	}
	for (size_t i = 8; i + 8 < 1 << 16; i++)
		for (size_t k = 1; k <= 8; k++)
			assert_int_not_equal(buf[i], buf[i + k]);
}

TEST(hashes_differ_by_length_and_place)
{
	static const uint8_t zeros[300];
	uint64_t seen[300];

	for (size_t n = 0; n < 300; n++) {
		seen[n] = payload_hash(zeros, n);
		for (size_t k = 0; k < n; k++)
			assert_int_not_equal(seen[k], seen[n]);
	}
}
