/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame around every measurement. A measurement ends in one `struct measure`: options, plan, run
 * (measure/measures.h lists them). run() works through a `struct session`, which holds everything from outside and the
 * steps that measurements share.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/desc.h"
#include "base/err.h"
#include "base/outfile.h"
#include "device/device.h"
#include "engine/engine.h"
#include "load/load.h"
#include "result/result.h"
#include "session/screen.h"
#include "stats/stats.h"

/* Everything from outside. Filled in main.c (and in tests), nowhere else. */
struct env {
	const struct engine_ops *const *engines; /* NULL-terminated, best first */
	struct clock *clk;
	const struct device_ops *devices;
	void *devices_ctx;
	const char *sysroot;   /* "/" */
	const char *boot_id;   /* of this start of the machine; "": not known */
	bool drops_privileges; /* a program of its own, not a test */
	FILE *out, *err;
};

/* Options that every measurement has; cli/common.c has the table, and those that are the cli's alone. */
struct common_params {
	const char *engine;  /* "auto" */
	uint64_t seed;       /* 0: from the clock; the one in force is in the result */
	double precision;    /* relative half-width of the 95 % interval to stop at; 0: the command's own */
	uint64_t time_ns;    /* budget of the run; 0: the command's own */
	uint64_t max_errors; /* 0: however many */
	bool dry_run, no_smart;
	struct consent consent;
	struct outfiles files; /* all that options name, open */
	bool is_forced;        /* --force */
};

#define PLAN_PHASES 24

/* An envelope that the run may not leave; --dry-run prints it. */
struct plan {
	struct {
		const char *name;
		uint64_t expect_ns;
	} phases[PLAN_PHASES];
	size_t nphases;
	uint64_t read_bytes, write_bytes; /* at most, 0: none; UINT64_MAX: not bounded by bytes */
	/* a file beside, in which bytes are kept that come back; 0: none of a size that matters */
	uint64_t journal_bytes;
	uint64_t touch_first, touch_end; /* bytes of each target; end 0: all of it */
	enum write_kind writes;
	bool is_direct;        /* targets are opened O_DIRECT */
	bool is_latency;       /* hold /dev/cpu_dma_latency if allowed */
	bool keeps_privileges; /* what the run does only root may do (info) */
	bool in_turn;          /* one target after the other: they do not slow each other */
	bool lasts; /* --time is how long it is to last, or it calls session_ended_early(); else its end is early */
	bool reads_data;   /* of files that platter made the data alone, as far as they were written */
	bool opens_itself; /* the session does not open the targets (info; files that the measurement makes) */
};
void plan_phase(struct plan *plan, const char *name, uint64_t expect_ns);
/* The time of these bytes at 100 MB/s: a guess, before anything was read. */
uint64_t plan_guess_ns(uint64_t bytes);
/* 0, or -EINVAL and a sentence: --block has to be a multiple of the unit in which dev is read and written. */
int plan_block(const struct device *dev, uint64_t block_bytes, uint32_t unit_bytes, struct err *err);

struct session {
	const struct env *env;
	const struct common_params *common;
	const struct measure *measure;
	struct device *devs;
	size_t ndevs;
	struct target *targets; /* one per device, opened as the plan says */
	struct write_permit **permits;
	struct result *res;
	const struct plan *plan;
	const atomic_int *cancel; /* signal number, 0: go on */
	uint64_t seed;            /* in force */
	uint64_t start_ns;
	struct session_hooks {
		/* Saves what is there (json). */
		void (*checkpoint)(void *arg, struct session *ses);
		/* phase: name; done 0..1 of the whole run; figure: "183.2 MB/s" or NULL. */
		void (*progress)(void *arg, struct session *ses, const char *phase, double done, const char *figure);
		/* The target in cells, for who watches: see session_map(). NULL: nobody does. */
		void (*map)(void *arg, struct session *ses, const uint8_t *cells, size_t n);
		/* Something that has to be known before anything is written; it becomes a notice as well. */
		void (*warn)(void *arg, struct session *ses, const char *text);
		/* One time-stamped line for --log. */
		void (*log)(void *arg, struct session *ses, const char *line);
		/* Every request of session_load(), as it completed (--requests). */
		void (*request)(void *arg, struct session *ses, const char *target, const struct io_req *req,
		                bool is_fault);
		void *arg;
	} hooks;
	struct session_state *state; /* internal.h */
	/* A part of another; the hooks hear of that one. NULL: it is the whole. */
	struct session *whole;
	const struct session_part *part;
};

/* A measurement as part of another: it has the targets that are open, a budget, and a document of its own. */
struct session_part {
	const struct measure *measure;
	const char *words; /* its options, blanks between them: "--quick --no-queue" */
	const char *whole; /* one more, in which blanks stay; or NULL */
	uint64_t time_ns;  /* its --time */
	unsigned index;    /* among its siblings, for the seed */
	double from, to;   /* of the progress of the whole, 0 to 1 */
	/* Saves the whole with what the part has so far. */
	void (*save)(struct session *whole, const struct result *part);
};

/*
 * Plans and runs it. *ret is its document, also after most failures, with a status of its own. -EINVAL: it cannot be
 * done with this target, and the sentence why; -EPERM: it would write.
 */
int session_run_part(struct session *ses, const struct session_part *part, struct result **ret, struct err *err);

/* Headings of `platter --help`: what a person came for. */
#define GROUP_DEVICE  "Look at a device"
#define GROUP_DISK    "Measure what the disk does"
#define GROUP_PROGRAM "Measure what a program gets"
#define GROUP_RESULT  "Look at results"

enum { TAKES_DISKS = 1, TAKES_FILES = 2, TAKES_FOLDERS = 4 };

struct measure {
	const char *name, *help; /* help: lower case, no full stop */
	const char *group;       /* one of GROUP_ */
	const char *targets;     /* "DEVICE...", "FILE", "DIRECTORY": synopsis */
	bool needs_no_target;
	unsigned max_targets; /* 0: one */
	unsigned takes;       /* TAKES_ bits; 0: whatever there is */
	bool may_create;      /* a target that does not exist yet is fine (passes, transactions) */
	bool puts_back;       /* writes without being asked to (recover) */
	const struct opt *opts;
	size_t params_size;
	bool judges;           /* what fails is part of its verdict, which its exit status is */
	bool is_each_alone;    /* several targets: a run, a process and a document for each */
	bool takes_all_errors; /* it goes on however many errors there are: --max-errors has no default */
	double precision;      /* default of --precision; 0: its own options say how much is measured */
	/* Checks params against the devices and says what will be done. -EINVAL and a sentence: usage. */
	int (*plan)(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);
	/* 0 also when cancelled or with faults: the status says so. Negative errno: we could not do our job; -EINVAL or
	 * -EEXIST before the first progress: it refuses what an option gave it, and no document is made. */
	int (*run)(struct session *ses, const void *params, struct err *err);
	/* Optional: when all that is known of the run is in the document, and its status. */
	void (*conclude)(struct session *ses, struct result *res);
	/*
	 * Optional (`platter report --again`): the figures of a saved document computed anew from the samples in it, by
	 * the very functions that run() has its figures from. saved: as it was loaded; its tables give the rows
	 * (table_row() makes the structs of them again), its head the options and the seed. ret: an empty document;
	 * result_figure() and result_row() into it whatever follows from the samples, and leave out what they do not
	 * show (counters of the kernel, what was drawn and not kept): it stays as it was measured. No device, no clock,
	 * no session: if this is hard to write, the analysis is not pure yet. A measurement plugs in by `.again =
	 * NAME_again` and is tested by tests/cli/again.sh. 0, or negative errno and a sentence (-ENODATA: the samples
	 * are not in this document).
	 */
	int (*again)(const struct result *saved, struct result *ret, struct err *err);
	const struct screen_decl *screen;
	/* All tables it can make, for --describe and the man check; NULL-terminated. */
	const struct measure_table {
		const char *name, *title;
		const struct field *fields;
	} * tables;
};

/* ---- session.c: the frame ---- */

/*
 * From parsed options to a finished document: probes the targets, plans, gets permits, opens, runs, watches for
 * interference, fills head and status. *ret_res is a document also after most failures (NULL only when there is none);
 * the cli renders it. 0 or negative errno and a sentence: -EINVAL usage; *ret_refused is set when the write gate said
 * no.
 */
struct session_config {
	const struct env *env;
	const struct measure *measure;
	const struct common_params *common;
	const void *params;
	const char *const *paths;
	size_t npaths;
	const char *const *argv;
	size_t argc;
	const struct option_value *options; /* in force, as the cli prints them; goes into the head */
	size_t noptions;
	const atomic_int *cancel;
	struct session_hooks hooks;
};
int session_run(const struct session_config *cfg, struct result **ret_res, bool *ret_refused, struct err *err);
/*
 * targets.c: of targets that are measured each by itself, a number each: those with the same share a disk or a link,
 * and take turns. -EINVAL: two have bytes in common.
 */
int session_lanes(const struct env *env, const char *const *paths, size_t n, size_t *ret_lane, struct err *err);
/* Of the targets that share the disk of target i the first? false: no disk is known. */
bool session_is_first_of_disk(const struct session *ses, size_t i);
/* Where none was given. */
uint64_t session_fresh_seed(struct clock *clk);

/* ---- steps.c: what run() calls within it ---- */

/* An engine as --engine says; notes of the engine become notices. Close with engine_close(). The name lands in the
 * head. */
int session_engine(struct session *ses, const struct engine_config *cfg, struct engine **ret_eng, struct err *err);
/* One that knows IO_VERIFY and FUA, whatever --engine says. */
int session_commands(struct session *ses, const struct engine_config *cfg, struct engine **ret_eng, struct err *err);

/*
 * Of a target that is an existing file, does a disk hold its bytes from first to end? -EINVAL and the reason
 * for a direct run when it does not; otherwise a notice. Other targets: 0. The session asks for the targets that it
 * opens itself.
 */
int session_medium(const struct session *ses, size_t i, uint64_t first, uint64_t end, bool is_direct, struct err *err);
/* A notice where direct writes to files may go through the page cache all the same. */
void session_medium_of_writes(const struct session *ses);

/*
 * load_run() with faults, limits, cancel and stall reports wired into the result. load->cancel, max_faults, on_fault
 * and on_stall are filled in here; on_tick with its arg is the measurement's. Keeps the account of own I/O for the
 * interference check.
 */
int session_load(struct session *ses, struct load *load, struct engine *eng, struct load_stats *ret, struct err *err);
/* What a measurement moved past session_load(), for that account. target: index of the device. */
void session_moved(struct session *ses, size_t target, uint64_t read_bytes, uint64_t written_bytes);
/* A request past session_load() failed now: on record. Its negative errno, -EIO for a short one. */
int session_fault(struct session *ses, const char *target, const char *op, uint64_t offset_bytes, uint64_t len_bytes,
                  int64_t res);
/* Has the run to end now (signal, device gone, too many faults)? */
bool session_is_over(const struct session *ses);
/* Why, or that --time is over, in words that go behind "it ended early:"; NULL: none of these. */
const char *session_why_over(const struct session *ses);
/* The run came to less than its end, though --time may be left: its status says so, where no error says more. */
void session_ended_early(struct session *ses);

/*
 * When the last request completed, or the run began. Who asks this how late it is, and not the clock, decides the same
 * when a run is had again from what was answered (replay.h).
 */
uint64_t session_answered_ns(const struct session *ses);

/* What the disk of a device said of itself before the run. */
const struct device_health *session_health(const struct session *ses, size_t i);

/* Relative half-width to reach; ns left of the time budget (UINT64_MAX: none given). */
double session_precision(const struct session *ses);
uint64_t session_time_left_ns(const struct session *ses);

/* Ticks of 10 ms that the hypervisor took from all processors, since boot; 0: not known, or virtual time. */
uint64_t session_stolen_ticks(const struct session *ses);
/* So long this program did not run until now (frozen, stopped, suspended, without a CPU): no figure has that in it. */
uint64_t session_stopped_ns(const struct session *ses);
/* By a clock that stands meanwhile. A load by_own_clock has all its times so. */
uint64_t session_now_ns(const struct session *ses);
/*
 * What others moved on the disk of a target until now, by the kernel's counters, to compare with later; UINT64_MAX: not
 * known.
 */
uint64_t session_foreign_bytes(const struct session *ses, size_t target);

/* Saves the document as it is; session_load() and session_progress() do it at least once a minute. */
void session_checkpoint(struct session *ses);
/*
 * Asked in on_tick, before session_progress(): is the document saved now? Then what came of the load so far belongs
 * into it: the run may be killed.
 */
bool session_saves_now(const struct session *ses);
/*
 * A file that an option of the measurement names. A full disk does not end a run: when saving fails for such a reason
 * it is said once, 0 comes back, and the next time, or the end, tries again. session_grow(): the descriptor of one that
 * grows.
 */
int session_save(struct session *ses, const char *path, enum outfile_kind kind, int (*write)(FILE *out, void *arg),
                 void *arg, struct err *err);
int session_grow(struct session *ses, const char *path, enum outfile_kind kind, struct err *err);
/* The target in cells from its start to its end: 0 where nothing was done yet, else a class, the worse the more, up to
 * SESSION_MAP_WORST. */
#define SESSION_MAP_WORST 8
void session_map(struct session *ses, const uint8_t *cells, size_t n);
void session_progress(struct session *ses, const char *phase, double done, const char *figure_fmt, ...)
	__attribute__((format(printf, 4, 5)));
void session_log(struct session *ses, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A generator for the given purpose, derived from the seed of the run. */
void session_rng(const struct session *ses, uint64_t stream, struct rng *ret);
