/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which implementation of MPI has started us, and the module for it. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hosts/hosts.h"

/* The variables that the launchers of each set for every process. PMIX_RANK: Open MPI under another launcher; PMI_RANK:
 * MPICH, and what is like it. */
static const struct launcher {
	const char *module, *rank, *size;
} launchers[] = {
	{ "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "mpich", "PMI_RANK", "PMI_SIZE" },
	{ "openmpi", "PMIX_RANK", "PMIX_RANK" },
};

/* ret_rank: this process's number, as text. */
static const struct launcher *launcher_of_environment(const char **ret_rank)
{
	for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
		*ret_rank = getenv(launchers[i].rank);
		if (*ret_rank && getenv(launchers[i].size))
			return &launchers[i];
	}
	return NULL;
}

unsigned hosts_launched_rank(void)
{
	const char *rank = NULL;

	return launcher_of_environment(&rank) ? (unsigned)strtoul(rank, NULL, 10) : 0;
}

int hosts_load(struct transport **ret, const char *name, const char *folder, struct err *err)
{
	const char *rank = NULL;
	const struct launcher *l = launcher_of_environment(&rank);
	char path[512];
	union {
		void *found;
		transport_open_fn *open;
	} symbol;
	void *module;

	for (size_t i = 0; strcmp(name, "auto") != 0 && i < ARRAY_LEN(launchers); i++)
		if (!strcmp(launchers[i].module, name)) {
			l = &launchers[i];
			break;
		}
	if (!l)
		return err_set(
			err, -EINVAL,
			"--hosts is for runs that MPI has started on each host; begin with mpirun -n 2 platter, or leave --hosts out.");
	(void)snprintf(path, sizeof(path), "%s/platter-mpi-%s.so", folder ? folder : ".", l->module);
	/* Open MPI loads parts of itself, which look for its names. */
	module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	symbol.found = module ? dlsym(module, TRANSPORT_MODULE) : NULL;
	if (!symbol.found)
		return err_set(
			err, -ENOENT,
			"The module for MPI cannot be loaded (%s); install platter-%s, or build platter with -Dmpi=enabled.",
			dlerror(), l->module);
	(void)signal(SIGUSR1, SIG_IGN); /* MPICH's launcher sends it to all when one has died */
	*ret = symbol.open();
	return *ret ? 0 : err_set(err, -EIO, "MPI does not start; try `mpirun -n 2 hostname`, and see what it says.");
}
