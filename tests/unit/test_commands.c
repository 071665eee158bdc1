/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verify commands, and reads and writes with FUA, as they go to the kernel, before a disk that is made up here: which
 * bytes, and what its answers become. */
#include "test.h"

#include <linux/fs.h>
#include <scsi/sg.h>

#include "engine/commands.h"

#define VERIFY_FD 7

static struct fake {
	bool knows_scsi, knows_ata; /* else "illegal request" */
	bool has_no_commands;       /* a loop device */
	int attentions;             /* first answers that say that something happened before */
	uint64_t bad;               /* sector; UINT64_MAX: none */
	bool is_descriptor;         /* form of what went wrong */
	int host_status;
	bool is_read_only, is_part; /* set so by the kernel; of a disk */
	uint32_t left;              /* bytes that it did not move */
	int fd;                     /* 0: VERIFY_FD */
	/* What it saw. */
	int asked, moves;
	uint64_t first, count;
} fake;

static void sense(struct sg_io_hdr *h, uint8_t key)
{
	h->status = 2;
	h->sb_len_wr = 18;
	h->sbp[0] = fake.is_descriptor ? 0x72 : 0x70;
	h->sbp[fake.is_descriptor ? 1 : 2] = key;
}

static uint64_t number_at(const uint8_t *at, int bytes)
{
	uint64_t x = 0;

	while (bytes--)
		x = x << 8 | *at++;
	return x;
}

/* ATA's registers from the command of SAT. */
static void take_ata(const uint8_t *c)
{
	assert_int_equal(c[1], 3 << 1 | 1);
	assert_int_equal(c[2], 0);
	assert_int_equal(c[14], 0x42);
	assert_int_equal(c[13] & 0x40, 0x40);
	fake.count = number_at(c + 5, 2) ? number_at(c + 5, 2) : 65536;
	fake.first = (uint64_t)c[11] << 40 | (uint64_t)c[9] << 32 | (uint64_t)c[7] << 24 | (uint64_t)c[12] << 16 |
	             (uint64_t)c[10] << 8 | c[8];
}

/* READ and WRITE with FUA, and no other bits that change what they mean. */
static int move(struct sg_io_hdr *h)
{
	const uint8_t *c = h->cmdp;
	bool is_long = c[0] >= 0x88, is_write = c[0] == 0x2a || c[0] == 0x8a;

	assert_int_equal(h->cmd_len, is_long ? 16 : 10);
	assert_int_equal(c[1], 0x08);
	assert_int_equal(h->dxfer_direction, is_write ? SG_DXFER_TO_DEV : SG_DXFER_FROM_DEV);
	fake.first = number_at(c + 2, is_long ? 8 : 4);
	fake.count = is_long ? number_at(c + 10, 4) : number_at(c + 7, 2);
	assert_int_equal(h->dxfer_len, fake.count * 512);
	fake.moves++;
	if (!fake.knows_scsi)
		sense(h, 5);
	else if (fake.bad >= fake.first && fake.bad < fake.first + fake.count)
		sense(h, 3);
	h->resid = (int)fake.left;
	return 0;
}

static int answer(int fd, unsigned long request, void *arg)
{
	struct sg_io_hdr *h = arg;
	const uint8_t *c;
	bool is_known;

	assert_int_equal(fd, fake.fd ? fake.fd : VERIFY_FD);
	if (request == BLKROGET) {
		*(int *)arg = fake.is_read_only;
		return 0;
	}
	if (request == BLKSSZGET) {
		*(int *)arg = 512;
		return 0;
	}
	assert_int_equal(request, SG_IO);
	c = h->cmdp;
	fake.asked++;
	if (fake.has_no_commands) {
		errno = ENOTTY;
		return -1;
	}
	assert_int_equal(h->interface_id, 'S');
	if (c[0] == 0x28 || c[0] == 0x2a || c[0] == 0x88 || c[0] == 0x8a)
		return move(h);
	assert_int_equal(h->dxfer_direction, SG_DXFER_NONE);
	assert_int_equal(h->dxfer_len, 0);
	assert_int_equal(h->cmd_len, c[0] == 0x2f ? 10 : 16);
	assert_int_equal(c[0] == 0x85 ? 0 : c[1], 0); /* no comparison with bytes of ours */
	is_known = c[0] == 0x85 ? fake.knows_ata : fake.knows_scsi;
	if (fake.host_status) {
		h->host_status = (unsigned short)fake.host_status;
	} else if (!is_known) {
		sense(h, 5);
	} else if (fake.attentions > 0) {
		fake.attentions--;
		sense(h, 6);
	} else {
		if (c[0] == 0x85)
			take_ata(c);
		else
			fake.first = c[0] == 0x2f ? number_at(c + 2, 4) : number_at(c + 2, 8);
		if (c[0] != 0x85)
			fake.count = c[0] == 0x2f ? number_at(c + 7, 2) : number_at(c + 10, 4);
		if (fake.bad >= fake.first && fake.bad < fake.first + fake.count)
			sense(h, 3);
	}
	return 0;
}

static int32_t verify(uint64_t offset, uint32_t len)
{
	struct commands v = { .ask = answer };

	fake.asked = 0;
	return verify_medium(&v, 7, offset, len);
}

TEST(commands_name_the_sectors)
{
	static const struct {
		uint64_t sector, sectors;
	} v[] = {
		{ 0, 1 }, { 1234567, 2048 }, { 4294967295ull, 8 }, { 4294967287ull, 8 }, { 0x123456789abull, 65536 }
	};

	for (int way = 0; way < 2; way++)
		for (size_t i = 0; i < ARRAY_LEN(v); i++) {
			fake = (struct fake){ .knows_scsi = way == 0, .knows_ata = true, .bad = UINT64_MAX };
			assert_int_equal(verify(v[i].sector * 512, (uint32_t)v[i].sectors * 512), v[i].sectors * 512);
			assert_int_equal(fake.first, v[i].sector);
			assert_int_equal(fake.count, v[i].sectors);
			assert_int_equal(fake.asked, 1 + way);
		}
}

TEST(answers_become_the_errors_of_reading)
{
	for (int form = 0; form < 2; form++) {
		fake = (struct fake){ .knows_scsi = true, .bad = 1003, .is_descriptor = form };
		assert_int_equal(verify(1000 * 512, 3 * 512), 3 * 512);
		assert_int_equal(verify(1000 * 512, 4 * 512), -ENODATA);
		fake.attentions = 1;
		assert_int_equal(verify(0, 512), 512);
		fake.attentions = 100;
		assert_int_equal(verify(0, 512), -EIO);
		fake = (struct fake){ .is_descriptor = form };
		assert_int_equal(verify(0, 512), -EOPNOTSUPP);
	}
	fake = (struct fake){ .has_no_commands = true };
	assert_int_equal(verify(0, 512), -EOPNOTSUPP);
	fake = (struct fake){ .knows_scsi = true, .host_status = 1 };
	assert_int_equal(verify(0, 512), -ENODEV);
	fake.host_status = 7;
	assert_int_equal(verify(0, 512), -EIO);
	assert_int_equal(verify(100, 512), -EINVAL);
}

static bool is_disk(int fd)
{
	return !fake.is_part;
}

static int32_t fua(bool is_write, uint64_t offset, uint32_t len)
{
	struct commands v = { .ask = answer, .is_disk = is_disk };
	uint8_t buf[8];

	fake.moves = 0;
	return fua_transfer(&v, fake.fd, is_write, offset, len, buf);
}

TEST(fua_goes_out_with_its_bit_and_its_sectors)
{
	static const uint64_t sectors[] = { 0, 1234567, 4294967287ull, 4294967288ull, 0x123456789abull };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd > 0);
	for (int is_write = 0; is_write < 2; is_write++)
		for (size_t i = 0; i < ARRAY_LEN(sectors); i++) {
			fake = (struct fake){ .fd = fd, .knows_scsi = true, .bad = UINT64_MAX };
			assert_int_equal(fua(is_write, sectors[i] * 512, 4096), 4096);
			assert_int_equal(fake.moves, 1);
			assert_int_equal(fake.first, sectors[i]);
			assert_int_equal(fake.count, 8);
			fake.left = 1024;
			assert_int_equal(fua(is_write, sectors[i] * 512, 4096), 3072);
			fake.bad = sectors[i] + 7;
			assert_int_equal(fua(is_write, sectors[i] * 512, 4096), -ENODATA);
			fake.knows_scsi = false;
			assert_int_equal(fua(is_write, sectors[i] * 512, 4096), -EOPNOTSUPP);
		}
	(void)close(fd); /* nothing was written */
}

/* SG_IO itself asks none of this of root. */
TEST(fua_is_refused_where_write_would_be_or_sectors_count_from_elsewhere)
{
	int rw = open("/dev/null", O_RDWR | O_CLOEXEC), ro = open("/dev/null", O_RDONLY | O_CLOEXEC);

	fake = (struct fake){ .fd = ro, .knows_scsi = true, .bad = UINT64_MAX };
	assert_int_equal(fua(true, 0, 4096), -EBADF);
	assert_int_equal(fake.moves, 0);
	assert_int_equal(fua(false, 0, 4096), 4096);
	fake = (struct fake){ .fd = rw, .knows_scsi = true, .bad = UINT64_MAX, .is_read_only = true };
	assert_int_equal(fua(true, 0, 4096), -EPERM);
	assert_int_equal(fake.moves, 0);
	assert_int_equal(fua(false, 0, 4096), 4096);
	fake = (struct fake){ .fd = rw, .knows_scsi = true, .bad = UINT64_MAX, .is_part = true };
	for (int is_write = 0; is_write < 2; is_write++) {
		assert_int_equal(fua(is_write, 0, 4096), -EOPNOTSUPP);
		assert_int_equal(fake.moves, 0);
	}
	fake.is_part = false;
	assert_int_equal(fua(true, 100, 4096), -EINVAL);
	assert_int_equal(fua(true, 0, 100), -EINVAL);
	assert_int_equal(fua(true, 0, 0), -EINVAL);
	assert_int_equal(fake.moves, 0);
	(void)close(rw); /* nothing was written */
	(void)close(ro); /* read-only */
}

TEST(only_whole_disks_are_disks)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), file = open(".", O_RDONLY | O_CLOEXEC);

	assert_false(commands_is_disk(null));
	assert_false(commands_is_disk(file));
	assert_false(commands_is_disk(-1));
	(void)close(null); /* nothing was written */
	(void)close(file); /* read-only */
}
