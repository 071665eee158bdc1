/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accesses between two places as rows of the document, and back: what all figures of the seek curve follow from. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/seek/analysis.h"

struct access_row {
	const char *of, *aimed, *end;
	uint64_t tracks, pair;
	double stroke_ratio, distance_bytes, access_ns, wait_ns;
};

const struct field seek_access_fields[] = {
	FIELD_STR(struct access_row, of, "of", .detail = true),
	FIELD_F64(struct access_row, stroke_ratio, UNIT_RATIO, "distance, share of the stroke", .detail = true),
	FIELD_U64(struct access_row, tracks, UNIT_COUNT, "tracks", .detail = true),
	FIELD_U64(struct access_row, pair, UNIT_COUNT, "pair of places", .detail = true),
	FIELD_F64(struct access_row, distance_bytes, UNIT_BYTES, "distance", .detail = true),
	FIELD_F64(struct access_row, access_ns, UNIT_NS, "access, to the sector's begin", .detail = true),
	FIELD_F64(struct access_row, wait_ns, UNIT_NS, "until the sector has come by", .detail = true),
	FIELD_STR(struct access_row, aimed, "aimed", .detail = true),
	FIELD_STR(struct access_row, end, "came", .detail = true),
	FIELD_END,
};

static const char *const how_names[] = { "anywhere", "evenly", "edge", "random", "blurred" }, *const end_names[] = {
	"there", "elsewhere", "cache"
};

void seek_report_accesses(struct result *res, const char *of, const struct seek_point *p)
{
	struct table *t = result_table(res, "accesses", "Accesses between two places", seek_access_fields);

	for (size_t i = 0; i < p->log.n; i++) {
		const struct aim_access *a = &p->log.access[i];
		struct access_row row = { of,
			                  how_names[a->how],
			                  end_names[a->end],
			                  p->tracks,
			                  a->pair,
			                  p->stroke > 0.0 ? p->stroke : (double)NAN,
			                  a->bytes,
			                  a->ns,
			                  a->wait_ns > 0.0 ? a->wait_ns : (double)NAN };

		result_row(t, &row);
	}
}

#define RANDOM_READS "reads" /* what they are of */

void seek_report_read(struct result *res, const struct seek_random *read)
{
	struct table *t = result_table(res, "accesses", "Accesses between two places", seek_access_fields);
	struct access_row row = {
		RANDOM_READS, how_names[AIM_RANDOM], end_names[AIM_THERE], 0, 0, read->stroke, read->bytes, read->ns,
		NAN
	};

	result_row(t, &row);
}

size_t seek_load_reads(const struct table *t, struct seek_random *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nrows && n < SEEK_RANDOM_MAX; i++) {
		struct access_row row;

		table_row(t, i, seek_access_fields, &row);
		if (row.of && strcmp(row.of, RANDOM_READS) == 0 && isfinite(row.access_ns) && row.stroke_ratio >= 0.0)
			ret[n++] = (struct seek_random){ .stroke = row.stroke_ratio,
				                         .ns = row.access_ns,
				                         .bytes = row.distance_bytes };
	}
	return n;
}

static size_t index_of(const char *const *names, size_t n, const char *name)
{
	size_t i = 0;

	while (i < n && (!name || strcmp(names[i], name) != 0))
		i++;
	return i;
}

size_t seek_load_accesses(const struct table *t, const char *of, struct seek_point *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nrows; i++) {
		struct access_row row;
		struct aim_access a;
		size_t k = 0;

		table_row(t, i, seek_access_fields, &row);
		row.stroke_ratio = isfinite(row.stroke_ratio) ? row.stroke_ratio : 0.0;
		a = (struct aim_access){ .ns = row.access_ns,
			                 .bytes = row.distance_bytes,
			                 .wait_ns = isfinite(row.wait_ns) ? row.wait_ns : 0.0,
			                 .pair = (uint32_t)row.pair,
			                 .how = (enum aim_how)index_of(how_names, ARRAY_LEN(how_names), row.aimed),
			                 .end = (enum aim_end)index_of(end_names, ARRAY_LEN(end_names), row.end) };
		/* A pair has an access at least: what a file numbers beyond that is none. */
		if (!row.of || strcmp(row.of, of) != 0 || a.how > AIM_BLURRED || a.end > AIM_CACHE ||
		    row.pair >= ARRAY_LEN(ret[k].log.access) || !isfinite(row.access_ns))
			continue;
		while (k < n && (ret[k].tracks != row.tracks || ret[k].stroke != row.stroke_ratio))
			k++;
		if (k == CURVE_POINTS || ret[k].log.n == ARRAY_LEN(ret[k].log.access))
			continue;
		n = k < n ? n : k + 1;
		ret[k].tracks = row.tracks;
		ret[k].stroke = row.stroke_ratio;
		ret[k].log.access[ret[k].log.n++] = a;
		if (aim_shows(&a) && ret[k].log.pairs <= a.pair)
			ret[k].log.pairs = a.pair + 1;
	}
	return n;
}

/* What the likelihood takes of a log, of one pair (or of all: -1). */
size_t seek_log_samples(const struct aim_log *log, int64_t pair, struct arrival_sample *ret, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n && n < most; i++)
		if (aim_shows(&log->access[i]) && (pair < 0 || log->access[i].pair == (uint32_t)pair))
			ret[n++] = (struct arrival_sample){ log->access[i].ns, pair < 0 ? log->access[i].pair : 0 };
	return n;
}

bool seek_even_mean(const struct aim_log *log, struct summary *ret)
{
	double v[ARRAY_LEN(log->access)];
	size_t n = 0;

	for (size_t i = 0; i < log->n; i++)
		if (log->access[i].how == AIM_EVENLY && log->access[i].end != AIM_CACHE)
			v[n++] = log->access[i].ns;
	return n && summary_of(v, n, ret);
}

uint64_t seek_distance(const struct aim_log *log, uint64_t *ret_reads, uint64_t *ret_hits)
{
	double sum = 0.0;

	*ret_reads = *ret_hits = 0;
	for (size_t i = 0; i < log->n; i++)
		if (log->access[i].end == AIM_CACHE) {
			++*ret_hits;
		} else {
			sum += log->access[i].bytes;
			++*ret_reads;
		}
	return *ret_reads ? (uint64_t)(sum / (double)*ret_reads) : 0;
}
