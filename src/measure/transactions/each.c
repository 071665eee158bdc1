/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/transactions/each.h"

#include <string.h>

#include "base/clock.h"
#include "load/load.h"

/* Not by printf(): it would take the language's decimal point. */
static void put_fixed(struct rowlog *l, uint64_t v, uint64_t unit, unsigned digits)
{
	rowlog_u64(l, v / unit, 1, '.');
	rowlog_u64(l, v % unit, digits, ',');
}

static void put_row(struct rowlog *l, const void *of, const void *arg)
{
	const struct tx_row *row = of;

	(void)arg;
	rowlog_u64(l, row->user, 1, ',');
	rowlog_text(l, row->class_name, strlen(row->class_name));
	rowlog_text(l, ",", 1);
	put_fixed(l, row->end_ns, NS_PER_S, 9);
	put_fixed(l, row->think_ns, NS_PER_S, 9);
	put_fixed(l, row->response_ns, NS_PER_S, 9);
	put_fixed(l, (uint64_t)(row->load * 1e6 + 0.5), 1000000, 6);
	rowlog_u64(l, row->requests, 1, ',');
	rowlog_u64(l, row->has_fault, 1, '\n');
}

int tx_each_open(struct rowlog **ret, int fd, struct err *err)
{
	static const struct rowlog_form form = {
		.head = "user,class,end_s,think_s,response_s,load,requests,has_fault\n",
		.row_bytes = sizeof(struct tx_row),
		.put = put_row,
	};
	int r = rowlog_open(ret, fd, &form);

	return r < 0 ? err_set(err, r, "No thread could be started for --each; see ulimit -u.") : 0;
}
