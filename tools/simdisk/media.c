/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arm and spindle. One walk serves reading, reading ahead and writing: it goes over the sectors in order, in phase
 * (revolutions), and stops for nothing but slow and bad sectors, lost revolutions and the end.
 */
#include "disk.h"

double phase_at(const struct disk *d, double t_ns)
{
	double x = t_ns / d->period_ns;

	if (d->p.spindle.wobble > 0)
		x += d->p.spindle.wobble * sin(2 * M_PI * t_ns / (d->p.spindle.wobble_period_s * 1e9));
	if (d->p.spindle.drift != 0)
		x += d->p.spindle.drift * d->p.spindle.drift_s * 1e9 / d->period_ns *
		     -expm1(-t_ns / (d->p.spindle.drift_s * 1e9));
	return x;
}

/* The inverse: a contraction, as profile_finish keeps the slopes of wobble and drift well below the spindle's. */
double time_at(const struct disk *d, double phase)
{
	double t = phase * d->period_ns;
	int i;

	if (d->p.spindle.wobble > 0 || d->p.spindle.drift != 0)
		for (i = 0; i < 60; i++) {
			double better = t - (phase_at(d, t) - phase) * d->period_ns;

			if (fabs(better - t) < 1e-3)
				return better;
			t = better;
		}
	return t;
}

double stall_skip(const struct disk *d, double t)
{
	size_t i;

	for (i = 0; i < d->p.faults.nstalls; i++) {
		double from = d->p.faults.stalls[i].at_s * 1e9, to = from + d->p.faults.stalls[i].length_s * 1e9;

		if (t >= from && t < to)
			t = to;
	}
	return fmax(t, d->noise.frozen_until);
}

double stall_extra(const struct disk *d, double from, double to)
{
	double extra = 0;
	size_t i;

	for (i = 0; i < d->p.faults.nstalls; i++) {
		double at = d->p.faults.stalls[i].at_s * 1e9;

		if (from < at && to + extra > at)
			extra += d->p.faults.stalls[i].length_s * 1e9;
	}
	return extra;
}

/* ---- trouble on the way ---- */

static bool is_healed(const struct region *r, uint64_t sector)
{
	return r->healed && r->healed[(sector - r->first) / 8] >> ((sector - r->first) % 8) & 1;
}

bool media_is_bad(const struct region *r, uint64_t sector, enum disk_op op)
{
	if (!(r->kind & (op == DISK_WRITE ? BAD_WRITE : BAD_READ)))
		return false;
	return !is_healed(r, sector);
}

/* Index of the first region that ends after the sector. */
static size_t region_after(const struct region *r, size_t n, uint64_t sector)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = (low + n) / 2;

		if (r[mid].end <= sector)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* What was written from first to end. */
static void heal(struct region *v, size_t n, uint64_t first, uint64_t end)
{
	for (size_t i = region_after(v, n, first); i < n && v[i].first < end; i++)
		for (uint64_t s = v[i].first > first ? v[i].first : first; v[i].healed && s < v[i].end && s < end; s++)
			v[i].healed[(s - v[i].first) / 8] |= (uint8_t)(1u << ((s - v[i].first) % 8));
}

/* First sector in [from, to) that is slow or bad for op; `to` when there is none. */
static uint64_t next_trouble(const struct disk *d, uint64_t from, uint64_t to, enum disk_op op, enum trouble *ret_kind,
                             const struct region **ret)
{
	uint64_t found = to;
	size_t i;

	*ret_kind = TROUBLE_NONE;
	i = region_after(d->media.bads, d->media.nbads, from);
	for (; i < d->media.nbads && d->media.bads[i].first < found; i++) {
		const struct region *r = &d->media.bads[i];
		uint64_t s = r->first > from ? r->first : from;

		if (!(r->kind & (op == DISK_WRITE ? BAD_WRITE : BAD_READ)))
			continue;
		while (s < r->end && s < found && !media_is_bad(r, s, op))
			s++;
		if (s < r->end && s < found) {
			found = s;
			*ret_kind = TROUBLE_BAD;
			*ret = r;
		}
	}
	if (op == DISK_WRITE)
		return found;
	i = region_after(d->media.slows, d->media.nslows, from);
	for (; i < d->media.nslows && d->media.slows[i].first < found; i++) {
		const struct region *r = &d->media.slows[i];
		uint64_t s = r->first;

		if (s < from)
			s += (from - s + r->every - 1) / r->every * r->every;
		while (s < r->end && s < found && is_healed(r, s))
			s += r->every;
		if (s < r->end && s < found) {
			found = s;
			*ret_kind = TROUBLE_SLOW;
			*ret = r;
		}
	}
	return found;
}

/* The first sector in [from, to) that cannot be read; `to` when there is none. */
static uint64_t next_bad(const struct disk *d, uint64_t from, uint64_t to)
{
	enum trouble kind = TROUBLE_SLOW;
	const struct region *r;

	while (d->media.nbads && from < to && kind == TROUBLE_SLOW) {
		uint64_t at = next_trouble(d, from, to, DISK_READ, &kind, &r);

		if (kind == TROUBLE_BAD)
			return at;
		from = at + 1;
	}
	return to;
}

/* ---- the walk ---- */

/* Lets the head be over the first sector of place: moves there if it is elsewhere (which takes least_ns anyway), waits
 * for the angle. Returns the time of the move. */
static double arrive(struct disk *d, double *phase, const struct place *to, double settle_ns, double least_ns)
{
	double move = 0;

	if (d->head.cylinder != to->cylinder || d->head.surface != to->surface) {
		move = noise_move_ns(d, to) + settle_ns;
		d->head.cylinder = to->cylinder;
		d->head.surface = to->surface;
	}
	move = fmax(move, least_ns);
	if (move > 0)
		*phase = phase_at(d, time_at(d, *phase) + move);
	d->noise.waited = geo_wait(geo_frac(*phase), to->angle, d->slack);
	*phase += d->noise.waited;
	return move;
}

/* As arrive, for an access of its own, and not while it streams: it may miss revolutions. */
static double access_place(struct disk *d, double *phase, const struct place *to, double settle_ns)
{
	double missed, move;

	d->noise.pending_ms = NAN; /* what a stream had drawn and did not come to */
	missed = noise_missed(d, to);
	move = arrive(d, phase, to, settle_ns, d->p.seek.restart_ms * 1e6);
	*phase += missed;
	d->noise.pending_ms = NAN;
	return move;
}

static void lose_revolutions(struct disk *d, double *phase)
{
	while (d->noise.retry_left <= 0) {
		d->noise.retry_left += rng_exp(&d->rng, d->noise.retry_sectors);
		*phase += 1;
	}
}

struct walk {
	enum disk_op op;
	uint64_t at, to;
	double phase;       /* when everything before `at` has passed */
	double phase_limit; /* a sector that would not be over by then is not begun */
	struct place place; /* of at */
	bool is_placed;     /* place is valid, and the head over it at `phase` */
	int err;
	double unrest; /* how much faster than in the mean the next lost revolution comes nearer */
	uint64_t next; /* slow or bad sector ahead; `to`: none */
	enum trouble kind;
	const struct region *region;
};

static void look_ahead(const struct disk *d, struct walk *w, uint64_t from)
{
	w->next = next_trouble(d, from, w->to, w->op, &w->kind, &w->region);
}

/* Moves to where `at` lies; *ret_phase: when it begins. false: that would be too late, and the head stays. */
static bool walk_arrive(struct disk *d, struct walk *w, double *ret_phase)
{
	uint32_t cylinder = d->head.cylinder, surface = d->head.surface;

	*ret_phase = w->phase;
	if (w->is_placed)
		return true;
	geometry_place(d->g, w->at, &w->place);
	(void)arrive(d, ret_phase, &w->place, 0, 0);
	if (*ret_phase + 1.0 / w->place.spt > w->phase_limit) {
		d->head.cylinder = cylinder;
		d->head.surface = surface;
		return false;
	}
	d->noise.pending_ms = NAN;
	return true;
}

/* How many sectors from `at` on follow each other without anything happening, the last one included; 0: the limit comes
 * first. */
static uint64_t walk_run(const struct disk *d, const struct walk *w, double phase)
{
	uint64_t n = w->place.run < w->to - w->at ? w->place.run : w->to - w->at;
	double room = (w->phase_limit - phase) * w->place.spt + 1e-6;

	if (w->next == w->at) {
		n = 1;
		if (w->kind == TROUBLE_SLOW) /* nothing has it before it was read at last */
			room -= w->region->revolutions * w->place.spt;
	} else if (w->next - w->at < n)
		n = w->next - w->at;
	if (d->noise.retry_sectors > 0 && (double)n > d->noise.retry_left / w->unrest)
		n = d->noise.retry_left < w->unrest ? 1 : (uint64_t)(d->noise.retry_left / w->unrest);
	return room < (double)n ? (uint64_t)fmax(room, 0) : n;
}

/* n sectors have passed from phase on. */
static void walk_pass(struct disk *d, struct walk *w, double phase, uint64_t n)
{
	w->phase = phase + (double)n / w->place.spt;
	if (w->next == w->at) { /* a slow one */
		w->phase += w->region->revolutions;
		look_ahead(d, w, w->at + 1);
	}
	w->phase += noise_weak(d, &w->place, n);
	if (d->noise.retry_sectors > 0) {
		d->noise.retry_left -= (double)n * w->unrest;
		lose_revolutions(d, &w->phase);
	}
	w->at += n;
	w->place.sector += (uint32_t)n;
	w->place.run -= (uint32_t)n;
	w->place.angle = geo_frac(w->place.angle + (double)n / w->place.spt);
	w->is_placed = w->place.run > 0;
}

/* Goes on until `to`, the phase limit or a bad sector. */
static void walk(struct disk *d, struct walk *w)
{
	look_ahead(d, w, w->at);
	while (w->at < w->to) {
		double phase;
		uint64_t n;

		if (!walk_arrive(d, w, &phase))
			return;
		if (w->at == w->next && w->kind == TROUBLE_BAD) {
			w->phase = phase + 1.0 / w->place.spt + w->region->revolutions;
			w->err = w->region->err;
			return;
		}
		w->unrest = d->noise.retry_sectors > 0 ? noise_unrest(d, phase * d->period_ns) : 1;
		n = walk_run(d, w, phase);
		if (n == 0)
			return;
		walk_pass(d, w, phase, n);
	}
}

/* ---- stream ---- */

static void stream_walk(struct disk *d, uint64_t to, double phase_limit, int *ret_err)
{
	struct stream *s = &d->head.stream;
	struct segment *seg = &d->cache.segments[s->segment];
	uint64_t most = d->cache.segment_sectors;
	struct walk w = { .op = DISK_READ,
		          .at = s->at,
		          .to = to,
		          .phase = s->phase,
		          .phase_limit = phase_limit,
		          .place = s->place,
		          .is_placed = s->is_placed };

	walk(d, &w);
	d->count.media_read_bytes += (w.at - s->at) * d->p.physical_sector_bytes;
	s->at = w.at;
	s->phase = w.phase;
	s->place = w.place;
	s->is_placed = w.is_placed;
	segment_set(d, seg, s->at - seg->start > most ? s->at - most : seg->start, s->at);
	cache_make_room(d);
	*ret_err = w.err;
}

void stream_update(struct disk *d, double t)
{
	struct stream *s = &d->head.stream;
	double phase = phase_at(d, t);
	int err;

	if (!s->is_on || s->at >= s->limit || s->phase >= phase)
		return;
	stream_walk(d, s->limit, phase, &err);
	if (err)
		s->limit = s->at; /* never into what is unreadable */
}

void stream_stop(struct disk *d, double t)
{
	stream_update(d, t);
	d->head.stream.is_on = false;
}

void stream_pause(struct disk *d, double t)
{
	stream_update(d, t);
	if (d->head.stream.is_on && d->head.stream.limit > d->head.stream.at)
		d->head.stream.limit = d->head.stream.at;
}

/* Where the track ends that the sector lies on. */
static uint64_t track_end(const struct disk *d, uint64_t sector)
{
	struct place p;
	uint64_t track;

	geometry_place(d->g, sector, &p);
	track = p.track;
	do {
		sector += p.run;
		if (sector >= d->g->sectors)
			return d->g->sectors;
		geometry_place(d->g, sector, &p);
	} while (p.track == track);
	return sector;
}

/* How far to read ahead after [first, end) was asked for. */
static uint64_t ahead_limit(const struct disk *d, uint64_t first, uint64_t end, bool is_sequential)
{
	uint64_t most = (uint64_t)(d->p.cache.keep_behind * (double)d->cache.segment_sectors), limit;

	if (!d->p.cache.read_ahead || (d->p.cache.ahead_when == AHEAD_SEQUENTIAL && !is_sequential))
		return end;
	limit = (end - first > most ? end - most : first) + d->cache.segment_sectors;
	if (d->p.cache.ahead_bytes && limit > end + d->p.cache.ahead_bytes / d->p.physical_sector_bytes)
		limit = end + d->p.cache.ahead_bytes / d->p.physical_sector_bytes;
	if (d->p.cache.ahead_reach == AHEAD_TRACK) {
		uint64_t to = track_end(d, end - 1);

		limit = to < limit ? to : limit;
	}
	return limit;
}

void stream_aim(struct disk *d, double t, uint64_t first, uint64_t end, bool is_sequential)
{
	struct stream *s = &d->head.stream;
	uint64_t limit = ahead_limit(d, first, end, is_sequential);
	bool was_stopped = s->at >= s->limit;

	if (limit > d->g->sectors)
		limit = d->g->sectors;
	if (d->mcache) /* what lies elsewhere is not read here */
		limit = mediacache_next(d->mcache, s->at, limit);
	if (limit <= s->at) {
		s->limit = s->at;
		return;
	}
	limit = next_bad(d, s->at, limit);
	if (was_stopped &&
	    phase_at(d, t) > s->phase + d->slack) { /* the head has idled over the track: wait for the angle again */
		s->phase = phase_at(d, t);
		s->is_placed = false;
	}
	s->limit = limit;
}

/*
 * Whether a request goes on with the stream at t: it starts in what is buffered, or a track at most ahead of a head
 * that is still reading. A head that has stopped must wait for its angle in any case; then only what starts in the
 * buffer is better off with the stream. Over a bad sector no stream goes on.
 */
bool stream_covers(const struct disk *d, double t, uint64_t first)
{
	const struct stream *s = &d->head.stream;

	if (!s->is_on || first < d->cache.segments[s->segment].start)
		return false;
	if (s->at >= s->limit && phase_at(d, t) > s->phase + d->slack)
		return first <= s->at;
	return first <= s->at + s->place.spt && next_bad(d, s->at, first) >= first;
}

static int read_on(struct disk *d, double t, uint64_t end, struct media_op *ret)
{
	struct stream *s = &d->head.stream;
	int err = 0;

	ret->is_stream = true;
	ret->begin = t;
	if (s->at < end) {
		if (s->at >= s->limit && phase_at(d, t) > s->phase) {
			s->phase = phase_at(d, t); /* stopped: the angle has to come again */
			s->is_placed = false;
		}
		stream_walk(d, end, INFINITY, &err);
	}
	ret->end = fmax(t, time_at(d, s->phase));
	return err;
}

/* What passed under the head while it waited for the first sector. */
static void keep_passed(struct disk *d, const struct place *place, uint64_t first)
{
	uint64_t n = (uint64_t)(d->noise.waited * place->spt);
	struct place before;

	n = n < place->sector ? n : place->sector;
	n = n < d->cache.segment_sectors / 2 ? n : d->cache.segment_sectors / 2;
	n = n < first ? n : first;
	if (n == 0)
		return;
	geometry_place(d->g, first - n, &before);
	if (before.track == place->track && before.run >= n)
		segment_set(d, &d->cache.segments[d->head.stream.segment], first - n, first);
}

/*
 * A head that comes down among the sectors that are asked for begins there, and has all of this track when the first
 * ones have come by: the stream's phase is then put before the end of the revolution that it would have waited for.
 * Returns by how much it began earlier.
 */
static double read_from_the_middle(struct disk *d, const struct place *place, uint64_t first, uint64_t end)
{
	struct stream *s = &d->head.stream;
	uint64_t n = place->run < end - first ? place->run : end - first;
	double over = (1 - d->noise.waited) * place->spt; /* sectors that have passed already */
	enum trouble kind;
	const struct region *r;

	if (d->noise.waited <= 0 || over >= (double)n ||
	    next_trouble(d, first, first + n, DISK_READ, &kind, &r) < first + n)
		return 0;
	s->phase += ceil(over) / place->spt + noise_weak(d, place, n);
	s->at = first + n;
	s->is_placed = false;
	d->noise.retry_left -= (double)n * noise_unrest(d, s->phase * d->period_ns);
	if (d->noise.retry_sectors > 0)
		lose_revolutions(d, &s->phase);
	d->count.media_read_bytes += n * d->p.physical_sector_bytes;
	segment_set(d, &d->cache.segments[s->segment], d->cache.segments[s->segment].start, s->at);
	return d->noise.waited;
}

static int read_afresh(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end,
                       struct media_op *ret)
{
	struct stream *s = &d->head.stream;
	double begin = phase_at(d, t);
	int err = 0;

	*s = (struct stream){ .is_on = true, .at = first, .phase = begin, .place = *place, .is_placed = true };
	ret->seek_ns = access_place(d, &s->phase, place, 0);
	ret->latency_ns = (s->phase - begin) * d->period_ns - ret->seek_ns;
	ret->begin = time_at(d, s->phase);
	s->segment = cache_new_segment(d, first);
	if (d->p.cache.is_pre_read)
		keep_passed(d, place, first);
	if (d->p.cache.is_zero_latency)
		ret->begin -= read_from_the_middle(d, place, first, end) * d->period_ns;
	stream_walk(d, end, INFINITY, &err);
	ret->end = time_at(d, s->phase);
	return err;
}

void media_read(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, bool is_sequential,
                struct media_op *ret)
{
	struct stream *s = &d->head.stream;
	double extra;

	*ret = (struct media_op){ 0 };
	d->head.write_end = UINT64_MAX;
	stream_update(d, t);
	ret->err = stream_covers(d, t, first) ? read_on(d, t, end, ret) : read_afresh(d, t, place, first, end, ret);
	extra = d->p.faults.nstalls ? stall_extra(d, t, ret->end) : 0;
	if (extra > 0) {
		ret->end += extra;
		s->phase = phase_at(d, ret->end);
		s->is_placed = false;
	}
	if (ret->err || d->cache.nsegments == 0)
		s->is_on = false;
	else
		stream_aim(d, ret->end, first, end, is_sequential);
	if (d->p.cache.drops_read && d->cache.nsegments)
		cache_drop(d, s->segment, end);
}

/* To w->at, which lies at w->place, and over all that it wants, without the stream. */
static void access_and_walk(struct disk *d, double t, struct walk *w, bool is_any_angle, struct media_op *ret)
{
	bool settles = w->op == DISK_WRITE && d->head.write_end != w->at;
	double begin = phase_at(d, t);

	*ret = (struct media_op){ 0 };
	stream_stop(d, t);
	w->phase = begin;
	w->phase_limit = INFINITY;
	w->is_placed = true;
	ret->seek_ns = access_place(d, &w->phase, &w->place, settles ? d->p.seek.write_settle_ms * 1e6 : 0);
	if (is_any_angle)
		w->phase -= d->noise.waited;
	ret->latency_ns = (w->phase - begin) * d->period_ns - ret->seek_ns;
	ret->begin = time_at(d, w->phase);
	walk(d, w);
}

void media_pass(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, enum disk_op op,
                bool is_any_angle, struct media_op *ret)
{
	struct walk w = { .op = op, .at = first, .to = end, .place = *place };

	access_and_walk(d, t, &w, is_any_angle, ret);
	ret->end = time_at(d, w.phase);
	ret->err = w.err;
	d->head.write_end = op == DISK_WRITE ? end : UINT64_MAX;
}

void media_write(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, bool is_partial,
                 struct media_op *ret)
{
	struct walk w = { .op = DISK_WRITE, .at = first, .to = end, .place = *place };

	access_and_walk(d, t, &w, false, ret);
	if (is_partial)
		w.phase += 1;
	ret->end = time_at(d, w.phase);
	if (d->p.faults.nstalls)
		ret->end += stall_extra(d, t, ret->end);
	ret->err = w.err;
	heal(d->media.bads, d->media.nbads, first, w.at);
	heal(d->media.slows, d->media.nslows, first, w.at);
	d->head.write_end = w.err ? UINT64_MAX : end;
	cache_forget(d, first, end);
}

double media_cost(struct disk *d, double t, const struct node *n)
{
	double phase, move;

	if (n->req.op == DISK_READ && stream_covers(d, t, n->first)) {
		const struct stream *s = &d->head.stream;
		double ahead = n->first > s->at ? (double)(n->first - s->at) / s->place.spt : 0;

		return ahead * d->period_ns;
	}
	move = geometry_move_ns(d->g, d->head.cylinder, d->head.surface, n->place.cylinder, n->place.surface);
	if (n->req.op == DISK_WRITE && move > 0 && d->head.write_end != n->first)
		move += d->p.seek.write_settle_ms * 1e6;
	move = fmax(move, d->p.seek.restart_ms * 1e6);
	phase = phase_at(d, t + move);
	return move + geo_wait(geo_frac(phase), n->place.angle, d->slack) * d->period_ns;
}
