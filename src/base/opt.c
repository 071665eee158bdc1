/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Option tables over getopt_long. The parser names no option: types, defaults, bounds and choices come from the tables.
 * A default goes through the same parser as what the user types, so help shows the value in force. Long options may not
 * be shortened: a second option with the same first letters would break scripts.
 */
#include "base/opt.h"
#include "base/opt_help.h"
#include "base/xalloc.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"

#define LONG_BASE 256 /* getopt_long's value of the i-th option is LONG_BASE + i: never a letter */
#define WORD_MAX  63  /* longest word that opt_nearest looks at */

/* ---- words that were nearly right ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment: insert, delete, replace, swap of neighbours cost 1 each. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];
	size_t na = strlen(a), nb = strlen(b);

	if (na > WORD_MAX || nb > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= nb; j++)
		above[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[nb];
}

static bool starts_with(const char *word, const char *start)
{
	return strncmp(word, start, strlen(start)) == 0;
}

const char *opt_nearest(const char *word, const char *const *names, size_t n)
{
	size_t len = strlen(word), best = (len > 1 ? len + 1 : 3) / 3 + 1; /* a third of the letters may be wrong */
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(word, names[i]);

		if (d > 1 && len >= 2 &&
		    (starts_with(names[i], word) || (strlen(names[i]) > 2 && starts_with(word, names[i]))))
			d = 1;
		if (d < best && d < strlen(names[i])) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

/* ---- values ---- */

static int parse_choice(const struct opt *o, const char *text, int *ret, struct err *err)
{
	char list[512] = "";
	const char *near;
	size_t n = 0;

	for (; o->choices[n]; n++) {
		if (strcmp(text, o->choices[n]) == 0) {
			*ret = (int)n;
			return 0;
		}
		str_list(list, sizeof(list), ", ", "%s", o->choices[n]);
	}
	near = opt_nearest(text, o->choices, n);
	if (near)
		return err_set(err, -EINVAL, "'%.60s' is not one of %s; did you mean %s?", text, list, near);
	return err_set(err, -EINVAL, "'%.60s' is not known; give one of %s.", text, list);
}

static int parse_list(const struct opt *o, const char *text, struct err *err)
{
	char word[WORD_MAX + 1];
	int i, r = 0;

	for (; r == 0 && text; text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL) {
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ","), text); /* cut: none has so much */
		r = parse_choice(o, word, &i, err);
	}
	return r;
}

static char *bound_text(const struct opt *o, double bound, char *buf, size_t len)
{
	union {
		uint64_t u64;
		double f64;
	} value;
	struct opt at_zero = *o;
	char *text;

	at_zero.offset = 0;
	at_zero.type = o->type == OPT_TYPE_SIZES ? OPT_TYPE_BYTES : o->type; /* one side of it */
	if (o->type == OPT_TYPE_F64 || o->type == OPT_TYPE_RATIO)
		value.f64 = bound;
	else
		value.u64 = bound >= 0x1p64 ? UINT64_MAX : (uint64_t)bound;
	text = opt_value_text(&at_zero, &value);
	(void)snprintf(buf, len, "%s", text ? text : "?");
	free(text);
	return buf;
}

static int check_bounds(const struct opt *o, double value, const char *text, struct err *err)
{
	bool has_max = o->max > o->min || o->max != 0.0;
	char low[64], high[64];

	if (o->min == 0.0 && o->max == 0.0)
		return 0;
	if (value >= o->min && (!has_max || value <= o->max))
		return 0;
	(void)bound_text(o, o->min, low, sizeof(low));
	if (!has_max)
		return err_set(err, -EINVAL, "'%.60s' is too small; give at least %s.", text, low);
	return err_set(err, -EINVAL, "'%.60s' is out of range; give %s to %s.", text, low,
	               bound_text(o, o->max, high, sizeof(high)));
}

/* How much of the params a type takes, and who reads its number. */
static const struct type {
	size_t bytes;
	int (*u64)(const char *text, uint64_t *ret, struct err *err);
	int (*f64)(const char *text, double *ret, struct err *err);
} types[] = {
	[OPT_TYPE_FLAG] = { sizeof(bool) },
	[OPT_TYPE_U64] = { sizeof(uint64_t), units_parse_u64 },
	[OPT_TYPE_BYTES] = { sizeof(uint64_t), units_parse_bytes },
	[OPT_TYPE_TIME] = { sizeof(uint64_t), units_parse_time },
	[OPT_TYPE_RATE] = { sizeof(uint64_t), units_parse_rate },
	[OPT_TYPE_F64] = { sizeof(double), .f64 = units_parse_f64 },
	[OPT_TYPE_RATIO] = { sizeof(double), .f64 = units_parse_ratio },
	[OPT_TYPE_STR] = { sizeof(const char *) },
	[OPT_TYPE_CHOICE] = { sizeof(int) },
	[OPT_TYPE_STRS] = { sizeof(struct strs) },
	[OPT_TYPE_SIZES] = { sizeof(struct sizes) },
};

static int parse_u64(const struct opt *o, const char *text, uint64_t *ret, struct err *err)
{
	uint64_t value = 0;
	int r = types[o->type].u64(text, &value, err);

	if (r == 0 && !(o->type == OPT_TYPE_RATE && value == RATE_MAX))
		r = check_bounds(o, (double)value, text, err);
	if (r == 0)
		*ret = value;
	return r;
}

static int parse_f64(const struct opt *o, const char *text, double *ret, struct err *err)
{
	double value = 0.0;
	int r = types[o->type].f64(text, &value, err) ?: check_bounds(o, value, text, err);

	if (r == 0)
		*ret = value;
	return r;
}

static int parse_sizes(const struct opt *o, const char *text, struct sizes *ret, struct err *err)
{
	const char *dash = strchr(text, '-');
	struct sizes value = *ret;
	char from[64];
	int r = 0;

	(void)snprintf(from, sizeof(from), "%.*s", (int)(dash ? dash - text : 63), text); /* cut: no size is so long */
	if (from[0])
		r = units_parse_bytes(from, &value.min_bytes, err);
	if (r == 0 && (!dash || dash[1]))
		r = units_parse_bytes(dash ? dash + 1 : text, &value.max_bytes, err);
	if (r == 0)
		r = check_bounds(o, (double)value.min_bytes, text, err);
	if (r == 0 && value.max_bytes)
		r = check_bounds(o, (double)value.max_bytes, text, err);
	if (r == 0 && value.max_bytes && value.max_bytes < value.min_bytes)
		r = err_set(err, -EINVAL, "'%.60s' is empty; give the smaller size first.", text);
	if (r == 0)
		*ret = value;
	return r;
}

static int parse_text(const struct opt *o, const char *text, void *member, struct err *err)
{
	if (!*text)
		return err_set(err, -EINVAL, "The value is empty; give %s.", o->arg);
	if (starts_with(text, "--"))
		return err_set(err, -EINVAL, "'%.60s' is an option, not a %s; write --%s=%s.", text, o->arg, o->name,
		               o->arg);
	if (o->choices && parse_list(o, text, err) < 0)
		return -EINVAL;
	if (o->type == OPT_TYPE_STRS)
		xappend(((struct strs *)member)->v, ((struct strs *)member)->n, text);
	else
		*(const char **)member = text;
	return 0;
}

static int parse_value(const struct opt *o, const char *text, void *params, struct err *err)
{
	void *member = (char *)params + o->offset;

	if (types[o->type].u64 && o->typed)
		*(const char **)((char *)params + o->typed) = text;
	if (types[o->type].u64)
		return parse_u64(o, text, member, err);
	if (types[o->type].f64)
		return parse_f64(o, text, member, err);
	if (o->type == OPT_TYPE_CHOICE)
		return parse_choice(o, text, member, err);
	if (o->type == OPT_TYPE_SIZES)
		return parse_sizes(o, text, member, err);
	if (o->type == OPT_TYPE_STR || o->type == OPT_TYPE_STRS)
		return parse_text(o, text, member, err);
	assert(o->type == OPT_TYPE_FLAG);
	*(bool *)member = true;
	return 0;
}

static int parse_named(const struct opt *o, const char *text, void *params, struct err *err)
{
	int r = parse_value(o, text, params, err);

	if (r >= 0)
		return r;
	(void)err_prefix(err, "--%s", o->name);
	if (err)
		err->code = -EINVAL; /* out of range is a usage error as well */
	return -EINVAL;
}

int opt_parse_one(const struct opt *opts, const char *name, const char *text, void *params, struct err *err)
{
	while (strcmp(opts->name, name) != 0)
		opts++;
	return parse_named(opts, text, params, err);
}

/* ---- the parser ---- */

struct parser {
	struct {
		const struct opt *o;
		void *params;
	} * all;
	size_t n;
	struct option *longs;
	char *shorts;
};

static size_t count(const struct opt *opts)
{
	size_t n = 0;

	while (opts && opts[n].type != OPT_TYPE_END)
		n++;
	return n;
}

static void parser_done(struct parser *p)
{
	free(p->all);
	free(p->longs);
	free(p->shorts);
	*p = (struct parser){ 0 };
}

static int has_arg(const struct opt *o)
{
	if (o->type == OPT_TYPE_FLAG)
		return no_argument;
	return o->implied ? optional_argument : required_argument;
}

static void assert_unlike(const struct parser *p, const struct opt *o)
{
	for (size_t i = 0; i < p->n; i++) {
		assert(strcmp(p->all[i].o->name, o->name) != 0);
		assert(!o->letter || p->all[i].o->letter != o->letter);
	}
}

static void parser_init(struct parser *p, const struct opt_set *sets, size_t nsets)
{
	size_t n = 0;
	char *s;

	*p = (struct parser){ 0 };
	for (size_t i = 0; i < nsets; i++)
		n += count(sets[i].opts);
	p->all = xcalloc(n + 1, sizeof(*p->all));
	p->longs = xcalloc(n + 1, sizeof(*p->longs));
	p->shorts = s = xcalloc(3 * n + 2, 1);
	*s++ = ':'; /* reports a missing argument apart from an unknown option, and prints nothing */
	for (size_t i = 0; i < nsets; i++)
		for (const struct opt *o = sets[i].opts; o && o->type != OPT_TYPE_END; o++) {
			assert_unlike(p, o);
			p->longs[p->n] = (struct option){ o->name, has_arg(o), NULL, LONG_BASE + (int)p->n };
			p->all[p->n].o = o;
			p->all[p->n++].params = sets[i].params;
			if (!o->letter)
				continue;
			*s++ = o->letter;
			for (int colons = has_arg(o); colons > 0; colons--)
				*s++ = ':';
		}
}

static size_t find_value(const struct parser *p, int value)
{
	if (value >= LONG_BASE)
		return (size_t)(value - LONG_BASE);
	for (size_t i = 0; i < p->n; i++)
		if (p->all[i].o->letter && p->all[i].o->letter == value)
			return i;
	return p->n;
}

static int unknown_long(const struct parser *p, const char *word, struct err *err)
{
	cleanup_free const char **names = xcalloc(p->n, sizeof(*names));
	const char *near;
	char name[WORD_MAX + 1];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word); /* cut: too long to be near any */
	for (size_t i = 0; i < p->n; i++)
		names[i] = p->all[i].o->name;
	near = opt_nearest(name, names, p->n);
	if (near)
		return err_set(err, -EINVAL, "There is no option --%s; did you mean --%s?", name, near);
	return err_set(err, -EINVAL, "There is no option --%s; --help lists all.", name);
}

/* getopt_long takes any unambiguous start of a name; we do not. */
static bool is_whole(const struct opt *o, const char *word)
{
	size_t len = strlen(o->name);

	return starts_with(word, "--") && strncmp(word + 2, o->name, len) == 0 &&
	       (word[2 + len] == '\0' || word[2 + len] == '=');
}

static int complain(const struct parser *p, int c, const char *word, struct err *err)
{
	size_t i = optopt ? find_value(p, optopt) : p->n;
	const struct opt *o = i < p->n ? p->all[i].o : NULL;

	if (c == ':' && o && (!starts_with(word, "--") || is_whole(o, word)))
		return err_set(err, -EINVAL, "--%s needs a value; write --%s=%s.", o->name, o->name,
		               o->arg ? o->arg : o->choices[0]);
	if (c != ':' && o && o->type == OPT_TYPE_FLAG)
		return err_set(err, -EINVAL, "--%s takes no value; leave out what follows it.", o->name);
	if (starts_with(word, "--"))
		return unknown_long(p, word + 2, err);
	if (isprint(optopt))
		return err_set(err, -EINVAL, "There is no option -%c; --help lists all.", optopt);
	return err_set(err, -EINVAL, "There is an option with an unprintable letter; --help lists all.");
}

/* The argv element that getopt_long has just looked at. */
static const char *word_at(char *const *argv, int index, const char *arg)
{
	if (arg && index >= 2 && arg == argv[index - 1])
		return argv[index - 2];
	return index >= 1 ? argv[index - 1] : "";
}

static int apply_defaults(const struct parser *p, struct err *err)
{
	for (size_t i = 0; i < p->n; i++)
		memset((char *)p->all[i].params + p->all[i].o->offset, 0, types[p->all[i].o->type].bytes);
	for (size_t i = 0; i < p->n; i++) {
		const struct opt *o = p->all[i].o;
		int r = o->def ? parse_named(o, o->def, p->all[i].params, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_all(const struct parser *p, int argc, char **argv, struct err *err)
{
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		int c = getopt_long(argc, argv, p->shorts, p->longs, NULL);
		const char *word;
		size_t i;
		int r;

		if (c == -1)
			return 0;
		word = word_at(argv, optind, optarg);
		if (c == '?' || c == ':')
			return complain(p, c, word, err);
		i = find_value(p, c);
		assert(i < p->n && p->all[i].o);
		if (c >= LONG_BASE && !is_whole(p->all[i].o, word))
			return unknown_long(p, word + 2, err);
		r = parse_named(p->all[i].o, optarg ? optarg : p->all[i].o->implied, p->all[i].params, err);
		if (r < 0)
			return r;
	}
}

int opt_parse(const struct opt_set *sets, size_t nsets, int argc, char **argv, int *ret_first, struct err *err)
{
	struct parser p;
	int r;

	parser_init(&p, sets, nsets);
	r = apply_defaults(&p, err) ?: parse_all(&p, argc, argv, err);
	if (r == 0)
		*ret_first = optind;
	else
		opt_done(sets, nsets);
	parser_done(&p);
	return r;
}

void opt_done(const struct opt_set *sets, size_t nsets)
{
	for (size_t i = 0; i < nsets; i++)
		for (const struct opt *o = sets[i].opts; o && o->type != OPT_TYPE_END; o++) {
			struct strs *strs = (struct strs *)(void *)((char *)sets[i].params + o->offset);

			if (o->type != OPT_TYPE_STRS)
				continue;
			free(strs->v);
			*strs = (struct strs){ 0 };
		}
}

int opt_pairs(const struct opt_pair *v, struct err *err)
{
	for (; v->one; v++)
		if (v->is_given)
			return err_set(err, -EINVAL, "--%s and --%s exclude each other; leave one of them out.", v->one,
			               v->other);
	return 0;
}
