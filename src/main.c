/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills struct env with the real outside and hands over. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	static const struct engine_ops *const engines[] = { &engine_uring, &engine_libaio, &engine_sync, NULL };
	struct device_context devices = { .sysroot = "/" };
	const struct env env = {
		.engines = engines,
		.clk = clock_monotonic(),
		.devices = &device_system,
		.devices_ctx = &devices,
		.sysroot = "/",
		.drops_privileges = true,
		.out = stdout,
		.err = stderr,
	};

	return cli_main(&env, argc, argv);
}
