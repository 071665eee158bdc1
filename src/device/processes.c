/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that can write to a device or a file of a stack without a claim: by an open descriptor (also of a thread
 * with a table of its own), by a shared mapping whose descriptor is closed, by a file registered with io_uring. And
 * whether all of them could be seen: absence of evidence is worth nothing where nobody could look.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/inside.h"

#define RING "anon_inode:[io_uring]"

struct census {
	const struct stack *stack;
	const char *self;
	struct survey *out;
	const char *pid; /* now */
	bool is_hidden;  /* something of that process could not be seen */
	bool has_ring, maps_ring;
};

/* ---- what a process has ---- */

/* The answer to a look: gone is gone, and a dead server's file is none of the stack; a refusal hides something. */
static bool is_refusal(int code)
{
	return code == EACCES || code == EPERM;
}

static void note_open(struct census *c, const char *path, const struct statx *sx, const char *how)
{
	const struct stack_node *who = NULL;
	char comm[32], what[128];

	if (S_ISBLK(sx->stx_mode)) {
		who = stack_find(c->stack, makedev(sx->stx_rdev_major, sx->stx_rdev_minor));
	} else if (S_ISREG(sx->stx_mode)) {
		struct file_id file = file_id_of("", &c->stack->mounts, path,
		                                 makedev(sx->stx_dev_major, sx->stx_dev_minor), sx->stx_ino);

		who = stack_find_file(c->stack, &file);
	}
	if (!who)
		return;
	if (sys_text("", comm, sizeof(comm), "/proc/%s/comm", c->pid) < 0)
		text_copy(comm, sizeof(comm), "a process");
	(void)snprintf(what, sizeof(what), "%s (process %.16s%s)", comm, c->pid, how);
	survey_add(c->out, FINDING_OPEN, node_is_file(who) ? c->self : who->b.name, what, "");
}

/* A dead server must not stop us: no synchronisation. */
static int look_at(const char *path, struct statx *ret)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, ret) < 0 ? -errno : 0;
}

bool ring_file(const char *line, char *buf, size_t len)
{
	unsigned slot;
	int at = 0;

	if (sscanf(line, "%u: %n", &slot, &at) != 1 || at == 0 || line[at] != '/')
		return false;
	text_copy(buf, len, line + at);
	buf[strcspn(buf, "\n")] = '\0';
	text_unescape(buf);
	return true;
}

/* The files of a ring, which need no descriptors any more. How they were opened is not said. */
static void look_at_ring(struct census *c, const char *dir, const char *fd)
{
	char path[PATH_MAX], file[PATH_MAX - 64];
	cleanup_fclose FILE *f = NULL;
	cleanup_free char *line = NULL;
	bool is_listed = false;
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "%s/fdinfo/%s", dir, fd);
	f = fopen(path, "re");
	while (f && getline(&line, &len, f) > 0) {
		struct statx sx;

		if (strncmp(line, "UserBufs:", 9) == 0)
			break;
		is_listed = is_listed || strncmp(line, "UserFiles:", 10) == 0;
		if (!is_listed || !ring_file(line, file, sizeof(file)))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/root%s", c->pid, file);
		if (look_at(path, &sx) < 0)
			c->is_hidden = true; /* deleted, or of another name space */
		else
			note_open(c, path, &sx, ", io_uring");
	}
	c->has_ring = true;
	c->is_hidden = c->is_hidden || (f ? !is_listed : is_refusal(errno)); /* busy: the kernel lists nothing then */
}

static void look_at_descriptors(struct census *c, const char *dir)
{
	char path[400], to[64];

	for (cleanup_list struct sys_list l = sys_list("", "%s/fd", dir); sys_next(&l);) {
		struct statx sx;
		struct stat st;
		int r;

		(void)snprintf(path, sizeof(path), "%s/fd/%.32s", dir, l.name);
		r = look_at(path, &sx);
		/* The link's own mode says how it was opened. */
		if (r == 0 && lstat(path, &st) < 0)
			r = -errno;
		c->is_hidden = c->is_hidden || is_refusal(-r);
		if (r < 0)
			continue;
		if (st.st_mode & S_IWUSR)
			note_open(c, path, &sx, "");
		if ((sx.stx_mode & S_IFMT) != 0)
			continue;
		if (sys_link("", to, sizeof(to), "%s", path) && strcmp(to, RING) == 0)
			look_at_ring(c, dir, l.name);
	}
}

bool map_is_shared(const char *line, char range[48], bool *ret_is_ring)
{
	char perms[8];
	uint64_t inode;

	if (sscanf(line, "%47s %7s %*s %*s %" SCNu64, range, perms, &inode) != 3 || strlen(perms) != 4)
		return false;
	*ret_is_ring = strstr(line, RING) != NULL;
	return perms[3] == 's' && inode != 0;
}

/*
 * A mapping keeps its file without a descriptor; the link in map_files says how that was opened, whatever the pages may
 * be now.
 */
static void look_at_maps(struct census *c, const char *dir, bool is_leader)
{
	char path[400], range[48];
	cleanup_fclose FILE *f = NULL;
	cleanup_free char *line = NULL;
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "%s/maps", dir);
	f = fopen(path, "re");
	c->is_hidden = c->is_hidden || (!f && is_refusal(errno));
	while (f && getline(&line, &len, f) > 0) {
		struct statx sx;
		struct stat st;
		bool is_ring;
		int r;

		if (!map_is_shared(line, range, &is_ring))
			continue;
		c->maps_ring = c->maps_ring || is_ring;
		if (is_ring)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/map_files/%s", c->pid, range);
		r = lstat(path, &st) < 0 ? -errno : 0;
		if (r == 0 && (st.st_mode & S_IWUSR) == 0)
			continue;
		r = r == 0 ? look_at(path, &sx) : r;
		/* The folder is the leader's, and is empty when that thread has ended. */
		c->is_hidden = c->is_hidden || is_refusal(-r) || (r == -ENOENT && !is_leader);
		if (r == 0)
			note_open(c, path, &sx, ", a mapping");
	}
}

/* Do two threads have the same table? Not known: no. */
static bool have_same(const char *pid, const char *tid, int what)
{
	return strcmp(pid, tid) != 0 && syscall(SYS_kcmp, atoi(pid), atoi(tid), what, 0, 0) == 0;
}

/* A process that ended meanwhile has nothing open; others whose descriptors may not be read may have anything. */
static bool is_closed(const char *dir)
{
	char path[400];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/fd", dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)close(fd);
	return fd < 0 && errno != ENOENT && errno != ESRCH;
}

static void look_at_process(struct census *c)
{
	char dir[128];

	c->is_hidden = c->has_ring = c->maps_ring = false;
	for (cleanup_list struct sys_list l = sys_list("", "/proc/%s/task", c->pid); sys_next(&l);) {
		(void)snprintf(dir, sizeof(dir), "/proc/%.32s/task/%.32s", c->pid, l.name);
		if (!have_same(c->pid, l.name, KCMP_FILES)) {
			c->is_hidden = c->is_hidden || is_closed(dir);
			look_at_descriptors(c, dir);
		}
		if (!have_same(c->pid, l.name, KCMP_VM))
			look_at_maps(c, dir, strcmp(c->pid, l.name) == 0);
	}
	/* A ring whose descriptor is closed lists nothing. */
	c->is_hidden = c->is_hidden || (c->maps_ring && !c->has_ring);
}

/* ---- could all be seen? ---- */

/* Places where something else may be mounted over what the survey reads. */
static bool is_covered(const struct mount *m)
{
	static const char *const read[] = { "/proc/swaps", "/proc/locks", "/proc/self",    "/sys/block",
		                            "/sys/class",  "/sys/dev",    "/sys/fs/btrfs", "/sys/module" };

	for (size_t i = 0; i < ARRAY_LEN(read); i++)
		if (strncmp(m->where, read[i], strlen(read[i])) == 0)
			return true;
	return strncmp(m->where, "/proc/", 6) == 0 && isdigit((unsigned char)m->where[6]);
}

const char *sight_veil(const struct sight *s, char *buf, size_t len)
{
	const struct mount *proc = NULL;

	for (size_t i = 0; i < s->mounts->n; i++) {
		const struct mount *m = &s->mounts->v[i];

		if (is_covered(m)) {
			(void)snprintf(buf, len, "something else is mounted on %.80s", m->where);
			return buf;
		}
		if (strcmp(m->where, "/proc") == 0)
			proc = m; /* the last hides the others */
	}
	if (!s->is_proc || !s->is_sys || !proc || strcmp(proc->fs_type, "proc") != 0)
		return "/proc or /sys is not the kernel's";
	if (proc->is_partial)
		return "/proc is mounted with subset=pid";
	if (proc->is_hiding && !s->sees_all)
		return "/proc is mounted with hidepid, and platter has not CAP_SYS_PTRACE";
	if (s->nall == 0)
		return "/proc shows no process";
	if (s->nhidden == 0)
		return NULL;
	(void)snprintf(buf, len, "%zu of %zu processes do not show their open files; root sees more", s->nhidden,
	               s->nall);
	return buf;
}

/* The first name spaces have these numbers in every kernel (PROC_PID_INIT_INO, PROC_USER_INIT_INO). */
static bool is_first(const char *kind, const char *number)
{
	char space[64];

	return sys_link("", space, sizeof(space), "/proc/self/ns/%s", kind) && strcmp(space, number) == 0;
}

static bool has_ptrace(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &head, caps) == 0 && (caps[0].effective >> CAP_SYS_PTRACE & 1) != 0;
}

static bool is_fs(const char *path, long type)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == type;
}

static void report_unseen(const struct census *c, size_t nall, size_t nhidden)
{
	bool is_first_users = is_first("user", "user:[4026531837]");
	const struct sight s = {
		.mounts = &c->stack->mounts,
		.is_proc = is_fs("/proc", PROC_SUPER_MAGIC),
		.is_sys = is_fs("/sys/class/block", SYSFS_MAGIC) && is_fs("/sys/dev/block", SYSFS_MAGIC),
		.sees_all = is_first_users && has_ptrace(),
		.nall = nall,
		.nhidden = nhidden,
	};
	char buf[200];
	const char *why = sight_veil(&s, buf, sizeof(buf));

	if (why)
		survey_add(c->out, FINDING_UNSEEN, c->self, "processes", why);
	if (!is_first("pid", "pid:[4026531836]") || !is_first_users)
		survey_add(
			c->out, FINDING_UNSEEN, c->self, "namespace",
			"this is a name space of processes or users of its own, a container; those outside it do not show");
}

void find_processes(const struct stack *stack, const char *self, struct survey *out)
{
	struct census c = { .stack = stack, .self = self, .out = out };
	size_t nall = 0, nhidden = 0;
	char own[16] = "";

	if (!sysroot_is_real(stack->root))
		return;
	/* As this /proc counts, which may be that of another name space than ours. */
	if (!sys_link("", own, sizeof(own), "/proc/self"))
		(void)snprintf(own, sizeof(own), "%d", (int)getpid());
	for (cleanup_list struct sys_list l = sys_list("", "/proc"); sys_next(&l);) {
		if (!isdigit((unsigned char)l.name[0]))
			continue;
		nall++;
		c.pid = l.name;
		if (strcmp(c.pid, own) == 0)
			continue;
		look_at_process(&c);
		nhidden += c.is_hidden;
	}
	report_unseen(&c, nall, nhidden);
}
