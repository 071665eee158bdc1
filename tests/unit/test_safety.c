/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision table of the write gate, and what it does with a claim, with invented devices. tests/block/safety.sh
 * tries real ones. */
#include "test.h"

#include <sys/sysmacros.h>

#include "device/device.h"

#define CLAIM_FD 77

/* An outside that says what it is told to say, and counts. */
struct outside {
	struct finding finds[8];
	size_t nfinds;
	int claim;    /* what claim() gives */
	int survey;   /* what survey() gives */
	bool holds;   /* outputs lie on the device */
	int open_fds; /* claims not closed */
	char order[16];
};

static void note(struct outside *o, char step)
{
	size_t n = strlen(o->order);

	o->order[n] = step;
}

static int fake_claim(void *ctx, const struct device *dev, struct err *err)
{
	struct outside *o = ctx;

	note(o, 'c');
	o->open_fds += o->claim >= 0;
	return o->claim < 0 ? err_set(err, o->claim, "no claim") : o->claim;
}

static int fake_survey(void *ctx, const struct device *dev, struct survey *ret, struct err *err)
{
	struct outside *o = ctx;

	note(o, 's');
	if (o->survey < 0)
		return err_set(err, o->survey, "no survey");
	for (size_t i = 0; i < o->nfinds; i++)
		survey_add(ret, o->finds[i].kind, o->finds[i].on, o->finds[i].what, o->finds[i].where);
	return 0;
}

static void fake_close(void *ctx, int fd)
{
	struct outside *o = ctx;

	assert_int_equal(fd, CLAIM_FD);
	o->open_fds--;
}

static bool fake_holds(void *ctx, const struct device *dev, const char *path)
{
	const struct outside *o = ctx;

	assert_string_not_equal(path, "-");
	return o->holds;
}

static const struct device_ops fake = {
	.claim = fake_claim,
	.survey = fake_survey,
	.close = fake_close,
	.holds = fake_holds,
};

static const struct device disk = {
	.path = "/dev/sdq",
	.node = "/dev/sdq",
	.name = "sdq",
	.disk = "sdq",
	.kind = DEVICE_DISK,
	.size_bytes = 4000000000000,
	.model = "ST4000DM004",
	.serial = "ZFN12345",
};

static struct strs names(const char **v)
{
	struct strs s = { .v = v };

	while (v && v[s.n])
		s.n++;
	return s;
}

/* One case: findings, options, and what must come of it. */
struct decision {
	const char *title;
	enum write_kind kind;
	struct finding finds[4];
	const char *destroy[4], *rewrite[4], *overwrite[4], *despite[4];
	enum reach reach;
	int result;
	const char *says[4], *says_not[3];
};

#define MOUNTED                                                                      \
	{                                                                            \
		.kind = FINDING_MOUNT, .on = "sdq1", .what = "ext4", .where = "/mnt" \
	}
#define SIGNED(type)                                                                                      \
	{                                                                                                 \
		.kind = FINDING_SIGNATURE, .on = "sdq", .what = type, .where = "file system at byte 1080" \
	}
#define FOUND(k, w)                                                       \
	{                                                                 \
		.kind = k, .on = "sdq", .what = w, .where = "/some/where" \
	}

static const struct decision decisions[] = {
	{ "no consent", WRITE_DESTROY, .result = -EPERM, .says = { "--destroy-data=ZFN12345", "4.00 TB" },
	  .says_not = { "--destroy-data=sdq" } },
	{ "a kernel name is no consent where there is a better one", WRITE_DESTROY, .destroy = { "sdq" },
	  .result = -EPERM, .says = { "kernel name", "--destroy-data=ZFN12345" } },
	{ "consent by serial", WRITE_DESTROY, .destroy = { "ZFN12345" } },
	{ "one of two consents", WRITE_DESTROY, .destroy = { "sdr", "ZFN12345" } },
	{ "consent for another", WRITE_DESTROY, .destroy = { "sdr" }, .result = -EPERM,
	  .says = { "--destroy-data=sdr does not name" } },
	{ "consent by path", WRITE_DESTROY, .destroy = { "/dev/sdq" }, .result = -EPERM },
	{ "empty consent", WRITE_DESTROY, .destroy = { "" }, .result = -EPERM },
	{ "serial in another case", WRITE_DESTROY, .destroy = { "zfn12345" }, .result = -EPERM },
	{ "part of the serial", WRITE_DESTROY, .destroy = { "ZFN1234" }, .result = -EPERM },
	{ "put back wants the name, too", WRITE_SAME, .result = -EPERM,
	  .says = { "--rewrite-data=ZFN12345", "4.00 TB" }, .says_not = { "--destroy-data", "destroys" } },
	{ "put back by name", WRITE_SAME, .rewrite = { "ZFN12345" } },
	{ "put back by kernel name", WRITE_SAME, .rewrite = { "sdq" }, .result = -EPERM,
	  .says = { "kernel name", "--rewrite-data=ZFN12345" } },
	{ "put back where all may go", WRITE_SAME, .destroy = { "ZFN12345" } },
	{ "consent to putting back is none to destroy", WRITE_DESTROY, .rewrite = { "ZFN12345" }, .result = -EPERM,
	  .says = { "--destroy-data=ZFN12345" } },
	{ "put back over a file system", WRITE_SAME, .finds = { SIGNED("ext4") }, .rewrite = { "ZFN12345" } },
	{ "put back over a file system that another host may have", WRITE_SAME, .finds = { SIGNED("ext4") },
	  .rewrite = { "ZFN12345" }, .reach = REACH_UNKNOWN, .result = -EPERM,
	  .says = { "other hosts", "--overwrite-signature=ext4" } },
	{ "put back over LVM that another host may have", WRITE_SAME, .finds = { SIGNED("LVM2_member") },
	  .rewrite = { "ZFN12345" }, .reach = REACH_UNKNOWN, .overwrite = { "LVM2_member" } },
	{ "put back under the feet of other hosts", WRITE_SAME, .finds = { SIGNED("VMFS_volume_member") },
	  .rewrite = { "ZFN12345" }, .result = -EPERM,
	  .says = { "other hosts", "--overwrite-signature=VMFS_volume_member" } },
	{ "put back, and other hosts are known not to write", WRITE_SAME, .finds = { SIGNED("ocfs2") },
	  .rewrite = { "ZFN12345" }, .overwrite = { "ocfs2" } },
	{ "put back on shared storage", WRITE_SAME, .finds = { FOUND(FINDING_SHARED, "iscsi") },
	  .rewrite = { "ZFN12345" }, .result = -EPERM, .says = { "other hosts", "--despite=iscsi" } },
	{ "destroy on shared storage", WRITE_DESTROY, .finds = { FOUND(FINDING_SHARED, "fc") },
	  .destroy = { "ZFN12345" }, .result = -EPERM, .says = { "other hosts", "--despite=fc" } },
	{ "shared storage, insisted upon", WRITE_DESTROY, .finds = { FOUND(FINDING_SHARED, "fc") },
	  .destroy = { "ZFN12345" }, .despite = { "fc" } },
	{ "shared storage, and another thing insisted upon", WRITE_DESTROY, .finds = { FOUND(FINDING_SHARED, "fc") },
	  .destroy = { "ZFN12345" }, .despite = { "iscsi" }, .result = -EPERM },
	{ "one of two insisted upon", WRITE_SAME,
	  .finds = { FOUND(FINDING_SHARED, "fc"), FOUND(FINDING_SHARED, "reservation") }, .rewrite = { "ZFN12345" },
	  .despite = { "fc" }, .result = -EPERM, .says = { "--despite=reservation" }, .says_not = { "--despite=fc" } },
	{ "others that cannot be seen", WRITE_DESTROY, .finds = { FOUND(FINDING_UNSEEN, "namespace") },
	  .destroy = { "ZFN12345" }, .result = -EPERM, .says = { "--despite=namespace" } },
	{ "others that cannot be seen, insisted upon", WRITE_SAME, .finds = { FOUND(FINDING_UNSEEN, "processes") },
	  .rewrite = { "ZFN12345" }, .despite = { "processes" } },
	{ "a mount is not insisted away", WRITE_DESTROY, .finds = { MOUNTED }, .destroy = { "ZFN12345" },
	  .despite = { "ext4", "mounted" }, .result = -EBUSY },
	{ "lent to other hosts", WRITE_SAME, .finds = { FOUND(FINDING_EXPORT, "LIO") }, .rewrite = { "ZFN12345" },
	  .despite = { "LIO" }, .result = -EBUSY, .says = { "lent to other hosts by LIO" } },
	{ "locked", WRITE_DESTROY, .finds = { FOUND(FINDING_LOCKED, "") }, .destroy = { "ZFN12345" }, .result = -EBUSY,
	  .says = { "locked by another program" } },
	{ "put back while mounted", WRITE_SAME, .finds = { MOUNTED }, .result = -EBUSY,
	  .says = { "sdq1 is mounted on /mnt" } },
	{ "mounted", WRITE_DESTROY, .finds = { MOUNTED }, .destroy = { "ZFN12345" }, .result = -EBUSY,
	  .says = { "sdq1 is mounted on /mnt (ext4)", "unmount" } },
	{ "mounted, no word of options that would not help", WRITE_DESTROY, .finds = { MOUNTED, SIGNED("ext4") },
	  .result = -EBUSY, .says = { "mounted" }, .says_not = { "--destroy-data", "--overwrite-signature" } },
	{ "mounted and the signature named", WRITE_DESTROY, .finds = { MOUNTED, SIGNED("ext4") },
	  .destroy = { "ZFN12345" }, .overwrite = { "ext4" }, .result = -EBUSY },
	{ "the root of the machine", WRITE_DESTROY,
	  .finds = { MOUNTED, { .kind = FINDING_MOUNT, .on = "sdq2", .what = "xfs", .where = "/" } },
	  .destroy = { "ZFN12345" }, .result = -EBUSY, .says = { "root file system" }, .says_not = { "unmount" } },
	{ "swap", WRITE_DESTROY, .finds = { FOUND(FINDING_SWAP, "swap partition") }, .destroy = { "ZFN12345" },
	  .result = -EBUSY, .says = { "swapoff" } },
	{ "held", WRITE_DESTROY, .finds = { FOUND(FINDING_HOLDER, "md0") }, .destroy = { "ZFN12345" }, .result = -EBUSY,
	  .says = { "part of md0", "mdadm --stop" } },
	{ "loop", WRITE_DESTROY, .finds = { FOUND(FINDING_LOOP, "loop5") }, .destroy = { "ZFN12345" }, .result = -EBUSY,
	  .says = { "losetup -d /dev/loop5" } },
	{ "open for writing", WRITE_DESTROY, .finds = { FOUND(FINDING_OPEN, "qemu (process 7)") },
	  .destroy = { "ZFN12345" }, .result = -EBUSY, .says = { "qemu (process 7)" } },
	{ "read-only", WRITE_DESTROY, .finds = { FOUND(FINDING_READ_ONLY, "") }, .destroy = { "ZFN12345" },
	  .result = -EROFS, .says = { "read-only" } },
	{ "zoned", WRITE_SAME, .finds = { FOUND(FINDING_ZONED, "host-managed") }, .result = -EPERM,
	  .says = { "zoned" } },
	{ "output", WRITE_DESTROY, .finds = { FOUND(FINDING_OUTPUT, "") }, .destroy = { "ZFN12345" }, .result = -EBUSY,
	  .says = { "/some/where", "another disk" } },
	{ "signature", WRITE_DESTROY, .finds = { SIGNED("ext4") }, .destroy = { "ZFN12345" }, .result = -EPERM,
	  .says = { "sdq carries ext4", "at byte 1080", "--overwrite-signature=ext4" } },
	{ "signature and no consent: both are asked for", WRITE_DESTROY, .finds = { SIGNED("ext4") }, .result = -EPERM,
	  .says = { "--overwrite-signature=ext4", "--destroy-data=ZFN12345" } },
	{ "signature named", WRITE_DESTROY, .finds = { SIGNED("ext4") }, .destroy = { "ZFN12345" },
	  .overwrite = { "ext4" } },
	{ "signature named in another case", WRITE_DESTROY, .finds = { SIGNED("LVM2_member") },
	  .destroy = { "ZFN12345" }, .overwrite = { "lvm2_MEMBER" } },
	{ "another signature named", WRITE_DESTROY, .finds = { SIGNED("ext4") }, .destroy = { "ZFN12345" },
	  .overwrite = { "xfs" }, .result = -EPERM },
	{ "one of two named", WRITE_DESTROY, .finds = { SIGNED("ext4"), SIGNED("gpt") }, .destroy = { "ZFN12345" },
	  .overwrite = { "ext4" }, .result = -EPERM, .says = { "carries gpt" }, .says_not = { "carries ext4" } },
	{ "both named", WRITE_DESTROY, .finds = { SIGNED("ext4"), SIGNED("gpt") }, .destroy = { "ZFN12345" },
	  .overwrite = { "gpt", "ext4" } },
	{ "signature named instead of consent", WRITE_DESTROY, .finds = { SIGNED("ext4") }, .overwrite = { "ext4" },
	  .result = -EPERM, .says = { "--destroy-data=ZFN12345" } },
	{ "what could not be read is no consent", WRITE_DESTROY, .finds = { SIGNED("unreadable") },
	  .destroy = { "ZFN12345" }, .result = -EPERM, .says = { "could not be searched" } },
	{ "data without a signature are a warning only", WRITE_DESTROY, .finds = { FOUND(FINDING_DATA, "61 of 64") },
	  .destroy = { "ZFN12345" } },
	{ "the most serious comes first", WRITE_DESTROY, .finds = { FOUND(FINDING_READ_ONLY, ""), MOUNTED },
	  .destroy = { "ZFN12345" }, .result = -EBUSY, .says = { "mounted", "read-only" } },
};

static void check_message(const struct decision *d, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(d->says) && d->says[i]; i++)
		if (!strstr(text, d->says[i]))
			fail_msg("%s: does not say '%s': %s", d->title, d->says[i], text);
	for (size_t i = 0; i < ARRAY_LEN(d->says_not) && d->says_not[i]; i++)
		if (strstr(text, d->says_not[i]))
			fail_msg("%s: says '%s': %s", d->title, d->says_not[i], text);
}

static size_t copy_finds(struct outside *o, const struct decision *d)
{
	while (o->nfinds < ARRAY_LEN(d->finds) && d->finds[o->nfinds].on[0]) {
		o->finds[o->nfinds] = d->finds[o->nfinds];
		o->nfinds++;
	}
	return o->nfinds;
}

TEST(every_case_is_decided_as_the_table_says)
{
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
		struct decision d = decisions[i];
		struct consent consent = { .destroy = names(d.destroy),
			                   .rewrite = names(d.rewrite),
			                   .overwrite_signature = names(d.overwrite),
			                   .despite = names(d.despite) };
		struct device dev = disk;
		struct outside o = { .claim = CLAIM_FD };
		struct write_permit *permit = NULL;
		struct survey found;
		struct err err = { 0 };
		int r;

		dev.reach = d.reach;
		(void)copy_finds(&o, &d);
		r = permit_acquire(&permit, &fake, &o, &dev, d.kind, &consent, &found, &err);
		if (r != d.result)
			fail_msg("%s: %d instead of %d: %s", d.title, r, d.result, err.text);
		assert_int_equal(err.code, d.result);
		check_message(&d, err.text);
		assert_int_equal(permit != NULL, r == 0);
		assert_int_equal(o.open_fds, r == 0); /* refused: the claim is given back */
		permit_release(permit);
		assert_int_equal(o.open_fds, 0);
		/* the pure decision agrees */
		assert_int_equal(permit_would(&dev, &found, d.kind, &consent, NULL), d.result);
		survey_done(&found);
	}
}

/* All is consented to that can be. 0, or the error; a permit is given back. */
static int acquire(struct outside *o, enum write_kind kind, struct err *err)
{
	struct consent consent = { .destroy = names((const char *[]){ "ZFN12345", NULL }),
		                   .outputs = names((const char *[]){ "-", "/mnt/out.json", NULL }) };
	struct write_permit *permit = NULL;
	int r;

	*err = (struct err){ 0 };
	r = permit_acquire(&permit, &fake, o, &disk, kind, &consent, NULL, err);
	assert_int_equal(permit != NULL, r == 0);
	assert_true(r == 0 || err->text[0] != '\0');
	permit_release(permit);
	assert_int_equal(o->open_fds, 0);
	return r;
}

/* What the claim and the look say, in that order, and what follows. */
TEST(neither_a_claim_that_fails_nor_a_look_that_fails_nor_an_output_there_gives_a_permit)
{
	static const struct {
		struct outside o;
		int result;
		const char *order, *says, *says_not;
	} cases[] = {
		{ { .claim = CLAIM_FD }, 0, "cs", "", NULL },
		{ { .claim = -EBUSY }, -EBUSY, "cs", "cannot see", NULL },
		/* with a mount that explains it, the riddle is left out */
		{ { .claim = -EBUSY, .finds = { MOUNTED }, .nfinds = 1 }, -EBUSY, "cs", "mounted", "cannot see" },
		{ { .claim = -EROFS }, -EROFS, "cs", "", NULL },
		{ { .claim = -EACCES }, -EACCES, "c", "", NULL },
		{ { .claim = -ENODEV }, -ENODEV, "c", "", NULL },
		{ { .claim = -EIO }, -EIO, "c", "", NULL },
		{ { .claim = CLAIM_FD, .survey = -EIO }, -EIO, "cs", "", NULL },
		/* our own claim is no other user */
		{ { .claim = CLAIM_FD, .finds = { FOUND(FINDING_EXCLUSIVE, "") }, .nfinds = 1 }, 0, "cs", "", NULL },
		{ { .claim = CLAIM_FD, .holds = true }, -EBUSY, "cs", "/mnt/out.json", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int kind = WRITE_SAME; kind <= WRITE_DESTROY; kind++) {
			struct outside o = cases[i].o;
			struct err err;

			assert_int_equal(acquire(&o, (enum write_kind)kind, &err), cases[i].result);
			assert_string_equal(o.order, cases[i].order);
			if (!strstr(err.text, cases[i].says) ||
			    (cases[i].says_not && strstr(err.text, cases[i].says_not)))
				fail_msg("case %zu: %s", i, err.text);
		}
}

static int would(const struct device *dev, const char *name, struct err *err)
{
	struct consent consent = { .destroy = names((const char *[]){ name, NULL }) };
	struct survey nothing = { 0 };

	return permit_would(dev, &nothing, WRITE_DESTROY, &consent, err);
}

/*
 * Serial, world-wide name, name of a mapping, names by id: each will do, and the kernel name then will not. A serial
 * number that is shared or says nothing names nothing, and that of a disk not its partition.
 */
TEST(every_name_that_lasts_is_consent_and_the_kernel_name_then_is_none)
{
	static const struct {
		const char *serial, *wwn, *transport, *alias, *by_id;
		uint32_t partition;
		bool is_shared;
		const char *good[4], *bad[5], *says;
	} cases[] = {
		{ "ZFN12345", .good = { "ZFN12345" }, .bad = { "sdq", "sdq3", "ZFN12345-part3" } },
		{ "ZFN12345", .is_shared = true, .good = { "sdq" }, .bad = { "ZFN12345" },
		  .says = "Several disks here have the serial number ZFN12345; name this one (ST4000DM004, 4.00 TB) by "
		          "--destroy-data=sdq" },
		{ "", .good = { "sdq" }, .bad = { "" }, .says = "shows no serial number" },
		{ "0", .good = { "sdq" }, .bad = { "0" }, .says = "shows no serial number" },
		{ "000000000000", .good = { "sdq" }, .bad = { "000000000000" }, .says = "shows no serial number" },
		{ "abc", .good = { "sdq" }, .bad = { "abc" }, .says = "shows no serial number" },
		{ "", "naa.5000c500a1b2c3d4", "sas", .good = { "naa.5000c500a1b2c3d4" },
		  .bad = { "sdq", "5000c500a1b2c3d4" } },
		{ "", "", "dm", "vg-home", .good = { "vg-home" }, .bad = { "sdq", "vg", "home" } },
		{ "", "", "md", "raid1", "md-name-host:0 md-uuid-12:34", .good = { "md-name-host:0", "md-uuid-12:34" },
		  .bad = { "sdq", "raid1", "md-name-host:0 md-uuid-12:34", "md-uuid-12" } },
		{ "", "", "loop", .good = { "sdq" }, .bad = { "loop", "" } },
		{ "ZFN12345", .partition = 3, .good = { "ZFN12345-part3" },
		  .bad = { "sdq", "sdq3", "ZFN12345-part2", "ZFN12345" }, .says = "--destroy-data=ZFN12345-part3" },
		{ "", .partition = 3, .good = { "sdq3" }, .bad = { "sdq" } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct device dev = disk;
		struct err err = { 0 };

		dev.serial_is_shared = cases[i].is_shared;
		(void)snprintf(dev.serial, sizeof(dev.serial), "%s", cases[i].serial);
		(void)snprintf(dev.wwn, sizeof(dev.wwn), "%s", cases[i].wwn ?: "");
		(void)snprintf(dev.transport, sizeof(dev.transport), "%s", cases[i].transport ?: "");
		(void)snprintf(dev.alias, sizeof(dev.alias), "%s", cases[i].alias ?: "");
		(void)snprintf(dev.by_id, sizeof(dev.by_id), "%s", cases[i].by_id ?: "");
		if (cases[i].partition) {
			dev.kind = DEVICE_PARTITION;
			dev.partition = cases[i].partition;
			(void)snprintf(dev.name, sizeof(dev.name), "sdq%u", dev.partition);
		}
		for (size_t k = 0; k < ARRAY_LEN(cases[i].good) && cases[i].good[k]; k++)
			assert_int_equal(would(&dev, cases[i].good[k], NULL), 0);
		for (size_t k = 0; k < ARRAY_LEN(cases[i].bad) && cases[i].bad[k]; k++)
			assert_int_equal(would(&dev, cases[i].bad[k], &err), -EPERM);
		if (cases[i].says && !strstr(err.text, cases[i].says))
			fail_msg("case %zu: %s", i, err.text);
	}
}

TEST(a_device_without_size_and_a_folder_take_no_writes)
{
	struct device dev = disk;
	struct err err = { 0 };

	dev.size_bytes = 0;
	assert_int_equal(would(&dev, "ZFN12345", &err), -EPERM);
	assert_non_null(strstr(err.text, "capacity of 0"));
	dev.kind = DEVICE_DIRECTORY;
	assert_int_equal(would(&dev, "sdq", &err), -EPERM);
	assert_non_null(strstr(err.text, "directory"));
}

TEST(many_findings_are_cut_with_a_count)
{
	struct survey s = { 0 };
	struct err err = { 0 };
	char where[64];

	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(where, sizeof(where), "/a/rather/long/mount/point/number/%u", i);
		survey_add(&s, FINDING_MOUNT, "sdq1", "ext4", where);
	}
	assert_int_equal(permit_would(&disk, &s, WRITE_DESTROY, NULL, &err), -EBUSY);
	assert_non_null(strstr(err.text, "more: see platter info."));
	assert_non_null(strstr(err.text, "number/0 "));
	survey_done(&s);
}

TEST(the_verdict_says_which_options_it_takes)
{
	struct survey s = { 0 };
	char text[512];

	assert_true(permit_verdict(&disk, &s, text, sizeof(text)));
	assert_non_null(strstr(
		text, "--write --destroy-data=ZFN12345; the same bytes back with --rewrite --rewrite-data=ZFN12345"));
	survey_add(&s, FINDING_SIGNATURE, "sdq", "gpt", "partition table");
	survey_add(&s, FINDING_SIGNATURE, "sdq1", "ext4", "file system");
	survey_add(&s, FINDING_SIGNATURE, "sdq2", "ext4", "file system");
	assert_true(permit_verdict(&disk, &s, text, sizeof(text)));
	assert_non_null(
		strstr(text, "--write --overwrite-signature=gpt --overwrite-signature=ext4 --destroy-data=ZFN12345;"));
	survey_add(&s, FINDING_MOUNT, "sdq1", "ext4", "/mnt");
	survey_add(&s, FINDING_SWAP, "sdq2", "swap partition", "/dev/sdq2");
	assert_false(permit_verdict(&disk, &s, text, sizeof(text)));
	assert_non_null(strstr(text, "no: sdq1 is mounted on /mnt"));
	assert_non_null(strstr(text, "and 1 more"));
	assert_null(strchr(text, '\n'));
	assert_null(strstr(text, ". ")); /* it becomes part of a sentence */
	survey_done(&s);
}

/* What `info` says is what the gate does: its options open it, none of them can be left out, and "no" stays no. */
TEST(the_verdict_and_the_gate_agree)
{
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++) {
		struct survey s = { 0 };
		struct device dev = disk;
		char text[1024];
		bool may;

		dev.reach = decisions[i].reach;
		for (size_t k = 0; k < ARRAY_LEN(decisions[i].finds) && decisions[i].finds[k].on[0]; k++)
			survey_add(&s, decisions[i].finds[k].kind, decisions[i].finds[k].on, decisions[i].finds[k].what,
			           decisions[i].finds[k].where);
		may = permit_verdict(&dev, &s, text, sizeof(text));
		for (int kind = WRITE_SAME; kind <= WRITE_DESTROY; kind++) {
			const char *given[16] = { NULL };
			char *save = NULL, *from, part[1024];
			struct consent c = { 0 };
			size_t n = 0;

			if (!may) {
				struct consent all = { .destroy = names((const char *[]){ "ZFN12345", NULL }) };

				if (!strstr(text, "not known"))
					assert_true(permit_would(&dev, &s, (enum write_kind)kind, &all, NULL) < 0);
				continue;
			}
			from = strstr(text, kind == WRITE_SAME ? "--rewrite " : "--write ");
			assert_non_null(from);
			(void)snprintf(part, sizeof(part), "%.*s", (int)strcspn(from, ";"), from);
			for (char *w = strtok_r(part, " ", &save); w; w = strtok_r(NULL, " ", &save))
				given[n++] = w;
			/* without each one but the first word, and with all */
			for (size_t without = 1; without <= n; without++) {
				const char *v[4][16] = { { NULL } };
				size_t m[4] = { 0 };

				for (size_t k = 1; k < n; k++) {
					static const char *const opts[] = { "--destroy-data=", "--rewrite-data=",
						                            "--overwrite-signature=", "--despite=" };

					for (size_t o = 0; k != without && o < ARRAY_LEN(opts); o++)
						if (strncmp(given[k], opts[o], strlen(opts[o])) == 0)
							v[o][m[o]++] = given[k] + strlen(opts[o]);
				}
				c = (struct consent){ .destroy = { v[0], m[0] },
					              .rewrite = { v[1], m[1] },
					              .overwrite_signature = { v[2], m[2] },
					              .despite = { v[3], m[3] } };
				if ((permit_would(&dev, &s, (enum write_kind)kind, &c, NULL) == 0) != (without == n))
					fail_msg("%s: %s, without word %zu", decisions[i].title, text, without);
			}
		}
		survey_done(&s);
	}
}
