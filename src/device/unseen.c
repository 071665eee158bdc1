/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users that hold no descriptor and no claim: targets that lend a disk to other hosts (LIO, nvmet) or as a USB disk, by
 * configfs.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/users.h"

#define CONFIGFS "/sys/kernel/config"

struct exports {
	const char *root;
	const struct stack *stack;
	const char *self; /* name of the target, for files */
	struct survey *out;
};

/* path: what a target was told to lend. */
static int check_path(const struct exports *e, const char *by, const char *folder, char *path)
{
	const struct stack_node *who;
	struct stat st;
	dev_t rdev;

	path[strcspn(path, "\n")] = '\0';
	if (path[0] != '/')
		return 0;
	rdev = node_rdev(e->root, path);
	who = stack_find(e->stack, rdev);
	if (!who && rdev == 0 && sysroot_is_real(e->root) && stat(path, &st) == 0) {
		struct file_id file = file_id_of(e->root, &e->stack->mounts, path, st.st_dev, (uint64_t)st.st_ino);

		who = stack_find_file(e->stack, &file);
	}
	if (!who)
		return 0;
	return survey_add(e->out, FINDING_EXPORT, node_is_file(who) ? e->self : who->b.name, by, folder);
}

static int find_nvmet(const struct exports *e)
{
	struct sys_list systems, spaces;
	char path[256], folder[512];
	int r = 0;

	sys_list(e->root, &systems, CONFIGFS "/nvmet/subsystems");
	for (size_t i = 0; i < systems.n && r == 0; i++) {
		sys_list(e->root, &spaces, CONFIGFS "/nvmet/subsystems/%s/namespaces", systems.v[i]);
		for (size_t k = 0; k < spaces.n && r == 0; k++) {
			uint64_t on = 1;

			(void)snprintf(folder, sizeof(folder), "nvmet/subsystems/%.200s/namespaces/%.40s", systems.v[i],
			               spaces.v[k]);
			(void)sys_u64(e->root, &on, CONFIGFS "/%s/enable", folder); /* not said: taken for the worst */
			if (on != 0 && sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/device_path", folder) == 0)
				r = check_path(e, "nvmet", folder, path);
		}
		sys_list_done(&spaces);
	}
	sys_list_done(&systems);
	return r;
}

/* What a back end is over: the path that was set for it, and the one that it says it has opened. */
static int check_store(const struct exports *e, const char *folder)
{
	static const char *const words[] = { "UDEV PATH: ", "File: " };
	char info[2048], path[256];
	ssize_t n = sys_bytes(e->root, info, sizeof(info) - 1, CONFIGFS "/%s/info", folder);
	int r = 0;

	if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/udev_path", folder) == 0)
		r = check_path(e, "LIO", folder, path);
	info[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words) && r == 0; i++) {
		const char *at = strstr(info, words[i]);

		if (!at)
			continue;
		at += strlen(words[i]);
		(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, " \t\n"), at);
		r = check_path(e, "LIO", folder, path);
	}
	return r;
}

static int find_lio(const struct exports *e)
{
	struct sys_list hbas, stores;
	char folder[512];
	int r = 0;

	sys_list(e->root, &hbas, CONFIGFS "/target/core");
	for (size_t i = 0; i < hbas.n && r == 0; i++) {
		sys_list(e->root, &stores, CONFIGFS "/target/core/%s", hbas.v[i]);
		for (size_t k = 0; k < stores.n && r == 0; k++) {
			(void)snprintf(folder, sizeof(folder), "target/core/%.100s/%.200s", hbas.v[i], stores.v[k]);
			r = check_store(e, folder);
		}
		sys_list_done(&stores);
	}
	sys_list_done(&hbas);
	return r;
}

static int find_gadgets(const struct exports *e)
{
	struct sys_list gadgets, functions, units;
	char path[256], folder[512];
	int r = 0;

	sys_list(e->root, &gadgets, CONFIGFS "/usb_gadget");
	for (size_t i = 0; i < gadgets.n; i++) {
		sys_list(e->root, &functions, CONFIGFS "/usb_gadget/%s/functions", gadgets.v[i]);
		for (size_t k = 0; k < functions.n; k++) {
			sys_list(e->root, &units, CONFIGFS "/usb_gadget/%s/functions/%s", gadgets.v[i], functions.v[k]);
			for (size_t u = 0; u < units.n && r == 0; u++) {
				(void)snprintf(folder, sizeof(folder), "usb_gadget/%.100s/functions/%.100s/%.100s",
				               gadgets.v[i], functions.v[k], units.v[u]);
				if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/file", folder) == 0)
					r = check_path(e, "a USB gadget", folder, path);
			}
			sys_list_done(&units);
		}
		sys_list_done(&functions);
	}
	sys_list_done(&gadgets);
	return r;
}

int find_exports(const struct stack *stack, const char *self, struct survey *out)
{
	const char *root = stack->root;
	const struct exports e = { root, stack, self, out };
	static const struct {
		const char *module, *folder;
		int (*find)(const struct exports *e);
	} kinds[] = { { "nvmet", "nvmet", find_nvmet },
		      { "target_core_mod", "target", find_lio },
		      { "usb_f_mass_storage", "usb_gadget", find_gadgets } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++) {
		r = kinds[i].find(&e);
		if (r == 0 && sys_exists(root, "/sys/module/%s", kinds[i].module) &&
		    !sys_exists(root, CONFIGFS "/%s", kinds[i].folder))
			r = survey_add(
				out, FINDING_UNSEEN, self, "targets",
				"targets that lend disks to other hosts are loaded, and configfs is not mounted on " CONFIGFS);
	}
	return r;
}
