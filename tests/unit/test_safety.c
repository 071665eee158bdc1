/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decision table of the write gate, and what it does with a claim, with invented devices. tests/block/safety.sh
 * tries real ones. */
#include "test.h"

#include "cases.h"
#include <sys/sysmacros.h>

#include "device/device.h"

#define CLAIM_FD 77

/* An outside that says what it is to say, and counts. */
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

static bool fake_holds(void *ctx, const struct device *dev, const char *path, bool is_itself)
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
	.id.model = "ST4000DM004",
	.id.serial = "ZFN12345",
};

static struct strs names(const char **v)
{
	struct strs s = { .v = v };

	while (v && v[s.n])
		s.n++;
	return s;
}

#define MOUNTED                                                                      \
	{                                                                            \
		.kind = FINDING_MOUNT, .on = "sdq1", .what = "ext4", .where = "/mnt" \
	}

/* One case: findings, options, and what must come of it. */
struct decision {
	enum write_kind kind;
	struct outside o;
	struct device dev;
	const char *given[4][5]; /* as consents[] */
	const char *result, *says[5], *says_not[5];
};

static const char *const consents[] = { "destroy", "rewrite", "overwrite", "despite" };

/* "mounted, ext4, /mnt, sdq1" */
static void add_find(struct outside *o, char *text)
{
	struct finding *f = &o->finds[o->nfinds++];
	char kind[32];

	assert_int_equal(sscanf(text, "%31[^,], %127[^,], %255[^,], %63s", kind, f->what, f->where, f->on), 4);
	if (strcmp(f->what, "-") == 0)
		f->what[0] = '\0';
	while (strcmp(finding_kind_name(f->kind), kind) != 0)
		f->kind++;
}

static void add_word(const char **v, const char *word)
{
	while (*v)
		v++;
	*v = word;
}

static void take_field(struct decision *d, char *field)
{
	char *word = strchr(field, ' ');

	if (!word) {
		d->kind = strcmp(field, "destroy") == 0 ? WRITE_DESTROY : WRITE_SAME;
		return;
	}
	*word++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(consents); i++)
		if (strcmp(field, consents[i]) == 0)
			add_word(d->given[i], word);
	if (strcmp(field, "find") == 0)
		add_find(&d->o, word);
	else if (strcmp(field, "says") == 0 || strcmp(field, "not") == 0)
		add_word(*field == 's' ? d->says : d->says_not, word);
	else if (*field == '=')
		d->result = word;
	else if (strcmp(field, "reach") == 0)
		d->dev.way.reach = REACH_UNKNOWN;
}

static void check_message(const struct decision *d, const char *title, const char *text)
{
	for (const char *const *word = d->says; *word; word++)
		if (!strstr(text, *word))
			fail_msg("%s: does not say '%s': %s", title, *word, text);
	for (const char *const *word = d->says_not; *word; word++)
		if (strstr(text, *word))
			fail_msg("%s: says '%s': %s", title, *word, text);
}

TEST(every_case_is_decided_as_the_table_says)
{
	struct cases c = cases_open(TEST_DATA "/cases/permits");

	while (cases_next(&c)) {
		struct decision d = { .o = { .claim = CLAIM_FD }, .dev = disk };
		struct write_permit *permit = NULL;
		struct consent consent;
		struct survey found;
		struct err err = { 0 };
		int r;

		for (char *field; (field = cases_field(&c));)
			take_field(&d, field);
		consent = (struct consent){ .destroy = names(d.given[0]),
			                    .rewrite = names(d.given[1]),
			                    .overwrite_signature = names(d.given[2]),
			                    .despite = names(d.given[3]) };
		r = permit_acquire(&permit, &fake, &d.o, &d.dev, d.kind, &consent, &found, &err);
		if (strcmp(r ? err_name(r) : "0", d.result) != 0)
			fail_msg("%s: %s instead of %s: %s", c.title, err_name(r), d.result, err.text);
		assert_int_equal(err.code, r);
		check_message(&d, c.title, err.text);
		assert_int_equal(permit != NULL, r == 0);
		assert_int_equal(d.o.open_fds, r == 0); /* refused: the claim is given back */
		permit_release(permit);
		assert_int_equal(d.o.open_fds, 0);
		/* the pure decision agrees */
		assert_int_equal(permit_would(&d.dev, &found, d.kind, &consent, NULL), r);
		survey_done(&found);
	}
	assert_true(c.n > 50);
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
		{ { .claim = CLAIM_FD, .finds = { { FINDING_EXCLUSIVE, "sdq", "", "/some/where" } }, .nfinds = 1 },
		  0,
		  "cs",
		  "",
		  NULL },
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

		dev.id.serial_is_shared = cases[i].is_shared;
		(void)snprintf(dev.id.serial, sizeof(dev.id.serial), "%s", cases[i].serial);
		(void)snprintf(dev.id.wwn, sizeof(dev.id.wwn), "%s", cases[i].wwn ?: "");
		(void)snprintf(dev.transport, sizeof(dev.transport), "%s", cases[i].transport ?: "");
		(void)snprintf(dev.id.alias, sizeof(dev.id.alias), "%s", cases[i].alias ?: "");
		(void)snprintf(dev.id.by_id, sizeof(dev.id.by_id), "%s", cases[i].by_id ?: "");
		if (cases[i].partition) {
			dev.kind = DEVICE_PARTITION;
			dev.id.partition = cases[i].partition;
			(void)snprintf(dev.name, sizeof(dev.name), "sdq%u", dev.id.partition);
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

	for (unsigned i = 0; i < 100; i++) {
		survey_add(&s, FINDING_MOUNT, "sdq1", "ext4", textf("/a/rather/long/mount/point/number/%u", i));
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
		text,
		"--write --destroy-data=ZFN12345; to put the same bytes back, with --rewrite --rewrite-data=ZFN12345"));
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
	struct cases cases = cases_open(TEST_DATA "/cases/permits");

	while (cases_next(&cases)) {
		struct decision d = { .dev = disk };
		struct survey s = { 0 };
		char text[1024];
		bool may;

		for (char *field; (field = cases_field(&cases));)
			take_field(&d, field);
		(void)fake_survey(&d.o, &d.dev, &s, NULL);
		may = permit_verdict(&d.dev, &s, text, sizeof(text));
		for (int kind = WRITE_SAME; kind <= WRITE_DESTROY; kind++) {
			const char *given[16] = { NULL };
			char *save = NULL, *from, part[1024];
			struct consent c = { 0 };
			size_t n = 0;

			if (!may) {
				struct consent all = { .destroy = names((const char *[]){ "ZFN12345", NULL }) };

				if (!strstr(text, "not known"))
					assert_true(permit_would(&d.dev, &s, (enum write_kind)kind, &all, NULL) < 0);
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
				if ((permit_would(&d.dev, &s, (enum write_kind)kind, &c, NULL) == 0) != (without == n))
					fail_msg("%s: %s, without word %zu", cases.title, text, without);
			}
		}
		survey_done(&s);
	}
}
