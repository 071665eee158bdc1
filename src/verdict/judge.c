/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "verdict/verdict.h"

const char *const verdict_words[] = { "REJECT", "DOUBT", "KEEP", "not known" };

void verdict_judge(const struct result *const *docs, size_t n, struct judgement *ret)
{
	bool doubts[SIGN_RUN + 1] = { false }, is_whole = false;

	for (size_t i = 0; i < n; i++)
		is_whole = is_whole || docs[i]->status <= STATUS_ENDED_EARLY;
	*ret = (struct judgement){ .is = VERDICT_KEEP, .signs = verdict_signs(docs, n) };
	for (const struct verdict_rule *r = verdict_rules; r->name && ret->n < VERDICT_REASONS; r++) {
		if (!(figure_number(result_find_figure(ret->signs, r->figure)) > r->above))
			continue;
		ret->reasons[ret->n++] = r;
		ret->is = r->says < ret->is ? r->says : ret->is;
		doubts[r->kind] = doubts[r->kind] || r->says == VERDICT_DOUBT;
	}
	ret->is_by_two = ret->is == VERDICT_DOUBT && doubts[SIGN_COUNTED] && doubts[SIGN_MEASURED];
	if (ret->is_by_two)
		ret->is = VERDICT_REJECT;
	if (ret->is == VERDICT_KEEP && !(is_whole && result_find_figure(ret->signs, "sampled_places")))
		ret->is = VERDICT_NONE;
}

void verdict_done(struct judgement *j)
{
	result_free(j->signs);
	*j = (struct judgement){ .is = VERDICT_NONE };
}

/* ---- in words ---- */

static void value_text(const struct figure *f, char how, const char *noun, char *buf, size_t len)
{
	double v = figure_number(f);
	char time[32];

	if (f->type == FIELD_TYPE_STR)
		(void)snprintf(buf, len, "%s", f->value.str ? f->value.str : "");
	else if (f->unit == UNIT_NS || f->unit == UNIT_S)
		(void)snprintf(buf, len, "%s",
		               units_time(time, sizeof(time), (uint64_t)(f->unit == UNIT_S ? v * 1e9 : v)));
	else
		(void)snprintf(buf, len, "%.6g%s%s%s", v, how == ':' ? " " : "", how == ':' ? noun : "",
		               how == ':' && v != 1.0 ? "s" : "");
}

struct signs {
	const struct result *of;
	bool are_known;
};

static bool mention(void *arg, const char *what, size_t bytes, char *buf, size_t len)
{
	struct signs *signs = arg;
	char name[64], noun[48] = "";
	size_t n = strcspn(what, "}:");
	const struct figure *f;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, what);
	if (n < bytes)
		(void)snprintf(noun, sizeof(noun), "%.*s", (int)(bytes - n - 1), what + n + 1);
	f = result_find_figure(signs->of, name);
	signs->are_known = signs->are_known && f;
	buf[0] = '\0';
	if (f)
		value_text(f, what[n], noun, buf, len);
	return true;
}

/* Signs in place of their names in braces; false: one is not known. */
static bool fill(const struct judgement *j, const char *text, char *buf)
{
	struct signs signs = { j->signs, true };

	(void)str_fill(buf, VERDICT_TEXT, text, &(struct str_source){ mention, &signs });
	return signs.are_known;
}

char *verdict_text(const struct judgement *j, size_t reason, char *buf)
{
	(void)fill(j, j->reasons[reason]->text, buf);
	return buf;
}

/* "platter surface /dev/sda", to be freed; NULL: nothing is to be settled. */
static char *settle_command(const struct verdict_rule *rule, const struct result *res)
{
	const char *disk = res->ntargets ? target_text(&res->targets[0], "path") : NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = rule->settle ? open_memstream(&text, &len) : NULL;

	if (!f)
		return NULL;
	(void)fprintf(f, "platter %s", rule->settle);
	if (disk)
		str_put_shell_word(f, disk);
	(void)fclose(f);
	return text;
}

/* ---- into the document ---- */

struct reason_row {
	uint64_t rank;
	const char *verdict, *rule, *what, *sure, *settle, *how, *source;
};

static const struct field reason_fields[] = {
	FIELD_U64(struct reason_row, rank, UNIT_COUNT, "no."),
	FIELD_STR(struct reason_row, what, "reason"),
	FIELD_STR(struct reason_row, sure, "sure"),
	FIELD_STR(struct reason_row, settle, "to settle it"),
	FIELD_STR(struct reason_row, how, "how", .detail = true),
	FIELD_STR(struct reason_row, verdict, "by itself", .detail = true),
	FIELD_STR(struct reason_row, rule, "rule", .detail = true),
	FIELD_STR(struct reason_row, source, "source", .detail = true),
	FIELD_END,
};

static void report(struct result *res, const struct judgement *j)
{
	struct table *t = result_table_anew(res, "reasons", "Reasons, worst first", reason_fields);
	char why[3 * VERDICT_TEXT] = "";

	for (size_t i = 0; i < j->n; i++) {
		char text[VERDICT_TEXT], how[VERDICT_TEXT];
		const struct verdict_rule *r = j->reasons[i];
		bool is_how = r->how && fill(j, r->how, how), is_possible = !r->how || *how;
		cleanup_free char *settle = is_possible ? settle_command(r, res) : NULL;
		struct reason_row row = { .rank = i + 1,
			                  .what = verdict_text(j, i, text),
			                  .sure = r->sure,
			                  .settle = settle,
			                  .how = is_how ? how : NULL,
			                  .verdict = verdict_words[r->says],
			                  .rule = r->name,
			                  .source = r->source };

		str_list(why, sizeof(why), ", ", "%s", text);
		result_row(t, &row);
	}
	result_figure_text(res, "verdict", "verdict", j->is == VERDICT_NONE ? NULL : verdict_words[j->is]);
	result_figure_text(res, "verdict_why", "reasons", *why ? why : NULL);
	result_figure(res, "verdict_level", "0 keep, 1 doubt, 2 reject", UNIT_NONE,
	              j->is == VERDICT_NONE ? (double)NAN : (double)(VERDICT_KEEP - j->is), NULL, 0);
	res->verdict_is_no = j->is == VERDICT_REJECT;
	res->verdict_is_open = j->is == VERDICT_DOUBT || j->is == VERDICT_NONE;
}

void verdict_conclude(struct result *res)
{
	const struct result *const docs[] = { res };
	struct judgement j;

	verdict_judge(docs, 1, &j);
	report(res, &j);
	verdict_done(&j);
}
