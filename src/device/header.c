/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header by which platter knows its own files again: plain text, so that whoever finds a left-over file can read
 * what it is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "device/inside.h"

#define MAGIC    "platter-data-file 1\n"
#define CHECK_AT (DATAFILE_HEADER_BYTES - 24) /* "check 0123456789abcdef\n" and a newline */

int datafile_write_header(int fd, uint64_t data_bytes)
{
	char block[DATAFILE_HEADER_BYTES + 1], now[32];
	int n;

	memset(block, '\n', sizeof(block));
	n = snprintf(block, sizeof(block),
	             MAGIC "Made by platter " PLATTER_VERSION
	                   " to measure a file system. It holds nothing of value: delete it\n"
	                   "if no platter is running.\nmade %s\ndata-offset %d\ndata-bytes %" PRIu64,
	             clock_wall_text(now, sizeof(now)), DATAFILE_DATA_OFFSET, data_bytes);
	block[n] = '\n';
	(void)snprintf(block + CHECK_AT, 25, "check %016" PRIx64 "\n", str_hash(block, CHECK_AT));
	block[DATAFILE_HEADER_BYTES - 1] = '\n';
	errno = 0;
	if (pwrite(fd, block, DATAFILE_HEADER_BYTES, 0) != DATAFILE_HEADER_BYTES)
		return errno ? -errno : -EIO;
	return 0;
}

bool datafile_has_header(int fd)
{
	char block[DATAFILE_HEADER_BYTES], check[32];

	if (pread(fd, block, DATAFILE_HEADER_BYTES, 0) != DATAFILE_HEADER_BYTES ||
	    memcmp(block, MAGIC, strlen(MAGIC)) != 0)
		return false;
	(void)snprintf(check, sizeof(check), "check %016" PRIx64 "\n", str_hash(block, CHECK_AT));
	return memcmp(block + CHECK_AT, check, strlen(check)) == 0;
}

bool datafile_is_ours(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && datafile_has_header(fd);
}

uint64_t datafile_first_byte(const struct device *dev)
{
	return dev->kind == DEVICE_FILE && datafile_is_ours(dev->path) ? DATAFILE_DATA_OFFSET : 0;
}

static bool is_zero(int fd, uint64_t offset)
{
	char block[4096] = "";
	ssize_t n = pread(fd, block, sizeof(block), (off_t)offset);

	for (ssize_t i = 0; i < n; i++)
		if (block[i])
			return false;
	return n >= 0;
}

uint64_t datafile_end_byte(const struct device *dev)
{
	uint64_t low = datafile_first_byte(dev), high = dev->size_bytes, unit = 4096;
	cleanup_close int fd = low && low < high ? open(dev->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

	if (fd < 0 || !is_zero(fd, (high - 1) / unit * unit))
		return high;
	while (high - low > unit) { /* written before low, not from high on */
		uint64_t middle = low + (high - low) / 2 / unit * unit;

		*(is_zero(fd, middle) ? &high : &low) = middle;
	}
	return is_zero(fd, low) ? low : high;
}
