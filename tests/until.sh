# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by cli/lib.sh and block/lib.sh.

# until_there COMMAND...: waits until it succeeds, for at most 20 s, since on a host that others use a moment can be seconds
until_there()
{
	for _ in $(seq 400); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}
