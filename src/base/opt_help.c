/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options for people: the help text (the shape of util-linux, 80 columns) and values as one would type them. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/units.h"
#include "base/xalloc.h"

#define HELP_WIDTH  80
#define HELP_INDENT 28   /* widest left part that keeps its text on the same line */
#define HARD_SPACE  0x1f /* no line ends here */

/* ---- values ---- */

/* With as few digits as give the same number again. */
static void print_f64(char *buf, size_t len, double value)
{
	double again;

	for (int digits = 6; digits <= 17; digits++) {
		(void)units_printf(buf, len, "%.*g", digits, value);
		if (units_parse_f64(buf, &again, NULL) == 0 && again == value)
			return;
	}
}

static char *join(const struct strs *strs)
{
	char *text = NULL;
	size_t len;
	FILE *to = xmust(open_memstream(&text, &len));

	for (size_t i = 0; i < strs->n; i++)
		(void)fprintf(to, "%s%s", i ? "," : "", strs->v[i]);
	return fclose(to) == 0 ? text : NULL;
}

char *opt_value_text(const struct opt *o, const void *params)
{
	const void *member = (const char *)params + o->offset;
	const char *str;
	char buf[64] = "";

	switch (o->type) {
	case OPT_TYPE_FLAG:
		return strdup(*(const bool *)member ? "yes" : "no");
	case OPT_TYPE_U64:
		(void)snprintf(buf, sizeof(buf), "%" PRIu64, *(const uint64_t *)member);
		break;
	case OPT_TYPE_F64:
		print_f64(buf, sizeof(buf), *(const double *)member);
		break;
	case OPT_TYPE_RATIO:
		(void)units_printf(buf, sizeof(buf), "%.9g%%", 100.0 * *(const double *)member);
		break;
	case OPT_TYPE_BYTES:
		(void)units_bytes_exact(buf, sizeof(buf), *(const uint64_t *)member);
		break;
	case OPT_TYPE_SIZES:
		(void)units_bytes_exact(buf, sizeof(buf), ((const struct sizes *)member)->min_bytes);
		strcat(buf, "-");
		if (((const struct sizes *)member)->max_bytes)
			(void)units_bytes_exact(strchr(buf, '\0'), 32, ((const struct sizes *)member)->max_bytes);
		break;
	case OPT_TYPE_TIME:
		(void)units_time_exact(buf, sizeof(buf), *(const uint64_t *)member);
		break;
	case OPT_TYPE_RATE:
		if (*(const uint64_t *)member == RATE_MAX)
			return strdup("max");
		(void)units_bytes_exact(buf, sizeof(buf) - 2, *(const uint64_t *)member); /* a size per second */
		if (buf[0] && strchr("0123456789", buf[strlen(buf) - 1]))
			strcat(buf, "B");
		break;
	case OPT_TYPE_STR:
		str = *(const char *const *)member;
		return strdup(str ? str : "");
	case OPT_TYPE_STRS:
		return join(member);
	case OPT_TYPE_CHOICE:
		return strdup(o->choices[*(const int *)member]);
	case OPT_TYPE_END:
		break;
	}
	return strdup(buf);
}

/* ---- help ---- */

void opt_help_text(FILE *out, const char *text, size_t at, size_t indent)
{
	bool is_first = true;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (!is_first && at + 1 + len > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			is_first = true;
		}
		if (!is_first)
			fputc(' ', out);
		for (size_t i = 0; i < len; i++)
			fputc(text[i] == HARD_SPACE ? ' ' : text[i], out);
		at += len + !is_first;
		is_first = false;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

const char *opt_arg_name(const struct opt *o)
{
	if (o->type == OPT_TYPE_FLAG)
		return NULL;
	return o->arg ? o->arg : "WORD";
}

static void help_one(FILE *out, const struct opt *o)
{
	char left[96], *text = NULL;
	const char *arg = opt_arg_name(o);
	size_t len, width;
	FILE *s;

	if (o->letter)
		(void)snprintf(left, sizeof(left), " -%c, --%s", o->letter, o->name);
	else
		(void)snprintf(left, sizeof(left), "     --%s", o->name);
	width = strlen(left);
	if (arg)
		(void)snprintf(left + width, sizeof(left) - width, "%s=%s%s", o->implied ? "[" : "", arg,
		               o->implied ? "]" : "");
	width = strlen(left);
	s = open_memstream(&text, &len);
	if (!s)
		return;
	fprintf(s, "%s", o->help);
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		fprintf(s, "%s%s", i ? ", " : ": ", o->choices[i]);
	if (o->def)
		fprintf(s, " (default%c%s)", HARD_SPACE, o->def);
	(void)fclose(s); /* memory */
	fputs(left, out);
	if (width + 2 > HELP_INDENT) {
		fputc('\n', out);
		width = 0;
	}
	fprintf(out, "%*s", (int)(HELP_INDENT - width), "");
	opt_help_text(out, text, HELP_INDENT, HELP_INDENT);
	free(text);
}

void opt_help(FILE *out, const struct opt *opts)
{
	for (const struct opt *o = opts; o && o->type != OPT_TYPE_END; o++)
		help_one(out, o);
}
