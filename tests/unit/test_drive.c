/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches and sleep of drives: the commands as the standards have them, to a drive that is played; and that a run
 * turns them and puts them back. */
#include "test.h"

#include <dirent.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "device/drive.h"
#include "dump.h"
#include "session/session.h"

/* ---- the drive ---- */

/* What is told of the switches is told by these bytes; in memory that child processes share. */
static struct fake {
	uint8_t id[512];   /* ATA */
	uint8_t page[20];  /* SCSI */
	uint8_t fixed;     /* bits of byte 12 that MODE SELECT may not change */
	uint8_t power;     /* CHECK POWER MODE */
	uint8_t sense[18]; /* REQUEST SENSE */
	bool nvme_cache, aborts, is_deaf;
	int commands;
} * fake;

static void set_sense(struct sg_io_hdr *h, uint8_t key)
{
	h->status = 2;
	h->sb_len_wr = 18;
	h->sbp[0] = 0x70;
	h->sbp[2] = key;
}

static void answer_ata(struct sg_io_hdr *h, const uint8_t *c)
{
	static const struct {
		uint8_t feature, bit;
		bool is_on;
	} known[] = { { 0x02, 0x20, true }, { 0x82, 0x20, false }, { 0xaa, 0x40, true }, { 0x55, 0x40, false } };

	if (c[14] == 0xec) {
		assert_int_equal(c[1], 4 << 1);
		assert_int_equal(c[2], 0x0e);
		assert_int_equal(h->dxfer_direction, SG_DXFER_FROM_DEV);
		memcpy(h->dxferp, fake->id, 512);
	} else if (c[14] == 0xe5) {
		assert_int_equal(c[2] & 0x20, 0x20);
		set_sense(h, 1);
		memset(h->sbp, 0, 22);
		h->sb_len_wr = 22;
		h->sbp[0] = 0x72;
		h->sbp[1] = 1;
		h->sbp[3] = 0x1d;
		h->sbp[7] = 14;
		h->sbp[8] = 9;
		h->sbp[9] = 12;
		h->sbp[13] = fake->power;
	} else if (fake->aborts) {
		set_sense(h, 0xb);
	} else {
		assert_int_equal(c[14], 0xef);
		assert_int_equal(c[1], 3 << 1);
		for (size_t i = 0; i < ARRAY_LEN(known) && !fake->is_deaf; i++)
			if (known[i].feature == c[4])
				fake->id[170] = known[i].is_on ? fake->id[170] | known[i].bit
				                               : fake->id[170] & (uint8_t)~known[i].bit;
	}
}

static void answer_scsi(struct sg_io_hdr *h, const uint8_t *c)
{
	uint8_t *data = h->dxferp;

	if (c[0] == 0x5a) {
		assert_int_equal(c[2], 8);
		memset(data, 0, 8);
		data[1] = 6 + sizeof(fake->page);
		memcpy(data + 8, fake->page, sizeof(fake->page));
		h->resid = (int)(h->dxfer_len - 8 - sizeof(fake->page));
	} else if (c[0] == 0x55) {
		assert_int_equal(c[1], 0x10); /* never saved */
		assert_int_equal(h->dxfer_direction, SG_DXFER_TO_DEV);
		assert_int_equal(c[8], 8 + sizeof(fake->page));
		assert_int_equal(data[0] | data[1], 0);
		assert_int_equal(data[8], 8); /* without PS */
		if ((data[8 + 12] ^ fake->page[12]) & fake->fixed)
			set_sense(h, 5);
		else
			memcpy(fake->page + 2, data + 10, sizeof(fake->page) - 2);
	} else {
		assert_int_equal(c[0], 0x03);
		memcpy(data, fake->sense, sizeof(fake->sense));
		h->resid = (int)(h->dxfer_len - sizeof(fake->sense));
	}
}

static int answer(int fd, unsigned long request, void *arg)
{
	assert_int_equal(fd, 7);
	fake->commands++;
	if (request == NVME_IOCTL_ADMIN_CMD) {
		struct nvme_passthru_cmd *c = arg;

		if (c->opcode == 0x06)
			((uint8_t *)(uintptr_t)c->addr)[525] = 1;
		else
			assert_int_equal(c->cdw10, 6);
		if (c->opcode == 0x09)
			fake->nvme_cache = c->cdw11 & 1;
		c->result = fake->nvme_cache;
		return 0;
	}
	assert_int_equal(request, SG_IO);
	if (((struct sg_io_hdr *)arg)->cmdp[0] == 0x85)
		answer_ata(arg, ((struct sg_io_hdr *)arg)->cmdp);
	else
		answer_scsi(arg, ((struct sg_io_hdr *)arg)->cmdp);
	return 0;
}

/* All on, as drives come. */
static void reset(void)
{
	static const uint8_t page[20] = { 0x88, 18, 0x14, 0, 0xff, 0xff, [12] = 0x80 };

	*fake = (struct fake){ .nvme_cache = true, .power = 0xff };
	memcpy(fake->page, page, sizeof(page));
	fake->id[164] = fake->id[170] = 0x61;
	fake->id[167] = fake->id[175] = 0x40;
}

static struct drive_state look(enum drive_way way)
{
	const struct drive d = { .ask = answer, .way = way, .fd = 7 };
	struct drive_state s;

	assert_int_equal(drive_look(&d, &s), 0);
	return s;
}

TEST(each_way_turns_what_it_names_and_nothing_else)
{
	static const unsigned has[] = { [DRIVE_ATA] = DRIVE_WRITE_CACHE | DRIVE_LOOK_AHEAD,
		                        [DRIVE_SCSI] = DRIVE_WRITE_CACHE | DRIVE_LOOK_AHEAD | DRIVE_READ_CACHE,
		                        [DRIVE_NVME] = DRIVE_WRITE_CACHE };

	for (int way = DRIVE_ATA; way <= DRIVE_NVME; way++) {
		const struct drive d = { .ask = answer, .way = (enum drive_way)way, .fd = 7 };

		reset();
		assert_int_equal(look(d.way).reported, has[way]);
		assert_int_equal(look(d.way).on, has[way]);
		for (unsigned mask = 1; mask < 8; mask++) {
			struct fake before = *fake;
			int r = drive_set(&d, mask, 0);

			if (mask & ~has[way]) {
				assert_int_equal(r, -EOPNOTSUPP);
				assert_int_equal(look(d.way).on, has[way]);
				continue;
			}
			assert_int_equal(r, 0);
			assert_int_equal(look(d.way).on, has[way] & ~mask);
			assert_int_equal(drive_set(&d, mask, mask), 0);
			assert_int_equal(look(d.way).on, has[way]);
			before.commands = fake->commands;
			assert_memory_equal(&before, fake, sizeof(before));
		}
	}
}

TEST(what_a_drive_does_not_say_is_not_told)
{
	const struct drive ata = { .ask = answer, .way = DRIVE_ATA, .fd = 7 },
			   scsi = { .ask = answer, .way = DRIVE_SCSI, .fd = 7 };
	struct drive_state s;

	reset();
	fake->id[164] = 0x21; /* QEMU: no word of look-ahead, and it takes the command */
	assert_int_equal(look(DRIVE_ATA).reported, DRIVE_WRITE_CACHE);
	assert_int_equal(drive_set(&ata, DRIVE_LOOK_AHEAD, 0), 0);
	fake->id[167] = 0; /* words that do not hold */
	assert_int_equal(drive_look(&ata, &s), -EOPNOTSUPP);
	fake->aborts = true;
	assert_int_equal(drive_set(&ata, DRIVE_WRITE_CACHE, 0), -EOPNOTSUPP);
	fake->fixed = 0x20;
	assert_int_equal(drive_set(&scsi, DRIVE_LOOK_AHEAD, 0), -EOPNOTSUPP);
	assert_int_equal(look(DRIVE_SCSI).on, 7);
	fake->page[1] = 10; /* the page of SCSI-2 ends before that bit */
	assert_int_equal(look(DRIVE_SCSI).reported, DRIVE_WRITE_CACHE | DRIVE_READ_CACHE);
	fake->page[1] = 200;
	assert_int_equal(drive_look(&scsi, &s), -EOPNOTSUPP);
}

TEST(drives_say_whether_they_sleep)
{
	static const struct {
		uint8_t count;
		const char *power;
	} ata[] = { { 0xff, "active" }, { 0x80, "idle" }, { 0x82, "idle" }, { 0x00, "standby" }, { 0x41, "active" } };
	static const struct {
		uint8_t code, more;
		const char *power;
	} scsi[] = { { 0, 0, "active" },
		     { 0x5e, 1, "idle" },
		     { 0x5e, 2, "standby" },
		     { 0x5e, 9, "standby" },
		     { 4, 2, "stopped" } };

	reset();
	for (size_t i = 0; i < ARRAY_LEN(ata); i++) {
		const struct drive d = { .ask = answer, .way = DRIVE_ATA, .fd = 7 };

		fake->power = ata[i].count;
		assert_string_equal(drive_power(&d), ata[i].power);
	}
	for (size_t i = 0; i < ARRAY_LEN(scsi); i++) {
		const struct drive d = { .ask = answer, .way = DRIVE_SCSI, .fd = 7 };

		memset(fake->sense, 0, sizeof(fake->sense));
		fake->sense[0] = 0x70;
		fake->sense[12] = scsi[i].code;
		fake->sense[13] = scsi[i].more;
		assert_string_equal(drive_power(&d), scsi[i].power);
	}
}

/* ---- a run ---- */

static struct dump tree;
static enum { GOES_WELL, FAILS, IS_KILLED, IS_KILLED_WITH_ITS_KEEPER } fate;
static bool has_user;

static int played_look(void *ctx, const struct device *dev, struct drive_state *ret, struct err *err)
{
	const struct drive d = { .ask = answer, .way = DRIVE_ATA, .fd = 7 };

	return drive_look(&d, ret) < 0 ? err_set(err, -EIO, "It does not answer.") : 0;
}

static int played_set(void *ctx, const struct device *dev, unsigned mask, unsigned on, struct err *err)
{
	const struct drive d = { .ask = answer, .way = DRIVE_ATA, .fd = 7 };

	return drive_set(&d, mask, on) < 0 ? err_set(err, -EIO, "It does not do that.") : 0;
}

static int played_survey(void *ctx, const struct device *dev, struct survey *ret, struct err *err)
{
	if (has_user)
		survey_add(ret, FINDING_MOUNT, dev->name, "ext4", "/srv");
	return 0;
}

static int played_open(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
                       struct err *err)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int plan_reads(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	ret_plan->is_direct = true;
	return 0;
}

/* Of a forked run: its keeper is the only child. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		(void)fclose(f);
	if (child <= 1) /* and never all of a group */
		_exit(1);
	return child;
}

static int run_looks(struct session *ses, const void *params, struct err *err)
{
	assert_int_equal(fake->id[170] & 0x60, 0x40); /* off, and the look-ahead as it was */
	if (fate == IS_KILLED_WITH_ITS_KEEPER)
		(void)kill(child_of(getpid()), SIGKILL);
	if (fate >= IS_KILLED)
		(void)raise(SIGKILL);
	return fate == FAILS ? err_set(err, -EIO, "It failed.") : 0;
}

static int run_nothing(struct session *ses, const void *params, struct err *err)
{
	return 0;
}

static size_t notes(void)
{
	char dir[128];
	size_t n = 0;
	DIR *d;

	(void)snprintf(dir, sizeof(dir), "%s/var/lib/platter", tree.root);
	d = opendir(dir);
	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n > 2 ? n - 2 : 0;
}

static const char *boot_id = "start-1";
static bool is_recover;

static int run_with(int write_cache, const char *despite, struct result **res, bool *is_refused)
{
	static const struct measure reads = {
		.name = "reads", .min_targets = 1, .max_targets = 4, .plan = plan_reads, .run = run_looks
	};
	const struct measure glance = { .name = "glance",
		                        .min_targets = 1,
		                        .max_targets = 4,
		                        .plan = plan_reads,
		                        .run = run_nothing,
		                        .puts_back = is_recover };
	static const struct engine_ops *const engines[] = { NULL };
	static const char *const paths[] = { "/dev/sda" };
	const char *words[] = { despite };
	struct common_params common = { .engine = "auto", .seed = 1, .write_cache = write_cache };
	struct device_context ctx = { .sysroot = tree.root };
	struct device_ops ops = device_system;
	struct env env = { .engines = engines,
		           .clk = clock_monotonic(),
		           .devices = &ops,
		           .devices_ctx = &ctx,
		           .sysroot = tree.root,
		           .boot_id = boot_id };
	struct session_config cfg = {
		.env = &env, .measure = write_cache ? &reads : &glance, .common = &common, .paths = paths, .npaths = 1
	};
	struct err err = { 0 };

	ops.drive_look = played_look;
	ops.drive_set = played_set;
	ops.survey = played_survey;
	ops.open = played_open;
	ops.health = NULL;
	if (despite)
		common.consent.despite = (struct strs){ .v = words, .n = 1 };
	return session_run(&cfg, res, is_refused, &err);
}

static void begin(void)
{
	reset();
	dump_open(&tree, "sata-512e");
	fate = GOES_WELL;
	has_user = false;
}

/* Killed, in a process of its own; returns when its keeper is gone, too. */
static void killed(void)
{
	int fds[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct result *res;
		bool is_refused;

		(void)run_with(SWITCH_OFF, NULL, &res, &is_refused);
		_exit(1);
	}
	(void)close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	(void)close(fds[0]);
}

static bool is_on(void)
{
	return (fake->id[170] & 0x20) != 0;
}

TEST(a_run_puts_back_what_it_has_turned)
{
	struct result *res;
	bool is_refused;

	for (fate = GOES_WELL; fate <= FAILS; fate++) {
		int was = fate;
		const struct table *t;

		begin();
		fate = was;
		assert_int_equal(run_with(SWITCH_OFF, NULL, &res, &is_refused), fate == FAILS ? -EIO : 0);
		assert_true(is_on());
		assert_int_equal(notes(), 0);
		t = result_find_table(res, "switches");
		assert_string_equal(table_string(t, 0, 2), "on");
		assert_string_equal(table_string(t, 0, 3), "off");
		assert_string_equal(table_string(t, 0, 4), "on");
		assert_string_equal(table_string(t, 1, 3), "on"); /* look-ahead, as it was */
		result_free(res);
		dump_close(&tree);
	}
	fate = GOES_WELL;
}

TEST(a_run_that_is_killed_is_put_back_by_its_keeper)
{
	begin();
	fate = IS_KILLED;
	killed();
	assert_true(is_on());
	assert_int_equal(notes(), 0);
	dump_close(&tree);
}

TEST(the_next_platter_puts_back_what_nobody_could)
{
	struct result *res;
	char children[64];
	bool is_refused;

	(void)snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	if (access(children, R_OK) < 0)
		skip(); /* nothing tells who the keeper is */
	begin();
	fate = IS_KILLED_WITH_ITS_KEEPER;
	killed();
	assert_false(is_on());
	assert_int_equal(notes(), 1);
	dump_set(&tree, "sys/class/block/sda/device/vpd_pg80", "");
	dump_hex(&tree, "sys/class/block/sda/device/vpd_pg80", "0080000857303030303030");
	fate = GOES_WELL;
	assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
	assert_false(is_on()); /* another disk in its place is left alone, and the note waits */
	assert_int_equal(notes(), 1);
	result_free(res);
	dump_close(&tree);
	begin();
	fate = IS_KILLED_WITH_ITS_KEEPER;
	killed();
	fate = GOES_WELL;
	fake->is_deaf = true; /* it does not follow: told, and kept */
	assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
	assert_true(result_has_notice(res, "switches-left"));
	assert_int_equal(notes(), 1);
	result_free(res);
	fake->is_deaf = false;
	assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
	assert_true(is_on());
	assert_int_equal(notes(), 0);
	assert_true(result_has_notice(res, "switches-put-back"));
	result_free(res);
	dump_close(&tree);
}

TEST(after_another_start_switches_are_reported_until_they_are_asked_for)
{
	struct result *res;
	char children[64];
	bool is_refused;

	(void)snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	if (access(children, R_OK) < 0)
		skip(); /* nothing tells who the keeper is */
	for (int set_meanwhile = 0; set_meanwhile < 2; set_meanwhile++) {
		begin();
		fate = IS_KILLED_WITH_ITS_KEEPER;
		boot_id = "start-1";
		killed();
		fate = GOES_WELL;
		boot_id = "start-2";
		if (set_meanwhile)
			fake->id[170] |= 0x20;
		assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
		assert_int_equal(is_on(), set_meanwhile);
		assert_int_equal(notes(), !set_meanwhile); /* as noted: nothing is left to do */
		assert_int_equal(result_has_notice(res, "switches-left"), !set_meanwhile);
		result_free(res);
		is_recover = true;
		assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
		is_recover = false;
		assert_true(is_on());
		assert_int_equal(notes(), 0);
		assert_int_equal(result_has_notice(res, "switches-put-back"), !set_meanwhile);
		result_free(res);
		boot_id = "start-1";
		dump_close(&tree);
	}
}

TEST(a_note_that_was_not_written_to_its_end_means_nothing)
{
	static const char *const texts[] = { "", "{\"schema\": \"platter-dri", "[]",
		                             "{\"schema\": \"platter-drive-state-1\"}" };
	struct result *res;
	bool is_refused;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char path[128];

		begin();
		dump_set(&tree, "var/lib/platter/drive-X.state", texts[i]);
		(void)snprintf(path, sizeof(path), "%s/var/lib/platter/drive-X.state", tree.root);
		assert_int_equal(chmod(path, 0600), 0);
		assert_int_equal(run_with(SWITCH_AS_IS, NULL, &res, &is_refused), 0);
		assert_int_equal(notes(), 0);
		assert_int_equal(fake->commands, 0);
		result_free(res);
		dump_close(&tree);
	}
}

TEST(what_is_somebodys_or_cannot_be_known_is_left_alone)
{
	struct result *res;
	bool is_refused;

	begin();
	has_user = true;
	assert_int_equal(run_with(SWITCH_OFF, NULL, &res, &is_refused), -EBUSY);
	assert_true(is_refused && is_on() && notes() == 0);
	result_free(res);
	assert_int_equal(run_with(SWITCH_OFF, "users", &res, &is_refused), 0);
	assert_true(is_on() && notes() == 0);
	result_free(res);
	has_user = false;
	fake->is_deaf = true; /* takes the command, and does nothing: an error, and not a run with the cache on */
	assert_int_equal(run_with(SWITCH_OFF, NULL, &res, &is_refused), -EIO);
	assert_true(is_on() && notes() == 0);
	result_free(res);
	dump_close(&tree);
}

/* A drive that child processes see as well. */
static int share_fake(void **state)
{
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return fake == MAP_FAILED;
}

TESTS_BETWEEN(share_fake, NULL)
