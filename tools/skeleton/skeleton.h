/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of `skeleton`, each knowing only those before it; nobody else includes this. For now the measurement reads
 * single blocks at random places, one at a time, and reports the mean time.
 */
#pragma once

#include "session/session.h"

struct skeleton_params { /* what the options fill */
	uint64_t count, block_bytes;
};

/* ---- plan.c: options and the device to what will be done, or a sentence why not ---- */

extern const struct opt skeleton_opts[];
int skeleton_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);

/* ---- run.c: requests out, samples kept; nothing is judged here ---- */

struct skeleton_sample { /* a row of the document: names carry the unit and are for ever */
	uint64_t offset_bytes, service_ns;
};
struct skeleton_samples {
	struct skeleton_sample *v; /* free() it */
	size_t n;
};

/* Fills *ret with the reads that were good. 0 or negative errno and a sentence; also then there may be some. */
int skeleton_read(struct session *ses, const struct skeleton_params *p, struct skeleton_samples *ret, struct err *err);

/* ---- analyse.c: samples to estimates with intervals; no session, no document, no clock ---- */

struct skeleton_found {
	bool has_mean;
	double mean_ns;
	struct interval mean_ci;
	size_t n;
};

/* 0 or -ENOMEM. */
int skeleton_analyse(const struct skeleton_samples *samples, struct skeleton_found *ret);

/* ---- report.c: samples and estimates to rows, figures, notices, plots ---- */

extern const struct field skeleton_sample_fields[];
extern const struct measure_table skeleton_tables[];
void skeleton_report_samples(struct result *res, const struct skeleton_samples *samples);
void skeleton_report_figures(struct result *res, const struct skeleton_found *found);
