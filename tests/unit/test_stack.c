/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands on what: stacks drawn at random beside a model that knows each byte, circles, lost links, claims, and
 * whether all could be seen.
 */
#include "test.h"

#include <sys/sysmacros.h>

#include "device/found.h"
#include "device/inside.h"
#include "dump.h"

#define STACKS  300
#define NODES   9
#define UNITS   16 /* of a bottom, 1 MiB each */
#define SECTORS (1 << 20) / 512
#define BOTTOMS 4

enum kind { DISK, FILE_LOOP, LOOP, PART, LINEAR, ARRAY };

/* A device of the model: where each of its units is. */
struct model {
	enum kind kind;
	char name[32], dir[200];
	unsigned minor, n;
	int lower;
	/* bits: units that are its bytes; of arrays, which have units of their own, too */
	unsigned long long own[BOTTOMS + NODES];
	unsigned long long
		also[NODES][BOTTOMS + NODES]; /* units anywhere on which they are, by the array that put them there */
	int at[UNITS][2];                     /* bottom and unit */
};
struct drawn {
	struct dump d;
	struct model v[NODES];
	int n;
};

static void make_block(struct drawn *s, struct model *m)
{
	char path[400], text[64], target[600];

	(void)snprintf(path, sizeof(path), "%s/dev", m->dir);
	(void)snprintf(text, sizeof(text), "77:%u\n", m->minor);
	dump_set(&s->d, path, text);
	(void)snprintf(path, sizeof(path), "%s/size", m->dir);
	(void)snprintf(text, sizeof(text), "%u\n", m->n * SECTORS);
	dump_set(&s->d, path, text);
	(void)snprintf(target, sizeof(target), "%s/%s", s->d.root, m->dir);
	(void)snprintf(path, sizeof(path), "%s/sys/dev/block/77:%u", s->d.root, m->minor);
	dump_folders(path);
	assert_int_equal(symlink(target, path), 0);
	(void)snprintf(path, sizeof(path), "%s/sys/class/block/%s", s->d.root, m->name);
	dump_folders(path);
	assert_int_equal(symlink(target, path), 0);
}

static void set(const struct drawn *s, const struct model *m, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void set(const struct drawn *s, const struct model *m, const char *name, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	dump_set(&s->d, textf("%s/%s", m->dir, name), text);
}

static void hold(const struct drawn *s, const struct model *upper, const struct model *lower)
{
	char path[400];

	(void)snprintf(path, sizeof(path), "%s/%s/slaves/%s/x", s->d.root, upper->dir, lower->name);
	dump_folders(path);
	(void)snprintf(path, sizeof(path), "%s/%s/holders/%s/x", s->d.root, lower->dir, upper->name);
	dump_folders(path);
}

/* The units first, first + 1, ... of a lower one. */
static void take_units(struct model *m, const struct model *lower, unsigned first)
{
	for (unsigned i = 0; i < m->n; i++) {
		m->at[i][0] = lower->at[first + i][0];
		m->at[i][1] = lower->at[first + i][1];
	}
	memcpy(m->also, lower->also, sizeof(m->also));
}

static void write_links(const struct drawn *s, const struct model *m, const struct model *low, unsigned first)
{
	if (m->kind == FILE_LOOP) { /* each of the file's names is another */
		set(s, m, "loop/backing_file", "/files/%d.%u\n", m->at[0][0], m->minor);
		set(s, m, "loop/file_id", "0:40 %d\n", m->at[0][0]);
		set(s, m, "loop/offset", "%u\n", first << 20);
	} else if (m->kind == LOOP) {
		set(s, m, "loop/backing_file", "/dev/%s\n", low->name);
		set(s, m, "loop/offset", "%u\n", first << 20);
		set(s, m, "loop/sizelimit", "%u\n", m->n << 20);
	} else if (m->kind == PART) {
		set(s, m, "partition", "%u\n", m->minor);
		set(s, m, "start", "%u\n", first * SECTORS);
	} else if (m->kind == LINEAR) {
		set(s, m, "dm/name", "map%u\n", m->minor);
		set(s, m, "dm/table", "0 %u linear 77:%u %u\n", m->n * SECTORS, low->minor, first * SECTORS);
		hold(s, m, low);
	} else if (m->kind == ARRAY) {
		set(s, m, "md/level", "raid5\n");
		hold(s, m, low);
	}
}

static void draw_one(struct drawn *s, struct rng *r)
{
	struct model *m = &s->v[s->n];
	int lower = s->n ? (int)(rng_u64(r) % (unsigned)s->n) : -1;
	const struct model *low = lower < 0 ? NULL : &s->v[lower];
	unsigned first = low ? (unsigned)(rng_u64(r) % low->n) : 0, what = (unsigned)(rng_u64(r) % 10);

	char folder[200], name[32];

	memset(m, 0, sizeof(*m));
	m->minor = (unsigned)s->n + 1;
	m->lower = lower;
	m->kind = !low ? DISK : what < 2 ? FILE_LOOP : what < 5 ? LOOP : what < 7 ? LINEAR : what < 9 ? PART : ARRAY;
	if (m->kind == PART && (low->kind == PART || low->kind == LINEAR))
		m->kind = LOOP;
	if (m->kind == DISK || m->kind == FILE_LOOP) {
		int bottom = m->kind == DISK ? 0 : 1 + (int)(rng_u64(r) % (BOTTOMS - 1));

		first = m->kind == DISK ? 0 : (unsigned)(rng_u64(r) % UNITS);
		m->n = UNITS - first;
		for (unsigned i = 0; i < m->n; i++) {
			m->at[i][0] = bottom;
			m->at[i][1] = (int)(first + i);
		}
	} else if (m->kind == ARRAY) {
		m->n = low->n;
		for (unsigned i = 0; i < m->n; i++) {
			m->at[i][0] = BOTTOMS + s->n;
			m->at[i][1] = (int)i;
		}
		memcpy(m->also, low->also, sizeof(m->also));
		memcpy(m->also[s->n], low->own, sizeof(low->own));
		for (int k = 0; k < s->n; k++)
			for (int b = 0; b < BOTTOMS + NODES; b++)
				m->also[s->n][b] |= low->also[k][b];
	} else {
		m->n = 1 + (unsigned)(rng_u64(r) % (low->n - first));
		take_units(m, low, first);
	}
	for (unsigned i = 0; i < m->n; i++)
		m->own[m->at[i][0]] |= 1ull << m->at[i][1];
	(void)snprintf(m->name, sizeof(m->name), "%s%u",
	               m->kind == DISK                           ? "sd"
	               : m->kind == FILE_LOOP || m->kind == LOOP ? "loop"
	               : m->kind == PART                         ? "part"
	               : m->kind == LINEAR                       ? "dm-"
	                                                         : "md",
	               m->minor);
	text_copy(folder, sizeof(folder), m->kind == PART ? low->dir : "sys/devices/virtual/block");
	text_copy(name, sizeof(name), m->name);
	(void)snprintf(m->dir, sizeof(m->dir), "%.150s/%s", folder, name);
	make_block(s, m);
	write_links(s, m, low, first);
	s->n++;
}

static bool do_meet(const struct model *a, const struct model *b)
{
	for (int u = 0; u < BOTTOMS + NODES; u++) {
		if (a->own[u] & b->own[u])
			return true;
		for (int k = 0; k < NODES; k++) {
			if ((a->also[k][u] & b->own[u]) || (a->own[u] & b->also[k][u]))
				return true;
			for (int j = 0; j < NODES; j++)
				if (j != k && (a->also[k][u] & b->also[j][u]) && !(a->also[j][u] || b->also[k][u]))
					return true;
		}
	}
	return false;
}

static bool is_array_in(const struct drawn *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->v[i].kind == ARRAY)
			return true;
	return false;
}

static bool is_own(const struct drawn *s, int target, int other)
{
	for (; target >= 0; target = s->v[target].kind == FILE_LOOP ? -1 : s->v[target].lower)
		if (target == other)
			return true;
	return false;
}

/* A claim of the node itself, of its disk, or of a partition of it: each keeps others from claiming it. */
static bool is_kept(const struct stack *s, const struct stack_node *n)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_node *c = &s->v[i];

		if ((c->rel == REL_SELF || stack_wants_claim(s, c) || c->is_held) &&
		    (c->b.rdev == n->b.rdev || c->b.rdev == n->b.disk_rdev || c->b.disk_rdev == n->b.rdev))
			return true;
	}
	return false;
}

static void judge(const struct drawn *s, int target, unsigned stack, unsigned counts[2])
{
	struct device dev = { .kind = s->v[target].kind == PART ? DEVICE_PARTITION : DEVICE_DISK,
		              .size_bytes = (uint64_t)s->v[target].n << 20,
		              .rdev = makedev(77, s->v[target].minor) };
	struct survey found = { 0 };
	struct stack st;
	bool is_barred = false, is_true = false;

	text_copy(dev.name, sizeof(dev.name), s->v[target].name);
	assert_int_equal(stack_build(s->d.root, &dev, &st, &found, NULL), 0);
	assert_string_equal(st.cut, "");
	for (int i = 0; i < s->n; i++) {
		const struct stack_node *n = stack_find(&st, makedev(77, s->v[i].minor));
		bool meets = do_meet(&s->v[target], &s->v[i]);

		if (meets && !n)
			fail_msg("stack %u: %s has bytes of %s, and is not seen", stack, s->v[i].name, dev.name);
		if (!meets && n && !is_array_in(s) && n->rel != REL_DISK)
			fail_msg("stack %u: %s has no bytes of %s", stack, s->v[i].name, dev.name);
		if (n && meets && !is_kept(&st, n))
			fail_msg("stack %u: %s, which has bytes of %s, is claimed by nobody", stack, s->v[i].name,
			         dev.name);
		is_true = is_true || (meets && !is_own(s, target, i) && s->v[i].kind != PART && s->v[i].kind != DISK);
	}
	is_barred = survey_has(&found, FINDING_HOLDER) || survey_has(&found, FINDING_LOOP);
	if (is_true && !is_barred)
		fail_msg("stack %u: %s may be written, though others are over it", stack, dev.name);
	if (is_barred && !is_true && !is_array_in(s))
		fail_msg("stack %u: %s may not be written, though nobody is over it: %s", stack, dev.name,
		         found.v[0].what);
	counts[is_barred]++;
	survey_done(&found);
	stack_done(&st);
}

TEST(of_300_stacks_all_that_shares_bytes_is_seen_and_nothing_else)
{
	unsigned counts[2] = { 0 };
	struct rng r;

	rng_init(&r, 51, 0);
	for (unsigned stack = 0; stack < STACKS; stack++) {
		struct drawn s = { 0 };
		int n = 2 + (int)(rng_u64(&r) % (NODES - 1));

		dump_open(&s.d, NULL);
		dump_set(&s.d, "proc/self/mountinfo", "33 25 0:40 / /files rw - tmpfs none rw\n");
		while (s.n < n)
			draw_one(&s, &r);
		for (int target = 0; target < s.n; target++)
			judge(&s, target, stack, counts);
		dump_close(&s.d);
	}
	assert_true(counts[0] > STACKS && counts[1] > STACKS); /* neither everything nor nothing is refused */
}

/* ---- what cannot be followed ---- */

static void look(const struct dump *d, const char *path, struct survey *found)
{
	struct err err = { 0 };
	struct device dev;

	*found = (struct survey){ 0 };
	if (device_system.probe(CTX(d), path, &dev, &err) != 0 || device_system.survey(CTX(d), &dev, found, &err) != 0)
		fail_msg("%s: %s", path, err.text);
}

TEST(a_circle_and_a_lost_link_are_refused)
{
	struct drawn s = { 0 };
	struct model a = { .name = "loop8", .dir = "sys/devices/virtual/block/loop8", .minor = 8, .n = 4 };
	struct model b = { .name = "loop9", .dir = "sys/devices/virtual/block/loop9", .minor = 9, .n = 4 };
	struct survey found;

	dump_open(&s.d, "stack");
	make_block(&s, &a);
	make_block(&s, &b);
	set(&s, &a, "loop/backing_file", "/dev/loop9\n");
	set(&s, &b, "loop/backing_file", "/dev/loop8\n");
	look(&s.d, "/dev/loop8", &found);
	assert_true(survey_has(&found, FINDING_STACK));
	survey_done(&found);
	set(&s, &b, "loop/backing_file", "/file\n");
	set(&s, &b, "backing_dev", "none\n");
	look(&s.d, "/dev/loop8", &found);
	assert_false(survey_has(&found, FINDING_STACK));
	survey_done(&found);
	hold(&s, &(struct model){ .name = "sde", .dir = "sys/class/block/sde" },
	     &(struct model){ .name = "sdq", .dir = "sys/class/block/sde" });
	look(&s.d, "/dev/sde", &found);
	assert_true(survey_has(&found, FINDING_STACK));
	survey_done(&found);
	dump_close(&s.d);
}

/* ---- could all be seen? ---- */

TEST(nothing_seen_is_no_evidence_where_nobody_could_look)
{
	static const struct {
		const char *table;
		bool is_proc, is_sys, sees_all;
		size_t nall, nhidden;
		const char *says; /* NULL: all was seen */
	} cases[] = {
		{ "22 1 0:5 / /proc rw - proc proc rw\n", true, true, true, 9, 0, NULL },
		{ "22 1 0:5 / /proc rw - proc proc rw\n", true, true, false, 9, 0, NULL },
		{ "22 1 0:5 / /proc rw - proc proc rw\n", true, true, true, 9, 1, "1 of 9 processes" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n", true, true, true, 0, 0, "no process" },
		{ "22 1 0:5 / /proc rw - proc proc rw,hidepid=2\n", true, true, false, 9, 0, "hidepid" },
		{ "22 1 0:5 / /proc rw - proc proc rw,gid=4,hidepid=invisible\n", true, true, false, 9, 0, "hidepid" },
		{ "22 1 0:5 / /proc rw - proc proc rw,hidepid=ptraceable\n", true, true, false, 9, 0, "hidepid" },
		{ "22 1 0:5 / /proc rw - proc proc rw,hidepid=invisible\n", true, true, true, 9, 0, NULL },
		{ "22 1 0:5 / /proc rw - proc proc rw,hidepid=off\n", true, true, false, 9, 0, NULL },
		{ "22 1 0:5 / /proc rw - proc proc rw,subset=pid\n", true, true, true, 9, 0, "subset=pid" },
		{ "22 1 0:5 / /proc rw - tmpfs none rw\n", false, true, true, 9, 0, "not the kernel's" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:5 / /proc rw - tmpfs none rw\n", true, true, true, 9, 0,
		  "not the kernel's" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n", true, false, true, 9, 0, "not the kernel's" },
		{ "22 1 0:5 / / rw - ext4 /dev/sda rw\n", true, true, true, 9, 0, "not the kernel's" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:6 / /proc/swaps rw - tmpfs none rw\n", true, true, true,
		  9, 0, "/proc/swaps" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:6 / /proc/123/fd rw - tmpfs none rw\n", true, true, true,
		  9, 0, "/proc/123" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:6 / /sys/class/block rw - tmpfs none rw\n", true, true,
		  true, 9, 0, "/sys/class" },
		{ "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:6 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw\n",
		  true, true, true, 9, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sight s = { .is_proc = cases[i].is_proc,
			           .is_sys = cases[i].is_sys,
			           .sees_all = cases[i].sees_all,
			           .nall = cases[i].nall,
			           .nhidden = cases[i].nhidden };
		struct mounts m;
		char buf[200];
		const char *why;
		DUMP(d, NULL);

		dump_set(&d, "proc/self/mountinfo", cases[i].table);
		assert_int_equal(mounts_read(d.root, &m, NULL), 0);
		s.mounts = &m;
		why = sight_veil(&s, buf, sizeof(buf));
		if (!why != !cases[i].says || (why && !strstr(why, cases[i].says)))
			fail_msg("case %zu: %s", i, why ? why : "all was seen");
		mounts_done(&m);
	}
}

TEST(mappings_and_files_of_rings_are_read_as_the_kernel_prints_them)
{
	char range[48], path[64];
	bool is_ring;

	assert_true(map_is_shared("7f0-7f1 rw-s 00000000 00:06 123                /dev/sda\n", range, &is_ring));
	assert_string_equal(range, "7f0-7f1");
	assert_false(is_ring);
	assert_true(map_is_shared("7f0-7f1 r--s 00000000 00:06 123 /dev/sda\n", range, &is_ring));
	assert_false(map_is_shared("7f0-7f1 rw-p 00000000 00:06 123 /dev/sda\n", range, &is_ring));
	assert_false(map_is_shared("7f0-7f1 rw-s 00000000 00:00 0\n", range, &is_ring));
	assert_true(map_is_shared("7f0-7f1 rw-s 10000000 00:10 9  anon_inode:[io_uring]\n", range, &is_ring));
	assert_true(is_ring);
	assert_false(map_is_shared("nonsense", range, &is_ring));
	assert_true(ring_file("    0: /dev/a\\040b\n", path, sizeof(path)));
	assert_string_equal(path, "/dev/a b");
	assert_false(ring_file("    1: socket:[17]\n", path, sizeof(path)));
	assert_false(ring_file("UserFiles:\t2\n", path, sizeof(path)));
}

TEST(two_names_of_a_file_are_one_and_two_files_are_two)
{
	static const struct {
		struct file_id a, b;
		bool is_same;
	} cases[] = {
		{ { 1, 5, false }, { 1, 5, false }, true },
		{ { 1, 5, false }, { 1, 6, false }, false },
		{ { 1, 5, false }, { 2, 5, false }, false },
		{ { 1, 5, false }, { 2, 5, true }, true },
		{ { 1, 5, true }, { 2, 6, false }, false },
		{ { 1, 0, false }, { 1, 0, false }, false },
		{ { 1, 5, false }, { 2, 5 | 1ull << 60, true }, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(file_id_is_same(&cases[i].a, &cases[i].b), cases[i].is_same);
		assert_int_equal(file_id_is_same(&cases[i].b, &cases[i].a), cases[i].is_same);
	}
}
