/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that can be done to read or write a file record by record: what `platter cache` and `platter passes` are
 * held against.
 *
 *   bareloop read|random|write RECORD FILE [SECONDS [FIRST]]   one system call a record, nothing else
 *   bareloop seek RECORD FILE [SECONDS [FIRST]]                random, by lseek(2) and read(2), as iozone does it
 *   bareloop verify 65536 FILE [SECONDS]               reads blocks and compares each with what was read first
 *
 *   bareloop cold RECORD FILE [PASSES]                         whole passes, each begun with nothing of the file in
 * memory
 *
 * Goes round the file (behind its first 2 MiB, or FIRST bytes) until the time is over; looks at the clock once in 64
 * KiB. Told are, in bytes per second, the best slice of 3 ms, which on a machine that others use, too, is the one in
 * which nobody came in between; and the median of the slices (of passes).
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER (2 << 20)
#define STEP   65536u
#define SLICE  3e-3
#define SLICES 4096

static double now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t next_random(uint64_t *state) /* xorshift64* (Marsaglia 2003, Vigna 2016) */
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ull;
}

static inline ssize_t transfer(int fd, void *buf, size_t len, off_t place, bool writes, bool seeks)
{
	if (seeks)
		return lseek(fd, place, SEEK_SET) == place ? read(fd, buf, len) : -1;
	return writes ? pwrite(fd, buf, len, place) : pread(fd, buf, len, place);
}

static int tell(double *rates, size_t n)
{
	if (n == 0)
		return 3; /* less time than a slice */
	qsort(rates, n, sizeof(rates[0]), by_value);
	printf("%.0f %.0f\n", rates[n - 1], rates[n / 2]);
	return 0;
}

static int cold(int fd, uint8_t *buf, size_t record, uint64_t size, size_t passes)
{
	static double rates[SLICES];

	for (size_t i = 0; i < passes && i < SLICES; i++) {
		double start;

		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* the caller looks whether it is cold */
		start = now_s();
		for (uint64_t at = 0; at + record <= size; at += record)
			if (pread(fd, buf, record, (off_t)at) != (ssize_t)record)
				return 1;
		rates[i] = (double)(size / record * record) / (now_s() - start);
	}
	return tell(rates, passes < SLICES ? passes : SLICES);
}

int main(int argc, char **argv)
{
	uint64_t record = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, n, at = 0, done = 0, state = 88172645463325252ull;
	uint64_t first = argc > 5 ? strtoull(argv[5], NULL, 10) : HEADER;
	double limit = argc > 4 ? strtod(argv[4], NULL) : 0.1, start, slice, now;
	static double rates[SLICES];
	size_t nrates = 0;
	const char *how = argc > 1 ? argv[1] : "";
	bool writes = strcmp(how, "write") == 0, seeks = strcmp(how, "seek") == 0,
	     verifies = strcmp(how, "verify") == 0, at_random = seeks || strcmp(how, "random") == 0;
	uint8_t *buf = record ? aligned_alloc(4096, (record + 4095) & ~4095ull)
	                      : NULL; /* small: a large one would get huge pages */
	uint8_t *all = NULL;
	struct stat st;
	int fd = argc > 3 ? open(argv[3], writes ? O_RDWR : O_RDONLY) : -1;

	if (fd < 0 || record == 0 || record > 16 << 20 || !buf || fstat(fd, &st) < 0)
		return 2;
	memset(buf, 0x5a, record);
	if (strcmp(how, "cold") == 0)
		return cold(fd, buf, record, (uint64_t)st.st_size, (size_t)limit);
	n = ((uint64_t)st.st_size - first) / record;
	if (verifies &&
	    (!(all = malloc(n * record)) || pread(fd, all, n * record, (off_t)first) != (ssize_t)(n * record)))
		return 1;
	start = slice = now_s();
	do {
		for (uint64_t k = 0; k < (record < STEP ? STEP / record : 1); k++, done++) {
			off_t place = (off_t)(first + at * record);

			if (transfer(fd, buf, record, place, writes, seeks) != (ssize_t)record)
				return 1;
			if (verifies && memcmp(buf, all + at * record, record) != 0)
				return 1;
			at = at_random    ? (uint64_t)(((unsigned __int128)next_random(&state) * n) >> 64)
			     : at + 1 < n ? at + 1
			                  : 0;
		}
		now = now_s();
		if (now - slice >= SLICE) {
			rates[nrates++] = (double)(done * record) / (now - slice);
			slice = now;
			done = 0;
		}
	} while (now - start < limit && nrates < SLICES);
	return tell(rates, nrates);
}
