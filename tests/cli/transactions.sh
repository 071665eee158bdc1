#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every recipe of platter-transactions(8) runs as it stands there, on a simulated disk in virtual time.
. "$(dirname "$0")/lib.sh"
needs jq sed
: "${PLATTER_SIM:?the program over simulated disks}"
export PLATTER_SIM_DISKS="data=quantum-fireball-tm2110a sdb=samsung-hd103sj nvme0n1=ssd-sata"

# A command per line, joined where it goes on, without the prompt.
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/{s/^\.Dl //;/^#/,/[^\\e]$/p;}' "$TOP/man/platter-transactions.8" |
	sed -e ':join' -e '/\\e$/{N;s/ *\\e\n */ /;b join' -e '}' | sed -n 's/^# platter transactions //p' >"$dir/recipes"
[ "$(wc -l <"$dir/recipes")" -ge 10 ] || fail "the recipes were not found: $(cat "$dir/recipes")"

number=0
while read -r recipe; do
	number=$((number + 1))
	rm -f "$dir/result.json"
	case $recipe in *--size=*) continue ;; esac # tests/examples.py makes the file, and block/transactions.sh looks at its document
	eval "\"$PLATTER_SIM\" transactions $recipe --quiet --json=$dir/result.json" </dev/null || fail "$recipe: exit status $?"
	jq -e '.status == "complete" and .figures.transactions > 0 and .figures.response_mean_ns > 0' "$dir/result.json" >/dev/null ||
		fail "$recipe: the document"
	jq -r --arg n $number '"\($n): \(.figures.transactions // 0) transactions, \(.figures.transactions_per_s // 0)/s, mean \((.figures.response_mean_ns // 0) * 1e-9) s"' "$dir/result.json"
done <"$dir/recipes"

# What a recipe cannot mean is said.
export PLATTER_SIM_DISKS="sda=tiny"
for words in "--size=1M sda" "--keep sda" "--find --arrivals=5 sda" "--class=name=x,nonsense=1 sda" "--class=users=0 sda" "--limit=p95 sda" \
	"--memory=1G --users=100000 sda" "--ios=0 sda" "--block=1000 sda" "--range=-1MiB --block=2M sda" '--class=name="x" sda'; do
	"$PLATTER_SIM" transactions $words --quiet >"$dir/out" 2>"$dir/err" </dev/null
	[ $? = 2 ] || fail "$words: not exit status 2"
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$words: not one sentence"
done

# The tables of 1997 come out in shape.
needs python3
"$TOP/tools/paper-tables" transactions --platter="$PLATTER" --sim="$PLATTER_SIM" --simdisk="${SIMDISK:?}" >"$dir/tables" ||
	fail "paper-tables transactions: exit status $?: $(grep OUTSIDE "$dir/tables")"
[ "$(grep -c '^Table' "$dir/tables")" = 6 ] || fail "tables are missing: $(cat "$dir/tables")"
