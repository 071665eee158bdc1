/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that we write: all options of all tables that name one are opened before anything is measured (base/outfile.h),
 * and what is measured or read is none of them. And what the terminal can show.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* ---- before the run ---- */

static const char *text_of(const struct opt *o, const void *params)
{
	const char *text = o->type == OPT_TYPE_STR ? *(const char *const *)((const char *)params + o->offset) : NULL;

	return text && *text ? text : NULL;
}

static bool may_be_stdout(int kind)
{
	return kind == OUTFILE_DOCUMENT || kind == OUTFILE_CSV || kind == OUTFILE_PAGE || kind == OUTFILE_METRICS;
}

static int add(const struct output_request *q, const struct opt *o, const char *path, const char **on_stdout,
               struct err *err)
{
	int r;

	if (may_be_stdout(o->writes) && !strcmp(path, "-")) {
		if (*on_stdout)
			return err_set(err, -EINVAL,
			               "Only one of --%s and --%s can go to stdout; give the other a file.", *on_stdout,
			               o->name);
		*on_stdout = o->name;
		return 0;
	}
	r = outfiles_add(q->files, o->name, path, (enum outfile_kind)o->writes, q->is_forced, err);
	return r == -ELOOP || r == -EEXIST ? -EPERM : r; /* refused */
}

/* reads_folders: of a folder the documents in it are read, and so not written either. */
static int refuse_if(const struct outfile *f, const char *path, bool reads_folders, const char *what, struct err *err)
{
	struct stat st;
	bool is_within = reads_folders && stat(path, &st) == 0 && S_ISDIR(st.st_mode) && strstr(f->path, ".json") &&
	                 outfile_is_in(f, path);

	if (!is_within && !outfile_is(f, path))
		return 0;
	return err_set(err, -EPERM, "--%s: %s is %s; give another path.", f->option, f->path, what);
}

static int check_input(const struct outfile *f, const struct opt *o, const void *params, struct err *err)
{
	const char *one = text_of(o, params);
	struct strs all = { &one, one != NULL };
	int r = 0;

	if (o->type == OPT_TYPE_STRS)
		all = *(const struct strs *)((const char *)params + o->offset);
	for (size_t i = 0; o->reads && r == 0 && i < all.n; i++)
		r = refuse_if(f, all.v[i], true, "what is to be read", err);
	return r;
}

/* What is read, or measured, is not written. */
static int check_inputs(const struct output_request *q, const struct outfile *f, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->noperands; i++)
		r = refuse_if(f, q->operands[i], q->reads_folders, q->operands_are, err);
	for (size_t i = 0; i < q->nsets; i++)
		for (const struct opt *o = q->sets[i].opts; r == 0 && o && o->type != OPT_TYPE_END; o++)
			r = check_input(f, o, q->sets[i].params, err);
	return r;
}

int output_open(const struct output_request *q, struct err *err)
{
	const char *on_stdout = NULL;
	int r = 0;

	for (size_t i = 0; i < q->nsets; i++)
		for (const struct opt *o = q->sets[i].opts; r == 0 && o && o->type != OPT_TYPE_END; o++)
			if (o->writes && text_of(o, q->sets[i].params))
				r = add(q, o, text_of(o, q->sets[i].params), &on_stdout, err);
	for (const struct outfile *f = q->files->first; r == 0 && f; f = f->next)
		r = check_inputs(q, f, err);
	return r;
}

/* ---- writing ---- */

int documents_csv(FILE *f, void *arg)
{
	const struct documents *d = arg;

	return report_csv(f, d->v, d->n);
}

int documents_page(FILE *f, void *arg)
{
	const struct documents *d = arg;

	return report_page(f, d->v, d->n, &d->options, d->err);
}

int documents_metrics(FILE *f, void *arg)
{
	const struct documents *d = arg;

	return report_prometheus(f, d->v, d->n, d->metrics_threshold);
}

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
	/* Some file systems report a failed write only at close. */
	copy = fd >= 0 ? dup(fd) : -1;
	if (copy >= 0 && close(copy) < 0)
		return err_set(err, -errno, "Writing to standard output failed (%s); what is missing there is lost.",
		               err_name(errno));
	return 0;
}

int output_save(const struct outfiles *files, const char *path, FILE *out, int (*write)(FILE *f, void *arg), void *arg,
                struct err *err)
{
	int r;

	if (strcmp(path, "-") != 0)
		return outfile_save(outfiles_find(files, path), write, arg, err);
	r = write(out, arg);
	if (r == -EIO && output_flush(out, err) < 0) /* it may know better */
		return err->code;
	return r < 0 ? err_set(err, r, "Writing to standard output failed (%s); what is missing there is lost.",
	                       err_name(r))
	             : 0;
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
