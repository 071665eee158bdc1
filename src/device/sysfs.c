/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "device/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define NAMES_MAX 65536 /* of one folder: more is not sysfs */

const char *sysroot_of(const struct device_context *ctx)
{
	return ctx && ctx->sysroot && strcmp(ctx->sysroot, "/") != 0 ? ctx->sysroot : "";
}

bool sysroot_is_real(const char *root)
{
	return root[0] == '\0';
}

void text_copy(char *dst, size_t len, const char *src)
{
	size_t n = strnlen(src, len - 1);

	memmove(dst, src, n);
	dst[n] = '\0';
}

void text_folder(char *dst, size_t len, const char *path)
{
	const char *slash = strrchr(path, '/');

	text_copy(dst, len, slash ? path : ".");
	if (slash && (size_t)(slash - path) < len)
		dst[slash == path ? 1 : slash - path] = '\0';
}

bool text_clean(char *dst, size_t len, const void *src, size_t n)
{
	const unsigned char *s = src;
	const unsigned char *nul = memchr(s, 0, n);
	size_t out = 0;

	if (nul)
		n = (size_t)(nul - s);
	while (n > 0 && (isspace(s[0]) != 0)) {
		s++;
		n--;
	}
	while (n > 0 && isspace(s[n - 1]) != 0)
		n--;
	for (size_t i = 0; i < n && n < len; i++)
		dst[out++] = (char)(s[i] >= 0x20 && s[i] < 0x7f ? s[i] : (unsigned char)'?');
	dst[out] = '\0';
	return out == n;
}

void text_unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*out++ = (char)(unsigned char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

__attribute__((format(printf, 3, 0))) static int vpath(char buf[PATH_MAX], const char *root, const char *fmt,
                                                       va_list ap)
{
	int n = snprintf(buf, PATH_MAX, "%s", root), m;

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	m = vsnprintf(buf + n, PATH_MAX - (size_t)n, fmt, ap);
	return m < 0 || m >= PATH_MAX - n ? -ENAMETOOLONG : 0;
}

/* The path that the last arguments of a function make, into buf: 0, or negative errno. */
#define path_into(buf, root, fmt)                   \
	({                                          \
		va_list ap;                         \
		int failed;                         \
		va_start(ap, fmt);                  \
		failed = vpath(buf, root, fmt, ap); \
		va_end(ap);                         \
		failed;                             \
	})

static ssize_t read_some(const char *path, void *buf, size_t len)
{
	/* O_NONBLOCK: a dump may hold a pipe where sysfs has a file. */
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t at = 0;

	if (fd < 0)
		return -errno;
	while (at < len) {
		ssize_t n = read(fd, (char *)buf + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

static int text_at(const char *path, char *buf, size_t len)
{
	char raw[4096];
	ssize_t n = read_some(path, raw, sizeof(raw));
	const char *end = n < 0 ? NULL : memchr(raw, '\n', (size_t)n);

	buf[0] = '\0';
	if (n < 0)
		return (int)n;
	return text_clean(buf, len, raw, end ? (size_t)(end - raw) : (size_t)n) ? 0 : -ENAMETOOLONG;
}

int sys_text(const char *root, char *buf, size_t len, const char *fmt, ...)
{
	char path[PATH_MAX];
	int r = path_into(path, root, fmt);

	buf[0] = '\0';
	return r < 0 ? r : text_at(path, buf, len);
}

bool sys_u64(const char *root, uint64_t *ret, const char *fmt, ...)
{
	char path[PATH_MAX], text[64], *end;
	unsigned long long v;

	if (path_into(path, root, fmt) < 0 || text_at(path, text, sizeof(text)) < 0 || !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	v = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
	if (errno != 0 || *end != '\0')
		return false;
	*ret = v;
	return true;
}

ssize_t sys_bytes(const char *root, void *buf, size_t len, const char *fmt, ...)
{
	char path[PATH_MAX];
	int r = path_into(path, root, fmt);

	return r < 0 ? r : read_some(path, buf, len);
}

bool sys_exists(const char *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct stat st;

	return path_into(path, root, fmt) == 0 && stat(path, &st) == 0;
}

bool sys_link(const char *root, char *buf, size_t len, const char *fmt, ...)
{
	char path[PATH_MAX], to[PATH_MAX] = "";
	const char *slash;

	if (path_into(path, root, fmt) < 0 || readlink(path, to, sizeof(to) - 1) < 0)
		to[0] = '\0';
	slash = strrchr(to, '/');
	text_copy(buf, len, slash ? slash + 1 : to);
	return buf[0] != '\0';
}

FILE *sys_open(const char *root, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return NULL;
	return fopen(full, "re");
}

size_t sys_stat(const char *root, const char *dir, uint64_t ret[STAT_COUNTERS])
{
	char text[512], *at = text, *end;
	size_t n = 0;

	memset(ret, 0, STAT_COUNTERS * sizeof(*ret));
	if (sys_text(root, text, sizeof(text), "%s/stat", dir) < 0)
		return 0;
	for (; n < STAT_COUNTERS; n++, at = end) {
		ret[n] = strtoull(at, &end, 10);
		if (end == at)
			break;
	}
	return n;
}

static int by_name(const void *a, const void *b)
{
	/* "sda10" after "sda9", as people count */
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

struct sys_list sys_list(const char *root, const char *fmt, ...)
{
	struct sys_list ret = { 0 };
	char path[PATH_MAX];
	struct dirent *e;
	int r = path_into(path, root, fmt);
	DIR *d = r == 0 ? opendir(path) : NULL;

	while (d && (e = readdir(d)) != NULL && ret.n < NAMES_MAX) {
		if (e->d_name[0] == '.')
			continue;
		xappend(ret.v, ret.n, xmust(strdup(e->d_name)));
	}
	if (d)
		(void)closedir(d); /* it was only read */
	if (ret.n > 1)
		qsort(ret.v, ret.n, sizeof(*ret.v), by_name);
	return ret;
}

bool sys_next(struct sys_list *l)
{
	l->name = l->at < l->n ? l->v[l->at++] : NULL;
	return l->name != NULL;
}

void sys_list_done(struct sys_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct sys_list){ 0 };
}

/* ---- block devices ---- */

static bool read_dev(const char *root, const char *dir, dev_t *ret)
{
	char text[32];
	unsigned maj, min;
	int used = 0;

	if (sys_text(root, text, sizeof(text), "%s/dev", dir) < 0 || sscanf(text, "%u:%u%n", &maj, &min, &used) != 2 ||
	    text[used] != '\0')
		return false;
	*ret = makedev(maj, min);
	return true;
}

int sys_block_by_link(const char *root, const char *link, struct sys_block *ret)
{
	char full[PATH_MAX], real_root[PATH_MAX] = "", real[PATH_MAX], *slash;
	struct sys_block b = { 0 };

	if (snprintf(full, sizeof(full), "%s%s", root, link) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	if ((!sysroot_is_real(root) && !realpath(root, real_root)) || !realpath(full, real))
		return -errno;
	if (strncmp(real, real_root, strlen(real_root)) != 0)
		return -EXDEV;
	text_copy(b.dir, sizeof(b.dir), real + strlen(real_root));
	slash = strrchr(b.dir, '/');
	if (!slash || slash == b.dir || strlen(slash + 1) >= sizeof(b.name) || !read_dev(root, b.dir, &b.rdev))
		return -ENODEV;
	text_copy(b.name, sizeof(b.name), slash + 1);
	text_copy(b.disk_dir, sizeof(b.disk_dir), b.dir);
	b.is_partition = sys_exists(root, "%s/partition", b.dir);
	if (b.is_partition)
		*strrchr(b.disk_dir, '/') = '\0';
	slash = strrchr(b.disk_dir, '/');
	if (!slash || strlen(slash + 1) >= sizeof(b.disk) || !read_dev(root, b.disk_dir, &b.disk_rdev))
		return -ENODEV;
	text_copy(b.disk, sizeof(b.disk), slash + 1);
	*ret = b;
	return 0;
}

int sys_block_by_rdev(const char *root, dev_t rdev, struct sys_block *ret)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(rdev), minor(rdev));
	return sys_block_by_link(root, link, ret);
}

int sys_block_by_name(const char *root, const char *name, struct sys_block *ret)
{
	char link[128];

	if (!name[0] || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -ENOENT;
	if (snprintf(link, sizeof(link), "/sys/class/block/%s", name) >= (int)sizeof(link))
		return -ENAMETOOLONG;
	return sys_block_by_link(root, link, ret);
}

void sys_node(const char *name, char *buf, size_t len)
{
	(void)snprintf(buf, len, "/dev/%s", name);
	for (char *p = buf; *p; p++)
		if (*p == '!')
			*p = '/';
}

int sys_node_open(const char *node, dev_t rdev, int flags)
{
	int fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags); /* a drive without a medium answers too */
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == rdev))
		return fd < 0 ? -errno : fd;
	(void)close(fd); /* was only read */
	return -ENODEV;
}
