#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Help goes to stdout with status 0, complaints are one sentence on stderr with status 2.
. "$(dirname "$0")/lib.sh"
needs jq

run 0 --describe
err_is_empty
jq -e '.program == "platter" and (.commands | length) > 0 and (.exit_codes | length) == 8' "$dir/out" >/dev/null ||
	fail "--describe is not what front ends expect"
cp "$dir/out" "$dir/describe"
commands=$(jq -r '.commands[].name' "$dir/describe")

run 0 --version
out_has "platter "
run 0 --help
err_is_empty
for c in $commands; do
	grep -qE "^  $c +[A-Za-z]" "$dir/out" || fail "platter --help lacks $c"
done
awk 'length($0) > 80 { exit 1 }' "$dir/out" || fail "platter --help is wider than 80 columns"
for task in "Look at a device" "Measure what the disk does" "Measure what a program gets" "Look at results"; do
	grep -qx "$task:" "$dir/out" || fail "platter --help has no group \"$task\""
done
cp "$dir/out" "$dir/help"
run 0 help
cmp -s "$dir/out" "$dir/help" || fail "platter help is not platter --help"

for c in $commands; do
	run 0 "$c" --help
	err_is_empty
	out_has "Usage: platter $c"
	awk 'length($0) > 80 { exit 1 }' "$dir/out" || fail "platter $c --help is wider than 80 columns"
	for o in $(jq -r --arg c "$c" '.commands[] | select(.name == $c) | .options[].name' "$dir/describe"); do
		out_has "--$o"
	done
	cp "$dir/out" "$dir/short"
	run 0 "$c" --help=all
	awk 'length($0) > 80 { exit 1 }' "$dir/out" || fail "platter $c --help=all is wider than 80 columns"
	for o in $(jq -r '.view_options[].name' "$dir/describe"); do
		out_has "--$o"
	done
	case $c in
	report | compare) ;;
	*) grep -qE -- '--(re)?write([^-]|$)|^platter recover|Usage: platter recover' "$dir/out" || ! grep -q -- --destroy-data "$dir/out" ||
		fail "platter $c never writes, and its help has --destroy-data" ;;
	esac
	cp "$dir/short" "$dir/out"
	cp "$dir/out" "$dir/help"
	run 0 help "$c"
	cmp -s "$dir/out" "$dir/help" || fail "platter help $c is not platter $c --help"
	run 0 "$c" --version
	run 2 "$c" --no-such-option
	one_sentence
	err_has "--no-such-option"
	run 2 "$c" -%
	one_sentence
	run 2 "$c" --hepl
	one_sentence
	err_has "did you mean --help?"
	run 2 "$c" --help=1
	one_sentence
	err_has "own, all"
	run 2 "$c" --color=sometimes x
	one_sentence
	err_has "auto, always, never"
	[ "$c" != info ] || continue # of all disks
	run 2 "$c"
	one_sentence
done

run 0
err_is_empty
[ "$(wc -l <"$dir/out")" -le 10 ] && [ "$(wc -L <"$dir/out")" -le 80 ] || fail "platter alone says more than ten lines of 80"
for c in $(sed -n 's/^  platter \([a-z]*\) .*/\1/p' "$dir/out"); do
	echo "$commands" | grep -qx "$c" || fail "platter alone names $c, which is no command"
done
[ "$(grep -c '^  platter ' "$dir/out")" -ge 5 ] || fail "platter alone says little"
run 2 ''
one_sentence
run 2 zone
one_sentence
run 2 compair
err_has "did you mean compare?"
run 2 help compair
err_has "did you mean compare?"
run 2 --hlep
err_has "did you mean --help?"
run 2 --no-such-option
one_sentence
run 2 frobnicate
one_sentence
err_has "platter --help"

# A failed write to stdout is an error, a closed pipe is none of ours.
for words in --help --describe "help compare"; do
	# shellcheck disable=SC2086 # several words
	"$PLATTER" $words >/dev/full 2>"$dir/err" && fail "platter $words >/dev/full: exit status 0"
	grep -q 'ENOSPC' "$dir/err" || fail "platter $words >/dev/full says nothing of it"
done
"$PLATTER" --describe 2>"$dir/err" | head -n 1 >/dev/null
err_is_empty
exit 0
