/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a document of many hosts has of one of them, as a document: rows and targets of a host stand together, so that
 * it takes only parts of the arrays. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/alike.h"

struct rack_part {
	struct result res; /* first */
	struct figure *figures;
	struct table *views, **tables;
};

static const char *host_of(const struct table *t, size_t row)
{
	int column = table_column(t, "host");

	return column < 0 ? NULL : table_string(t, row, (size_t)column);
}

size_t rack_hosts(const struct result *res)
{
	const struct table *t = result_find_table(res, "hosts");

	return t && table_column(t, "host") >= 0 && table_column(t, "status") >= 0 ? t->nrows : 0;
}

const char *rack_host(const struct result *res, size_t i)
{
	return host_of(result_find_table(res, "hosts"), i);
}

static bool is_of(const char *of, const char *host)
{
	return of && strcmp(of, host) == 0;
}

static struct table rows_of(const struct table *t, const char *host)
{
	struct table view = *t;
	size_t first = 0, n = 0;

	while (first < t->nrows && !is_of(host_of(t, first), host))
		first++;
	while (first + n < t->nrows && is_of(host_of(t, first + n), host))
		n++;
	view.cells = n ? t->cells + first * t->ncolumns : NULL;
	view.nrows = n;
	return view;
}

/* Is the key that of an end of this figure's interval: "mean_bytes_per_s_low", "response_mean_low_ns"? */
static bool is_end_of(const char *key, const char *figure, const char *end)
{
	const char *at = strstr(key, end);
	size_t before = at ? (size_t)(at - key) : 0;

	return at && strncmp(key, figure, before) == 0 && strcmp(at + strlen(end), figure + before) == 0;
}

/* Of its row in "shares"; the ends of an interval follow the figure. */
static void figures_of(struct rack_part *p, const struct table *shares)
{
	struct figure *last = NULL;

	for (size_t c = 0; shares->nrows && c < shares->ncolumns; c++) {
		const struct column *column = &shares->columns[c];

		if (last && is_end_of(column->key, last->name, "_low"))
			last->ci.low = table_number(shares, 0, c);
		else if (last && is_end_of(column->key, last->name, "_high"))
			last->ci.high = table_number(shares, 0, c);
		else if (strcmp(column->key, "host") != 0) {
			last = &p->figures[p->res.nfigures++];
			*last = (struct figure){ .name = column->key,
				                 .label = column->label,
				                 .type = column->type,
				                 .unit = column->unit,
				                 .value = shares->cells[c],
				                 .ci = { NAN, NAN } };
		}
	}
}

const struct result *rack_part(const struct result *all, size_t i)
{
	const struct table *hosts = result_find_table(all, "hosts");
	const char *host = rack_host(all, i), *status = table_string(hosts, i, (size_t)table_column(hosts, "status"));
	struct rack_part *p = calloc(1, sizeof(*p));
	size_t first = 0, n = 0;

	if (p) {
		p->views = calloc(all->ntables + 1, sizeof(*p->views));
		p->tables = calloc(all->ntables + 1, sizeof(*p->tables));
	}
	if (!p || !p->views || !p->tables || !host)
		abort(); /* as in result.c; a row of hosts has a name: rack_host() was asked */
	p->res = *all;
	p->res.figures = NULL;
	p->res.nfigures = p->res.nnotices = 0;
	p->res.status = STATUS_FAILED;
	for (int s = STATUS_COMPLETE; status && s < STATUS_N; s++)
		if (!strcmp(status, status_name((enum result_status)s)))
			p->res.status = (enum result_status)s;
	while (first < all->ntargets && !is_of(target_text(&all->targets[first], "host"), host))
		first++;
	while (first + n < all->ntargets && is_of(target_text(&all->targets[first + n], "host"), host))
		n++;
	p->res.targets = all->targets + first;
	p->res.ntargets = n;
	for (size_t k = 0; k < all->ntables; k++) {
		p->views[k] = rows_of(all->tables[k], host);
		p->tables[k] = &p->views[k];
		if (strcmp(p->views[k].name, "shares") != 0)
			continue;
		p->res.figures = p->figures = calloc(p->views[k].ncolumns + 1, sizeof(*p->figures));
		if (!p->figures)
			abort();
		figures_of(p, &p->views[k]);
	}
	p->res.tables = p->tables;
	return &p->res;
}

void rack_part_free(const struct result *part)
{
	struct rack_part *p = (struct rack_part *)(uintptr_t)part;

	free(p->figures);
	free(p->views);
	free(p->tables);
	free(p);
}
