/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * platter-sim: platter's own command line over simulated disks in virtual time, for black-box tests. Never installed: a
 * program that measures must not be able to print what was not measured.
 *
 *   platter-sim zones sim:modern-4tb                a profile by name (or sim:PATH)
 *   PLATTER_SIM_DISKS="sda=tiny sdb=/tmp/x.disk"    disks that are there from the start
 *   PLATTER_SIM_SIGNAL="2@1.5"                      signal 2 arrives 1.5 virtual seconds after the start
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "sim.h"

static void add_disks(struct sim *sim, char *list)
{
	char *save = NULL, *word;

	for (word = strtok_r(list, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(word, '=');

		if (!equals) {
			(void)fprintf(stderr, "platter-sim: PLATTER_SIM_DISKS is NAME=PROFILE ..., not %s\n", word);
			exit(2);
		}
		*equals = 0;
		(void)sim_add_profile(sim, equals + 1, word);
	}
}

static void send_signal(void *arg)
{
	(void)raise(*(int *)arg);
}

int main(int argc, char **argv)
{
	struct sim *sim = sim_new();
	const char *disks = getenv("PLATTER_SIM_DISKS"), *when = getenv("PLATTER_SIM_SIGNAL");
	int sig, r;
	double at_s;

	if (disks) {
		char *list = strdup(disks);

		if (list)
			add_disks(sim, list);
		free(list);
	}
	if (when && sscanf(when, "%d@%lf", &sig, &at_s) == 2) /* NOLINT(cert-err34-c): a test's own setting */
		sim_at(sim, (uint64_t)(at_s * 1e9), send_signal, &sig);
	r = cli_main(sim_env(sim), argc, argv);
	sim_free(sim);
	return r;
}
