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

/* path: what a target was set to lend. */
static void check_path(const struct exports *e, const char *by, const char *folder, const char *path)
{
	dev_t rdev = node_rdev(e->root, path);
	const struct stack_node *who = stack_find(e->stack, rdev);
	struct stat st;

	if (!who && rdev == 0 && path[0] == '/' && sysroot_is_real(e->root) && stat(path, &st) == 0) {
		struct file_id file = file_id_of(e->root, &e->stack->mounts, path, st.st_dev, (uint64_t)st.st_ino);

		who = stack_find_file(e->stack, &file);
	}
	if (who)
		survey_add(e->out, FINDING_EXPORT, node_is_file(who) ? e->self : who->b.name, by, folder);
}

static void find_nvmet(const struct exports *e, const char *folder)
{
	uint64_t on = 1;
	char path[256];

	(void)sys_u64(e->root, &on, CONFIGFS "/%s/enable", folder); /* not said: taken for the worst */
	if (on != 0 && sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/device_path", folder) == 0)
		check_path(e, "nvmet", folder, path);
}

/* What a back end is over: the path that was set for it, and the one that it says it has opened. */
static void find_lio(const struct exports *e, const char *folder)
{
	static const char *const words[] = { "UDEV PATH: ", "File: " };
	char info[2048], path[256];
	ssize_t n = sys_bytes(e->root, info, sizeof(info) - 1, CONFIGFS "/%s/info", folder);

	if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/udev_path", folder) == 0)
		check_path(e, "LIO", folder, path);
	info[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *at = strstr(info, words[i]);

		if (!at)
			continue;
		at += strlen(words[i]);
		(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, " \t\n"), at);
		check_path(e, "LIO", folder, path);
	}
}

static void find_gadget(const struct exports *e, const char *folder)
{
	char path[256];

	if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/file", folder) == 0)
		check_path(e, "a USB gadget", folder, path);
}

struct kind {
	const char *module, *folders[5]; /* "": all that are there */
	void (*find)(const struct exports *e, const char *folder);
};

static void look_below(const struct exports *e, const struct kind *k, size_t depth, const char *folder)
{
	char below[512];

	if (depth == ARRAY_LEN(k->folders) || !k->folders[depth]) {
		k->find(e, folder);
		return;
	}
	if (k->folders[depth][0]) {
		(void)snprintf(below, sizeof(below), "%s/%s", folder, k->folders[depth]);
		look_below(e, k, depth + 1, below);
		return;
	}
	for (cleanup_list struct sys_list l = sys_list(e->root, CONFIGFS "/%s", folder); sys_next(&l);)
		if (snprintf(below, sizeof(below), "%s/%s", folder, l.name) < (int)sizeof(below))
			look_below(e, k, depth + 1, below);
}

void find_exports(const struct stack *stack, const char *self, struct survey *out)
{
	static const struct kind kinds[] = {
		{ "nvmet", { "nvmet/subsystems", "", "namespaces", "" }, find_nvmet },
		{ "target_core_mod", { "target/core", "", "" }, find_lio },
		{ "usb_f_mass_storage", { "usb_gadget", "", "functions", "", "" }, find_gadget },
	};
	const struct exports e = { stack->root, stack, self, out };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		look_below(&e, &kinds[i], 1, kinds[i].folders[0]);
		if (sys_exists(e.root, "/sys/module/%s", kinds[i].module) &&
		    !sys_exists(e.root, CONFIGFS "/%.*s", (int)strcspn(kinds[i].folders[0], "/"), kinds[i].folders[0]))
			survey_add(
				out, FINDING_UNSEEN, self, "targets",
				"targets that lend disks to other hosts are loaded, and configfs is not mounted on " CONFIGFS);
	}
}
