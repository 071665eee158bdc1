# SPDX-License-Identifier: GPL-2.0-or-later
# For the tests of the command line: `. "$(dirname "$0")/lib.sh"`. Meson gives PLATTER, PLATTER_SIM and TOP.
# Each test has a folder of its own, $dir, which is gone at the end however it ends.
set -u
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"
unset NO_COLOR COLUMNS POSIXLY_CORRECT
export LC_ALL=C TERM=xterm
. "$TOP/tests/until.sh"

dir=$(mktemp -d)
cleanups=
cleanup() # command: done at the end, the last one first
{
	cleanups="$1
$cleanups"
}
at_end()
{
	status=$?
	trap - EXIT INT TERM HUP
	eval "$cleanups"
	rm -rf "$dir"
	exit $status
}
trap at_end EXIT
trap 'exit 1' INT TERM HUP

fail() # sentence
{
	printf 'FAIL: %s\n' "$*"
	for stream in out err; do
		[ -s "$dir/$stream" ] && sed "s/^/  $stream: /" "$dir/$stream" | head -n 20
	done
	exit 1
}

skip() # reason
{
	printf 'skipped: %s\n' "$*"
	exit 77
}

needs() # command...
{
	for command in "$@"; do
		command -v "$command" >/dev/null || skip "$command is not installed"
	done
}

# fleet_of_a_year: the documents of forty disks in $year, those that go bad in $year.bad; made once for all tests of a build, by who comes first.
fleet_of_a_year()
{
	: "${FLEET:?the program that makes documents of a fleet}" "${BUILD:?the build directory}"
	year=$BUILD/tests/cli/year
	flock "$FLEET" sh -c '[ "$1.bad" -nt "$2" ] || { rm -rf "$1" && "$2" --seed=1 "$1" >"$1.told" && mv "$1.told" "$1.bad"; }' sh "$year" "$FLEET" ||
		fail "platter-fleet"
}

# run STATUS[,STATUS...] WORD...: platter WORD... must end with one of them; its output is in $dir/out and $dir/err.
run()
{
	wanted=$1
	shift
	last="platter $*"
	"$PLATTER" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	case ,$wanted, in *,$got,*) ;; *) fail "$last: exit status $got, not $wanted" ;; esac
}

out_has() # fixed string
{
	grep -qF -e "$1" "$dir/out" || fail "$last: \"$1\" is not on stdout"
}

err_has() # fixed string
{
	grep -qF -e "$1" "$dir/err" || fail "$last: \"$1\" is not on stderr"
}

out_is_empty()
{
	[ ! -s "$dir/out" ] || fail "$last: there is something on stdout"
}

err_is_empty()
{
	[ ! -s "$dir/err" ] || fail "$last: there is something on stderr"
}

# The complaint is one sentence that says who speaks and what to do, and nothing is on stdout.
one_sentence()
{
	out_is_empty
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$last: not one line on stderr"
	grep -qE '^platter( [a-z]+)?: .*[.?]$' "$dir/err" || fail "$last: not a sentence"
	grep -qE '; .|\?$|`' "$dir/err" || fail "$last: it does not say what to do"
}
