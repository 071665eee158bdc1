/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills struct env with the real outside and hands over. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"

/*
 * Whoever starts us with stdout or stderr closed must not find the report on the disk: the next file that is opened, a
 * disk or a journal, would get their numbers. They are taken by what can neither be read nor written, so that writing
 * still fails and is reported. "/" is everywhere, /dev/null is not.
 */
static int hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/", O_PATH) != fd) /* inherited, as what is held place for */
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct device_context devices = { .sysroot = "/" };
	char boot_id[BOOT_ID_BYTES];
	const struct env env = {
		.engines = engines_all,
		.clk = clock_monotonic(),
		.devices = &device_system,
		.devices_ctx = &devices,
		.sysroot = "/",
		.boot_id = clock_boot_id(boot_id),
		.drops_privileges = true,
		.out = stdout,
		.err = stderr,
	};

	if (hold_standard_streams() < 0)
		return EXIT_FAILED; /* and nowhere to say it */
	return signals_end(cli_main(&env, argc, argv));
}
