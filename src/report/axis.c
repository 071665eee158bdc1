/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Axes: the unit that makes numbers short, and ticks at 1, 2 or 5 times a power of ten (bytes too: disks count in
 * decimal). */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/axis.h"

#define TICK_TEXT 12 /* bytes; numbers beyond all that is measured do not get 300 digits */

struct step {
	double from; /* largest value shown, in base units */
	double scale;
	const char *suffix;
};

static const struct step byte_steps[] = { { 2e12, 1e12, "TB" },
	                                  { 2e9, 1e9, "GB" },
	                                  { 2e6, 1e6, "MB" },
	                                  { 2e3, 1e3, "kB" },
	                                  { 0, 1, "B" } };
/* As in every figure and sentence, but that five digits have no room beside the axis. */
static const struct step rate_steps[] = { { 1e10, 1e9, "GB/s" }, { 0, 1e6, "MB/s" } };
static const struct step ns_steps[] = { { 7.2e12, 3.6e12, "h" },
	                                { 2e9, 1e9, "s" },
	                                { 1e6, 1e6, "ms" },
	                                { 1e3, 1e3, "us" },
	                                { 0, 1, "ns" } };
static const struct step s_steps[] = { { 7200, 3600, "h" }, { 300, 60, "min" }, { 0, 1, "s" } };
static const struct step per_s_steps[] = { { 2e6, 1e6, "million/s" }, { 2e4, 1e3, "thousand/s" }, { 0, 1, "/s" } };

static const struct step ratio_steps[] = { { 2, 1, "" }, { 0, 0.01, "%" } };
static const struct step percent_steps[] = { { 0, 1, "%" } };
static const struct step rpm_steps[] = { { 0, 1, "rpm" } };
static const struct step mib_steps[] = { { 0, 1, "MiB/s" } };
static const struct step plain_steps[] = { { 0, 1, "" } };

static const struct step *steps_of(enum unit unit)
{
	static const struct step *const steps[] = {
		[UNIT_BYTES] = byte_steps,      [UNIT_BYTES_PER_S] = rate_steps,
		[UNIT_NS] = ns_steps,           [UNIT_S] = s_steps,
		[UNIT_PER_S] = per_s_steps,     [UNIT_RATIO] = ratio_steps,
		[UNIT_PERCENT] = percent_steps, [UNIT_RPM] = rpm_steps,
		[UNIT_MIB_PER_S] = mib_steps,
	};

	return unit < ARRAY_LEN(steps) && steps[unit] ? steps[unit] : plain_steps;
}

static double nice_step(double raw)
{
	double power = pow(10.0, floor(log10(raw))), m = raw / power;

	return power * (m < 1.5 ? 1.0 : m < 3.5 ? 2.0 : m < 7.5 ? 5.0 : 10.0);
}

static void linear_ticks(struct axis *a)
{
	double step = nice_step((a->high - a->low) / a->scale / 6.0);
	double first = ceil(a->low / a->scale / step - 1e-9);

	a->decimals = step >= 1.0 ? 0 : (int)ceil(-log10(step) - 1e-9);
	for (double k = first; a->nticks < AXIS_TICKS && k * step * a->scale <= a->high * (1 + 1e-12) + 1e-300;
	     k += 1.0)
		a->tick[a->nticks++] = k * step * a->scale;
}

static void log_ticks(struct axis *a)
{
	static const double within[] = { 1.0, 2.0, 5.0 };
	double decades = log10(a->high / a->low);
	size_t per = decades <= 3.0 ? 3 : 1;
	int every = decades > 12.0 ? 3 : decades > 7.0 ? 2 : 1;

	for (int d = (int)floor(log10(a->low)); d <= (int)ceil(log10(a->high)); d += every)
		for (size_t k = 0; k < per && a->nticks < AXIS_TICKS; k++) {
			double v = within[k] * pow(10.0, d);

			if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9))
				a->tick[a->nticks++] = v;
		}
	a->decimals = -1; /* as many as each needs */
}

void axis_init(struct axis *a, const char *label, enum unit unit, bool is_log, double low, double high, bool from_zero)
{
	const struct step *s = steps_of(unit);

	*a = (struct axis){ .unit = unit, .is_log = is_log && high > 0.0 };
	if (a->is_log && !(low > 0.0))
		low = high / 1e6;
	if (from_zero && !a->is_log && low > 0.0)
		low = 0.0;
	if (!(high > low)) { /* one value only: some room around it */
		double room = high != 0.0 ? fabs(high) * 0.1 : 1.0;

		low -= a->is_log ? low * 0.5 : high != 0.0 ? room : 0.0; /* never below a zero */
		high += a->is_log ? high : room;
	} else if (!a->is_log) {
		high += (high - low) * 0.04;
	}
	a->low = low;
	a->high = high;
	while (fmax(fabs(low), fabs(high)) < s->from)
		s++;
	a->scale = s->scale;
	a->suffix = s->suffix;
	if (a->is_log) { /* each tick says its own unit */
		a->scale = 1.0;
		a->suffix = "";
		log_ticks(a);
	} else {
		linear_ticks(a);
	}
	(void)snprintf(a->label, sizeof(a->label), a->suffix[0] ? "%.90s (%s)" : "%.90s", label ? label : "",
	               a->suffix);
}

double axis_place(const struct axis *a, double value)
{
	double p = a->is_log ? log(fmax(value, a->low) / a->low) / log(a->high / a->low)
	                     : (value - a->low) / (a->high - a->low);

	return p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p;
}

char *axis_tick_text(const struct axis *a, size_t i, char *buf, size_t len)
{
	double v = a->tick[i] / a->scale;

	if (a->is_log) {
		const struct step *s = steps_of(a->unit);

		while (v < s->from / 2.0) /* a tick of 1 ms is "1 ms", not "1000 us" */
			s++;
		(void)snprintf(buf, len, s->suffix[0] ? "%.6g %s" : "%.6g", v / s->scale, s->suffix);
	} else {
		if (snprintf(buf, len, "%.*f", a->decimals, v == 0.0 ? 0.0 : v) > TICK_TEXT) /* no "-0" */
			(void)snprintf(buf, len, "%.4g", v);
	}
	return buf;
}
