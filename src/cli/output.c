/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that we write: checked before anything is measured, never over a device node, a symlink or a target; written beside the old one
 * and renamed, so that a full disk or a signal leaves the old one whole. And what the terminal can show.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/cli.h"

/* ---- before the run ---- */

static int check_dir(const char *option, const char *dir, struct err *err)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return err_set(err, -errno, "--%s: the folder %s cannot be used (%s); make it first.", option, dir,
		               err_name(errno));
	if (result_is_device_folder(dir))
		return err_set(err, -EPERM, "--%s: %s is where device nodes live; give a file elsewhere.", option, dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "--%s: %s is no folder; give a path in one.", option, dir);
	if (access(dir, W_OK | X_OK) < 0)
		return err_set(err, -errno, "--%s: nothing can be written into %s (%s); give another path.", option,
		               dir, err_name(errno));
	return 0;
}

static int check_folder(const char *option, const char *path, struct err *err)
{
	cleanup_free char *dir = result_folder_of(path);

	return dir ? check_dir(option, dir, err) : err_set(err, -ENOMEM, "Out of memory.");
}

static int check_existing(const char *option, const char *path, const struct stat *st, struct err *err)
{
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		return err_set(err, -EPERM,
		               "--%s: %s is a device node, which is never written over; give a regular file.", option,
		               path);
	if (S_ISLNK(st->st_mode))
		return err_set(err, -EPERM,
		               "--%s: %s is a symbolic link, which is never followed; give the file itself.", option,
		               path);
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EPERM, "--%s: %s is no regular file; give another path.", option, path);
	if (access(path, W_OK) < 0)
		return err_set(err, -errno, "--%s: %s cannot be written (%s); give another path.", option, path,
		               err_name(errno));
	return 0;
}

static int check_targets(const char *option, const char *path, const struct stat *st, const char *const *targets,
                         size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct stat t;

		if (stat(targets[i], &t) == 0 && t.st_dev == st->st_dev && t.st_ino == st->st_ino)
			return err_set(err, -EPERM, "--%s: %s is what is to be measured; give another path.", option,
			               path);
	}
	return 0;
}

static int check_one(const char *option, const char *path, const char *const *targets, size_t n, struct err *err)
{
	struct stat st;
	int r;

	if (path[strlen(path) - 1] == '/')
		return err_set(err, -EISDIR, "--%s: %s is a folder; give a file in it.", option, path);
	if (lstat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return err_set(err, -EISDIR, "--%s: %s is a folder; give a file in it.", option, path);
		r = check_existing(option, path, &st, err);
		if (r == 0)
			r = check_targets(option, path, &st, targets, n, err);
		if (r < 0)
			return r;
	} else if (errno != ENOENT && errno != ENOTDIR) { /* these: check_folder() says it better */
		return err_set(err, -errno, "--%s: %.200s cannot be used (%s); give another path.", option, path,
		               err_name(errno));
	}
	return check_folder(option, path, err);
}

/* Two names of one file: an old one by its inode, a new one by its folder. */
static bool is_same_file(const char *a, const char *b)
{
	cleanup_free char *copy_a = strdup(a), *copy_b = strdup(b);
	char *slash_a = copy_a ? strrchr(copy_a, '/') : NULL, *slash_b = copy_b ? strrchr(copy_b, '/') : NULL;
	const char *name_a = slash_a ? slash_a + 1 : a, *name_b = slash_b ? slash_b + 1 : b;
	struct stat x, y;

	if (strcmp(a, b) == 0)
		return true;
	if (stat(a, &x) == 0)
		return stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	if (stat(b, &y) == 0 || strcmp(name_a, name_b) != 0)
		return false;
	if (slash_a)
		slash_a[slash_a == copy_a] = '\0';
	if (slash_b)
		slash_b[slash_b == copy_b] = '\0';
	return stat(slash_a ? copy_a : ".", &x) == 0 && stat(slash_b ? copy_b : ".", &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int note_output(struct strs *outputs, const char *path, struct err *err)
{
	const char **more = reallocarray(outputs->v, outputs->n + 1, sizeof(*more));

	if (!more)
		return err_set(err, -ENOMEM, "Out of memory.");
	outputs->v = more;
	outputs->v[outputs->n++] = path;
	return 0;
}

int output_check(struct cli_params *p, const char *const *targets, size_t n, struct err *err)
{
	const struct {
		const char *option, *path;
		bool may_be_stdout;
	} files[] = {
		{ "json", p->json, true },
		{ "csv", p->csv, true },
		{ "html", p->html, true },
		{ "jsonl", p->jsonl, false },
		{ "prometheus", p->prometheus, true },
		{ "requests", p->requests, false },
		{ "log", p->log, false },
	};
	const char *on_stdout = NULL;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		const char *path = files[i].path;
		int r;

		if (!path)
			continue;
		if (files[i].may_be_stdout && !strcmp(path, "-")) {
			if (on_stdout)
				return err_set(err, -EINVAL,
				               "Only one of --%s and --%s can go to stdout; give the other a file.",
				               on_stdout, files[i].option);
			on_stdout = files[i].option;
			continue;
		}
		for (size_t k = 0; k < i; k++)
			if (files[k].path && strcmp(files[k].path, "-") != 0 && is_same_file(files[k].path, path))
				return err_set(err, -EINVAL, "--%s and --%s name the same file %s; give each its own.",
				               files[k].option, files[i].option, path);
		r = check_one(files[i].option, path, targets, n, err);
		if (r == 0)
			r = note_output(&p->common.consent.outputs, path, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void output_done(struct cli_params *p)
{
	free(p->common.consent.outputs.v);
	p->common.consent.outputs = (struct strs){ 0 };
}

/* ---- writing ---- */

int output_flush(FILE *out, struct err *err)
{
	int fd = fileno(out), copy;

	errno = 0;
	if (fflush(out) != 0)
		return err_set(err, errno ? -errno : -EIO,
		               "Writing to standard output failed (%s); what is missing there is lost.",
		               err_name(errno ? errno : EIO));
	if (ferror(out)) /* earlier: the reason is forgotten */
		return err_set(
			err, -EIO,
			"Writing to standard output failed; what is missing there is lost: see whether there is room.");
	/* Some file systems tell of a failed write only at close. */
	copy = fd >= 0 ? dup(fd) : -1;
	if (copy >= 0 && close(copy) < 0)
		return err_set(err, -errno, "Writing to standard output failed (%s); what is missing there is lost.",
		               err_name(errno));
	return 0;
}

int output_save(const char *path, FILE *out, int (*write)(FILE *f, void *arg), void *arg, struct err *err)
{
	int r;

	if (strcmp(path, "-") != 0)
		return result_save_file(path, write, arg, err);
	r = write(out, arg);
	if (r == -EIO && output_flush(out, err) < 0) /* it may know better */
		return err->code;
	return r < 0 ? err_set(err, r, "Writing to standard output failed (%s); what is missing there is lost.",
	                       err_name(r))
	             : 0;
}

/* ---- the log ---- */

int log_open(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0666);
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "--log: %s cannot be opened (%s); give another path.", path,
		               err_name(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) { /* it may have changed since output_check() */
		(void)close(fd);                          /* nothing was written */
		return err_set(err, -EPERM, "--log: %s is no regular file; give another path.", path);
	}
	if (st.st_size == 0 && st.st_nlink == 1) /* ours, just made */
		result_give_to_caller(fd);
	return fd;
}

int log_line(int fd, const char *name, const char *text)
{
	char stamp[32], raw[1000], line[1024];
	ssize_t done;
	size_t len;

	if (fd < 0)
		return 0;
	(void)snprintf(raw, sizeof(raw), "%s platter[%ld] %s: %s", clock_wall_text(stamp, sizeof(stamp)),
	               (long)getpid(), name, text);
	utf8_tame(raw, ' '); /* one line is one event, whatever a model name holds */
	(void)report_printable(line, sizeof(line) - 1, raw, 0, true); /* C1, and what turns the direction of writing */
	len = strlen(line);
	line[len++] = '\n';
	done = write(fd, line, len);
	return done < 0 ? -errno : (size_t)done < len ? -ENOSPC : 0;
}

/* ---- the terminal ---- */

static bool says_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", NULL);
	const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	if (locale) {
		bool is_utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");

		freelocale(locale);
		return is_utf8;
	}
	/* A locale that is not installed here, as of whoever came by ssh: the name says what the terminal is. */
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

static bool wants_colour(FILE *out, int when)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return fileno(out) >= 0 && isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
}

unsigned output_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	long n;

	if (fileno(f) >= 0 && ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	n = columns ? strtol(columns, NULL, 10) : 0;
	return n >= 20 && n <= 1000 ? (unsigned)n : 80;
}

/* The answer stands first: what is higher than the terminal would push it out of sight; two lines are the shell's. */
static unsigned screen_lines(FILE *f)
{
	struct winsize ws;

	if (fileno(f) < 0 || ioctl(fileno(f), TIOCGWINSZ, &ws) != 0 || ws.ws_row == 0 || ws.ws_row > SCREEN_LINES + 2)
		return SCREEN_LINES;
	return ws.ws_row < SCREEN_LEAST + 2 ? SCREEN_LEAST : ws.ws_row - 2u;
}

struct text_style output_style(FILE *out, const struct view_params *view)
{
	return (struct text_style){
		.width = output_width(out),
		.colour = wants_colour(out, view->color),
		.unicode = says_utf8(),
		.plots = view->plot,
		.lines = view->tables ? 0 : screen_lines(out),
	};
}
