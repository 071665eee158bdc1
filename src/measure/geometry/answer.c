/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told of surfaces and their layout, with how sure it is; what may be told is decided in layout.c. */
#include <inttypes.h>
#include <stdio.h>

#include "measure/geometry/search.h"

void geo_tell_surfaces(struct geo_search *s, uint32_t most)
{
	struct result *res = s->g->ses->res;
	const struct geo_candidate *c = &s->c[0];
	struct interval of = { c->shape.heads, most }, *ci = most ? &of : NULL;

	if (s->are_several_arms) {
		result_figure(res, "arm_surfaces", "surfaces of the first arm", UNIT_COUNT, c->shape.heads, ci,
		              c->judged);
		result_notice(
			res, "not-one-arm",
			"Several arms or disks share the addresses of this one: surfaces and layout are those of the first, the others may have more or fewer. The total is not reported.");
	} else {
		result_figure(res, "surfaces", "surfaces", UNIT_COUNT, c->shape.heads, ci, c->judged);
	}
}

void geo_tell_sure(struct geo_search *s)
{
	struct result *res = s->g->ses->res;
	const struct geo_candidate *c = &s->c[0];
	size_t others = s->all - s->n;
	char text[160];

	geo_tell_surfaces(s, c->shape.heads);
	geo_tell_layout(res, &c->shape);
	if (others)
		(void)snprintf(
			text, sizeof(text),
			"sure: %zu of %zu access times agree; of %zu other layouts that explain sizes and skews none can be true, the best of them agrees with %zu",
			c->agreeing, c->judged, others, s->next);
	else
		(void)snprintf(text, sizeof(text),
		               "sure: %zu of %zu access times agree; no other layout explains sizes and skews",
		               c->agreeing, c->judged);
	result_figure_text(res, "confidence", "how sure", text);
}

void geo_tell_one_likely(struct geo_search *s)
{
	struct result *res = s->g->ses->res;
	uint32_t most = 1;
	char text[160];

	for (size_t i = 1; i < s->n; i++)
		most = s->c[i].shape.heads > most ? s->c[i].shape.heads : most;
	geo_tell_surfaces(s, most);
	geo_tell_layout(res, &s->c[0].shape);
	(void)snprintf(text, sizeof(text),
	               "likely: %zu of %zu access times agree; %zu other layouts are possible, of up to %" PRIu32
	               " surfaces",
	               s->c[0].agreeing, s->c[0].judged, s->n - 1, most);
	result_figure_text(res, "confidence", "how sure", text);
	result_notice(
		res, "layout-likely",
		"One surface is likely, and not sure: more are possible if a change of heads takes just as long as a step of the arm, wherever there is one, and all surfaces hold the same.");
}

void geo_tell_likely_by_accesses(struct geo_search *s, bool is_turning_said)
{
	struct result *res = s->g->ses->res;
	struct geo_shape shape = s->c[0].shape;
	char text[160];

	if (shape.heads > 1 && !is_turning_said) {
		shape.is_alternate = false;
		geo_say_turning_is_hidden(res);
	}
	geo_tell_surfaces(s, 0);
	geo_tell_layout(res, &shape);
	(void)snprintf(text, sizeof(text), "likely: %zu of %zu access times agree; sizes and skews are in no order",
	               s->c[0].agreeing, s->c[0].judged);
	result_figure_text(res, "confidence", "how sure", text);
	result_notice(
		res, "layout-likely",
		"The layout is likely, and not sure: access times in two places agree with it and with no other that was tried, but sizes and skews are irregular, as where many tracks lack sectors.");
}

void geo_tell_likely_by_sizes(struct geo_search *s)
{
	struct result *res = s->g->ses->res;
	char text[160];

	geo_tell_surfaces(s, 0);
	geo_tell_layout(res, &s->c[0].shape);
	(void)snprintf(
		text, sizeof(text),
		"likely: tracks of two sizes come by turns; %zu of %zu access times agree, and with one surface as well",
		s->c[0].agreeing, s->c[0].judged);
	result_figure_text(res, "confidence", "how sure", text);
	result_notice(
		res, "layout-likely",
		"Two surfaces are likely, and not sure: tracks of two sizes alternate, which no known drive of one surface does, but seeks to the next track take as long as head switches.");
}
