/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any words, one a line, as the options of each measurement; the first byte chooses which. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "measure/measures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define WORDS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *argv[WORDS + 2], *text, *save = NULL;
	char name[] = "platter";
	int argc = 1, first;
	size_t n = 0;
	void *params;
	struct err err;

	while (measures[n])
		n++;
	if (len == 0)
		return 0;
	n = data[0] % n;
	params = calloc(1, measures[n]->params_size + 1);
	text = strndup((const char *)data + 1, len - 1);
	argv[0] = name;
	for (char *w = strtok_r(text, "\n", &save); w && argc < WORDS; w = strtok_r(NULL, "\n", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	{
		const struct opt_set sets[] = { { measures[n]->opts, params } };

		if (opt_parse(sets, 1, argc, argv, &first, &err) == 0)
			opt_done(sets, 1);
	}
	free(text);
	free(params);
	return 0;
}
