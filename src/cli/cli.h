/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only layer that prints, exits and handles signals. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/desc.h"
#include "base/err.h"
#include "base/opt.h"
#include "report/report.h"
#include "session/session.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3,
	EXIT_DISK_ERRORS = 4,  /* done, but the disk returned errors: the figures stand */
	EXIT_VERDICT_NO = 5,   /* stream not sustained, compare found a difference */
	EXIT_VERDICT_OPEN = 6, /* neither yes nor no: the run cannot tell */
	EXIT_SIGNAL = 128,     /* + signal number */
};

/* For --describe and the manual pages; ends with name NULL. */
extern const struct exit_code_info {
	int code;
	const char *name, *help;
} exit_codes[];
/* Of a document that was made without trouble. */
static inline int exit_of_verdict(const struct result *res)
{
	return res->verdict_is_no ? EXIT_VERDICT_NO : res->verdict_is_open ? EXIT_VERDICT_OPEN : EXIT_DONE;
}

/* The whole program but the outside: returns the exit status. */
int cli_main(const struct env *env, int argc, char **argv);

/* ---- commands ---- */

/* Options of all commands. */
struct view_params {
	int color; /* enum color_when */
	bool plot, tables, version;
	const char *help; /* NULL: not asked for; "own", "all" */
};
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
extern const struct opt view_opts[];

/* What can follow `platter`: a measurement, or a command that works on documents and opens no device. */
struct command {
	const char *name, *help;       /* help: lower case, no full stop */
	const char *group;             /* heading in `platter --help` */
	const char *operands;          /* synopsis: "RESULT..." */
	const struct opt *opts;        /* its own, besides view_opts */
	const struct measure *measure; /* or NULL, and all below: */
	unsigned min_operands, max_operands;
	size_t params_size;
	/* Returns the exit status, or a negative errno and a sentence (-EINVAL: usage). */
	int (*run)(const struct env *env, const struct view_params *view, const void *params,
	           const char *const *operands, size_t n, struct err *err);
};
extern const struct command report_command, compare_command; /* report_cmd.c */

/* commands.c: the i-th of all; false: there are no more. The one of that name; false: there is none. */
bool cli_command(size_t i, struct command *ret);
bool cli_find_command(const char *name, struct command *ret);
/* help.c */
void cli_help_short(FILE *out); /* what one can do, in ten lines */
void cli_help_all(FILE *out);
/* --help, --version: true: that is all. */
bool cli_help_asked(const struct env *env, const struct command *c, const struct view_params *view);
/* is_all: of a measurement with the options that all have. */
void cli_help(const struct env *env, FILE *out, const struct command *c, bool is_all);

/* ---- again.c ---- */

/* --again: computes the figures of a document anew from its own samples, and adds a notice that says which ones, and
 * which are not as they were. */
int cli_again(struct result *res, struct err *err);

/* ---- screen.c ---- */

/* The first screen of a document from its own figures, as its measurement has it; nothing when that says nothing of
 * them. */
void cli_screen(struct result *res);

/* ---- common.c: options of every measurement ---- */

struct cli_params {
	struct common_params common; /* what the run reads */
	const char *json, *jsonl, *csv, *log, *html, *prometheus, *requests;
	bool quiet;
	int progress; /* enum progress_mode */
};
extern const struct opt common_opts[];

#define COMMON_OPTS_MAX 34
/* The common table as it is for one measurement: its own --precision, the engines there are. Holds what the copy points
 * to. */
struct common_table {
	struct opt opts[COMMON_OPTS_MAX];
	const char *engines[16];
	char precision[32];
};
void common_table_init(struct common_table *t, const struct env *env, const struct measure *m);
void common_settle(struct cli_params *p); /* no progress under --quiet */

/* ---- run.c ---- */

/* The whole command line: argv[1] is the measurement's name. Returns the exit status. */
int run_measure(const struct env *env, const struct measure *m, int argc, char **argv);
/* Prints "platter NAME: sentence" to env->err. */
void cli_say(const struct env *env, const char *name, const char *what, const char *text, const char *step);
void cli_complain(const struct env *env, const char *name, const struct err *err);

/* ---- output.c: files that we write, and what the terminal can show ---- */

/*
 * Opens all files that options name, and refuses what base/outfile.h does, and what is read or measured: -EPERM.
 * -EINVAL: two of one name. Others: it cannot be written. is_forced: --force. outfiles_done() closes.
 */
struct output_request {
	const struct output_set {
		const struct opt *opts;
		const void *params;
	} * sets;
	size_t nsets;
	const char *const *operands;
	size_t noperands;
	const char *operands_are; /* "what is to be measured" */
	bool reads_folders;       /* operands may be folders of documents */
	bool is_forced;
	struct outfiles *files;
};
int output_open(const struct output_request *q, struct err *err);
/* To the file that was opened under this name; "-": out. write: 0 or negative errno. */
int output_save(const struct outfiles *files, const char *path, FILE *out, int (*write)(FILE *f, void *arg), void *arg,
                struct err *err);
/* What output_save() writes of documents; arg: this. */
struct documents {
	const struct result *const *v;
	size_t n;
	struct compare_options options;
	double metrics_threshold; /* NaN: of no fleet */
	struct err *err;
};
int documents_csv(FILE *f, void *arg);
int documents_page(FILE *f, void *arg);
int documents_metrics(FILE *f, void *arg);
static inline bool output_is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}
/* What was written to the stream has arrived: 0, or negative errno and a sentence. */
int output_flush(FILE *out, struct err *err);
unsigned output_width(FILE *f); /* columns of the terminal behind it, else $COLUMNS, else 80 */
struct text_style output_style(FILE *out, const struct view_params *view);

/* ---- log.c: --log; NULL is fine and does nothing ---- */

struct log;
struct log *log_new(int fd); /* takes the descriptor */
/* One line with time stamp and process id, and before it what could not be written: 0, or negative errno. */
int log_line(struct log *l, const char *name, const char *text);
int log_close(struct log *l); /* negative errno: lines are missing */

/* ---- saver.c: the document while the run goes on; NULL is fine and does nothing ---- */

struct saver;
struct saver *saver_new(struct outfile *file, struct outfile *lines); /* NULL: neither */
/* As it is now, by a thread of its own. */
void saver_put(struct saver *s, const struct result *res);
/* Appends a line, which it owns, to the file of lines. */
void saver_append(struct saver *s, char *line);
/* How the last one went, once: code 0: well. */
bool saver_news(struct saver *s, struct err *ret);
void saver_rest(struct saver *s); /* waits until all that was put is saved */
void saver_free(struct saver *s);

/* ---- requests.c: --requests, one CSV row per request ---- */

struct requests;
struct requests *requests_new(struct outfile *file); /* NULL: no file; it is made with the first request */
void requests_take(struct requests *r, const char *target, const struct io_req *req, uint64_t start_ns);
uint64_t requests_count(const struct requests *r);       /* 0 for NULL */
int requests_close(struct requests *r, struct err *err); /* frees; NULL is fine */

/* ---- signals.c ---- */

/* The number of the signal that came, 0: none. It, the time of it and the next one are the only mutable globals of the
 * program. */
extern atomic_int cli_signal;
/* SIGUSR1 asked for a line of progress; whoever prints it takes it back. */
extern atomic_bool cli_is_asked;
/* SIGINT, SIGTERM, SIGHUP: the first is noted in cli_signal, the second takes its default action. SIGPIPE is an error
 * of write. */
void signals_catch(void);
/*
 * The end of the program: one that a signal has ended says so by ending by it, or a shell's loop would go on with the
 * next disk. Shells call that 128 + n. Any other status is returned.
 */
int signals_end(int status);

/*
 * For who waits for processes: a descriptor that is readable when a signal came, or the end of a process; until
 * *ret_before is in force again, none comes otherwise. -1: there is none.
 */
int signals_open(sigset_t *ret_before);
/* The next that is to be passed on, with this as its value: 1: the first, 2: the second; 0: none. */
int signals_take(int fd, int *ret_number);

/* ---- describe.c: the hidden --describe; complete.c: the hidden --complete ---- */

int cli_describe(const struct env *env, FILE *out);
/* Candidates for the last word, one a line, a tab before an explanation; ":files" or ":dirs" ask the shell. */
int cli_complete(const struct env *env, FILE *out, int argc, char **argv);

/* ---- progress.c ---- */

enum progress_mode { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };
struct progress;
/* All other functions are fine with NULL. name: of the measurement. */
struct progress *progress_new(FILE *out, struct clock *clk, enum progress_mode mode, const char *name);
/* done: 0 .. 1 of the whole run, negative: not known now. figure: NULL or the current one. */
void progress_update(struct progress *p, const char *phase, double done, const char *figure);
/* A map above the line from now on: cells as session_map() has them. Drawn with the next update, on terminals that know
 * escapes. */
void progress_map(struct progress *p, const uint8_t *cells, size_t n);
void progress_clear(struct progress *p); /* before anything else is printed */
void progress_free(struct progress *p);
