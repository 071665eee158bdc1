#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What tools/new-measure writes builds without a warning, passes its test, has a page that fits, and measures.
. "$(dirname "$0")/lib.sh"
needs meson ninja jq mandoc
: "${BUILD:?the build directory}"

tree=$dir/tree
mkdir "$tree"
(cd "$TOP" && tar -c meson.build meson_options.txt src tests tools man contrib README* LICENSE* 2>/dev/null) | tar -x -C "$tree" ||
	fail "the tree cannot be copied"
cd "$tree" || exit 1

tools/new-measure sample >"$dir/out" 2>&1 || fail "tools/new-measure sample"
tools/new-measure sample >"$dir/out" 2>&1 && fail "tools/new-measure sample, again: exit status 0"
tools/new-measure Sample/x >"$dir/out" 2>&1
[ $? = 2 ] || fail "tools/new-measure Sample/x: it is no name"
if command -v clang-format >/dev/null; then
	clang-format --dry-run -Werror src/measure/sample/*.[ch] src/measure/measures.c tests/unit/test_sample.c >"$dir/out" 2>&1 ||
		fail "the sources are not in our format"
fi
tools/check-layers >"$dir/out" || fail "tools/check-layers"

CC=${CC:-gcc} meson setup --buildtype=plain build >"$dir/out" 2>&1 || fail "meson setup"
# Only what is new is compiled: the other objects are those of the build that is tested, which are of the same sources.
objects=$(ninja -C build -t targets all | grep -oE '^[^:]*(measure_sample_|measure_measures|platter\.p/main|test_sample\.p/)[^:]*\.o')
[ "$(echo "$objects" | wc -l)" = 8 ] || fail "not five parts, the list of measurements, main.c and a test: $objects"
# shellcheck disable=SC2086 # several targets
ninja -C build -j 2 $objects >"$dir/out" 2>&1 || { grep -A 3 -E "error|FAILED" "$dir/out" >"$dir/err"; : >"$dir/out"; fail "ninja"; }
(cd "$BUILD" && find src tests/sim tools -path '*.a.p/*.o') >"$dir/others"
while read -r object; do
	mkdir -p "build/${object%/*}"
	[ -e "build/$object" ] || ln -s "$BUILD/$object" "build/$object"
done <"$dir/others"
ninja -C build -t commands src/platter tests/unit/test_sample | grep -v ' -c ' >"$dir/link"
(cd build && sh -e "$dir/link") >"$dir/err" 2>&1 || fail "what was compiled cannot be linked"
grep -E 'measure/sample/.*warning' "$dir/out" && fail "there are warnings"
build/tests/unit/test_sample >"$dir/out" 2>&1 || fail "its unit test"

PLATTER=$tree/build/src/platter
tools/check-man "$PLATTER" >"$dir/out" 2>&1
grep sample "$dir/out" && fail "tools/check-man"
run 0 --help
out_has "  sample "
run 0 --complete sample --cou
out_has "--count="
head -c 1048576 /dev/zero >"$dir/target"
# Its direct reads need a file system that can; where it cannot, that is said, and the rest is shown all the same.
if "$PLATTER" sample "$dir/target" --count=50 --json=- >"$dir/out" 2>"$dir/err"; then
	jq -e '(.tables.reads.rows | length) == 50 and .figures.mean_ns > 0 and (.plots | map(.name) == ["reads"]) and (.answer | endswith(" for a read at a random place."))' "$dir/out" >/dev/null ||
		fail "platter sample: the document"
	export COLUMNS=1000 # notices in one line
	cp "$dir/out" "$dir/sample.json"
	run 0 report --again "$dir/sample.json"
	out_has "Computed again from the samples, 1 of 1 figures are as they were measured"
else
	grep -qi direct "$dir/err" || fail "platter sample"
fi
exit 0
