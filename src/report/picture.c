/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One plot of documents as a picture of its own. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "report/html.h"
#include "report/svg.h"

/* What a document of an older program calls it is its title. */
static const char *name_of(const struct plot *plot)
{
	return plot->name ? plot->name : plot->title ? plot->title : "";
}

static int refuse(const struct result *const *res, size_t n, const char *name, struct err *err)
{
	char names[512] = "";

	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (plot_has_points(res, which, i))
				str_list(names, sizeof(names), ", ", "%s", name_of(&res[which]->plots[i]));
	if (!names[0])
		return err_set(err, -EINVAL, "There is no picture '%s': the documents have none.", name);
	return err_set(err, -EINVAL, "There is no picture '%s'; there are: %s.", name, names);
}

static int draw(FILE *out, const struct result *const *res, size_t n, const struct plot *plot, const char *what)
{
	struct plot_data *d = plot_data_new(res, n, plot, true);

	if (!d)
		return -ENODATA;
	svg_alone(out, d, what, plot->see);
	plot_data_free(d);
	return ferror(out) ? -EIO : 0;
}

static const struct plot *find(const struct result *const *res, size_t n, const char *name, size_t *ret_which)
{
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (strcmp(name_of(&res[which]->plots[i]), name) == 0 && plot_has_points(res, which, i)) {
				*ret_which = which;
				return &res[which]->plots[i];
			}
	return NULL;
}

int report_picture_check(const struct result *const *res, size_t n, const char *name, struct err *err)
{
	size_t which;

	return find(res, n, name, &which) ? 0 : refuse(res, n, name, err);
}

int report_picture(FILE *out, const struct result *const *res, size_t n, const char *name)
{
	char label[160], what[256];
	const struct result *group[DOCUMENTS_MAX];
	size_t ngroup = 0, which = 0;
	const struct plot *plot = find(res, n, name, &which);

	if (!plot)
		return -EINVAL;
	for (size_t k = 0; k < n && ngroup < DOCUMENTS_MAX; k++)
		if (strcmp(res[k]->head.measurement, res[which]->head.measurement) == 0)
			group[ngroup++] = res[k];
	(void)snprintf(what, sizeof(what), "platter %s of %s, %.10s", res[which]->head.measurement,
	               ngroup == 1 ? document_label(res, n, which, label, sizeof(label)) : "several",
	               res[which]->head.started ? res[which]->head.started : "");
	return draw(out, group, ngroup, plot, what);
}
