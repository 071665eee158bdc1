#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files as targets: what no disk holds is measured as none, and what platter writes does not compress.
. "$(dirname "$0")/lib.sh"
needs fallocate gzip jq

here=$(mktemp -d "$BUILD/files-XXXXXX") # not where $dir is: that may be memory
cleanup "rm -rf '$here'"

truncate -s 16M "$here/hole"
fallocate -l 16M "$here/unwritten" || skip "the file system of the build folder does not allocate"
head -c 4M /dev/urandom >"$here/half"
truncate -s 16M "$here/half"
head -c 16M /dev/urandom >"$here/full"

for file in hole unwritten half; do
	for command in "zones" "seek --quick" "surface" "transactions --time=1s" "passes --mode=direct" "cache" \
		"cache --mode=direct" "stream --read --rate=10MB --time=1s"; do
		# shellcheck disable=SC2086 # a list of words
		run 2 $command "$here/$file"
		grep -Eq 'of the .* to be read, .*(are holes|are allocated but never written)' "$dir/err" ||
			fail "$last: the reason is not what the file lacks"
	done
	run 0 passes "$here/$file" --json="$dir/json"
	jq -e 'any(.notices[]; .code == "not-on-disk")' "$dir/json" >/dev/null || fail "$last: no notice"
done
grep -q 'bytes 0 to 4194303' "$dir/err" "$dir/json" || run 2 zones "$here/half"
run 2 zones "$here/half"
grep -q 'bytes 0 to 4194303' "$dir/err" || fail "$last: does not say where the data are"
run 0,5,6 surface "$here/full" --json="$dir/json" # the host's disk may be slow at a place each time
run 0,6 zones --time=1s --range=0-4MiB "$here/half" # 6: this machine's disk may scatter too far for a rate

# Data that compress are written faster than others by some file systems and drives.
incompressible() # file
{
	size=$(($(wc -c <"$1") - 2097152))
	packed=$(tail -c +2097153 "$1" | gzip -1 | wc -c)
	[ "$packed" -gt $((size * 97 / 100)) ] || fail "$last: $size bytes of $1 are $packed packed"
}
for way in "" --mode=direct; do
	# shellcheck disable=SC2086 # a word, or none
	run 0 passes "$here/passes$way" --size=8M --repeat=1 --keep $way
	incompressible "$here/passes$way"
	run 0 passes "$here/passes$way" --json="$dir/json"
	jq -e '.figures.verify_errors == 0' "$dir/json" >/dev/null || fail "$last: its own words are not known again"
	# shellcheck disable=SC2086 # a word, or none
	run 0 mark "$here/mark$way" --count=20000 --repeat=1 --keep $way
	incompressible "$here/mark$way"
done
