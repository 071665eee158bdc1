#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Absurd values of every option of every command get one sentence and status 2, and nothing is touched.
. "$(dirname "$0")/lib.sh"
needs jq

"$PLATTER" --describe >"$dir/describe" || fail "--describe"
: >"$dir/file"
huge=99999999999999999999999999999999999999
jq -r '.commands[] | .name as $c | .options[] | [$c, .name, .type] | @tsv' "$dir/describe" >"$dir/options"
# The common ones are one table: with one measurement is enough.
jq -r '[.commands[] | select(.kind == "measurement") | .name][0] as $c | (.common_options, .view_options)[] |
	[$c, .name, .type] | @tsv' "$dir/describe" >>"$dir/options"

tried=0
while read -r command option type; do
	case $type in
	number) values="-$huge $huge x 1x 0x10 1e999 nan inf ''" ;;
	ratio) values="$huge% x 1%% nan inf -inf ''" ;;
	size) values="-1 -4K $huge 1e400 1Q KB nan inf 16E ''" ;;
	time) values="-1s $huge 1e400s 1parsec nan inf ''" ;;
	rate) values="-1 $huge nan inf 1parsec ''" ;;
	choice) values="x ''" ;;
	text | texts) values="''" ;;
	flag) values=x ;;
	esac
	for value in $values; do
		[ "$value" = "''" ] && value=
		run 2 "$command" "--$option=$value" "$dir/file"
		one_sentence
		err_has "--$option"
		tried=$((tried + 1))
	done
done <"$dir/options"
[ "$tried" -gt 20 ] || fail "only $tried values were tried"
[ ! -s "$dir/file" ] || fail "the file was written"
echo "fault-count: values $tried one sentence and exit status 2 each"
