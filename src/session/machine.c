/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The computer that a run was made on. machine-id(5) is not to be given away, and documents are: what stands in them is
 * 64 bits mixed from its 128, enough to distinguish machines, and each of them comes from 2^64 different ids.
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "session/internal.h"

#define ID_DIGITS 32
#define ID_KEY    0x706c61747465722dull /* "platter-": another program's mix of the same id is another number */

FILE *machine_open(const char *sysroot, const char *path)
{
	char full[PATH_MAX];

	(void)snprintf(full, sizeof(full), "%s%s", sysroot ? sysroot : "", path);
	return fopen(full, "re");
}

/* Whoever makes the processor calls it by another key; arm64 gives no name. */
static char *cpu_model(const char *sysroot)
{
	static const char *const keys[] = { "model name", "cpu model", "Model", "uarch", "cpu" };
	cleanup_fclose FILE *f = machine_open(sysroot, "/proc/cpuinfo");
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':'), *value = colon ? colon + 1 + strspn(colon + 1, " \t") : NULL;
		size_t key = strcspn(line, ":");

		while (key && isspace((unsigned char)line[key - 1]))
			key--;
		if (value)
			value[strcspn(value, "\n")] = '\0';
		for (size_t i = 0; value && *value && i < ARRAY_LEN(keys); i++)
			if (strlen(keys[i]) == key && !strncmp(line, keys[i], key))
				return result_strdup(value);
	}
	return NULL;
}

static char *mixed_id(const char *sysroot)
{
	cleanup_fclose FILE *f = machine_open(sysroot, "/etc/machine-id");
	char digits[ID_DIGITS + 1] = "", half[ID_DIGITS / 2 + 1] = "", *text;
	uint64_t high, low;

	if (!f || !fgets(digits, sizeof(digits), f) || strspn(digits, "0123456789abcdef") != ID_DIGITS)
		return NULL; /* none yet ("uninitialized"), or none at all */
	memcpy(half, digits, sizeof(half) - 1);
	high = strtoull(half, NULL, 16);
	low = strtoull(digits + ID_DIGITS / 2, NULL, 16);
	if (asprintf(&text, "%016llx", (unsigned long long)rng_mix(rng_mix(high ^ ID_KEY) ^ low)) < 0)
		return NULL;
	return text;
}

void machine_describe(struct result *res, const char *sysroot)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE), cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname uts;

	if (uname(&uts) == 0) {
		result_set(&res->head.host.name, uts.nodename);
		result_set(&res->head.host.kernel, uts.release);
		result_set(&res->head.host.machine, uts.machine);
	}
	free(res->head.host.machine_id);
	res->head.host.machine_id = mixed_id(sysroot);
	free(res->head.host.cpu);
	res->head.host.cpu = cpu_model(sysroot);
	res->head.host.cpus = cpus > 0 ? (uint64_t)cpus : 0;
	res->head.host.memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

uint64_t session_fresh_seed(struct clock *clk)
{
	struct timespec ts;

	if (clock_is_virtual(clk))
		return 1; /* virtual time repeats exactly */
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	/* Short enough to be typed again; never 0, which means "choose one". */
	return rng_mix((uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec) % 1000000000 + 1;
}
