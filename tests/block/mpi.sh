#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --hosts under mpirun of Open MPI and of MPICH: ranks on this machine, each with simulated disks in virtual time, messages over loopback and shared memory.
. "$(dirname "$0")/../cli/lib.sh"
: "${PLATTER_SIM:?the program over simulated disks}" "${BUILD:?the build directory}"
needs jq mpirun.openmpi mpirun.mpich
export PLATTER_MODULES=$BUILD/src/hosts HOME="$dir" TMPDIR="$dir"
for module in openmpi mpich; do
	[ -f "$PLATTER_MODULES/platter-mpi-$module.so" ] || skip "built without -Dmpi"
done

# start MPI RANKS WORD...: exit status of mpirun. AS: what is otherwise for a rank, RANK=NAME=VALUE...; MORE: options of mpirun.
cat >"$dir/rank" <<'END'
#!/bin/sh
trap '' USR1 # MPICH's launcher sends it to all when one has died
for word in $AS; do
	[ "${word%%=*}" = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" ] && export "${word#*=}"
done
"$@"
exit $?
END
chmod +x "$dir/rank"
start()
{
	mpi=$1 ranks=$2
	shift 2
	last="$mpi, $ranks ranks: $*"
	set -- -n "$ranks" "$dir/rank" "$PLATTER_SIM" "$@" --color=never
	case $mpi in
	openmpi)
		set -- $MORE --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo --mca btl_vader_single_copy_mechanism none "$@"
		[ "$(id -u)" != 0 ] || set -- --allow-run-as-root "$@"
		;;
	mpich) set -- $MORE "$@" ;;
	esac
	export AS
	rm -f "$dir"/rack*.json
	timeout 120 "mpirun.$mpi" "$@" >"$dir/out" 2>"$dir/err" </dev/null
}
ends_with() # status
{
	got=$?
	[ $got = "$1" ] || fail "$last: exit status $got, not $1"
}
holds() # file, jq condition
{
	jq -e "$2" "$dir/$1" >/dev/null || fail "$last: not so in $1: $2: $(jq -c '{status, figures}' "$dir/$1")"
}
# What is in the result of all is what is in those of the ranks, to the byte.
sums_up()
{
	jq -s -e '([.[1:][] | .tables.targets.rows[][1]] | add) == .[0].figures.moved_bytes' "$dir/rack.json" "$dir"/rack.[0-9].json >/dev/null ||
		fail "$last: the sum of the parts"
}
# The same of users, to the request.
requests_sum_up()
{
	jq -s -e '. as $all | ["requests", "transactions", "users"] | all(. as $of | ([$all[1:][] | .figures[$of] // 0] | add) == ($all[0].figures[$of] // 0))' \
		"$dir/rack.json" "$dir"/rack.[0-9].json >/dev/null || fail "$last: the sum of the parts"
}

AS='' MORE=''
export PLATTER_SIM_DISKS="sda=modern-4tb sdb=modern-4tb sdc=modern-4tb"
sed 's/^rpm 7200/rpm 4000/' "$TOP/tools/simdisk/profiles/modern-4tb.disk" >"$dir/3.disk"
for rank in 0 1 2; do cp "$TOP/tools/simdisk/profiles/modern-4tb.disk" "$dir/$rank.disk"; done

# One result; the targets by the rank.
PLATTER_SIM_DISKS="sd0=modern-4tb sd1=modern-4tb"
start openmpi 2 stream --hosts --read --rate=60MB --time=10s --json="$dir/rack.json" sd%r
PLATTER_SIM_DISKS="sda=modern-4tb sdb=modern-4tb sdc=modern-4tb"
ends_with 0
holds rack.json '.status == "complete" and .figures.hosts == 2 and .figures.sustained == 1 and (.targets | length) == 2'
holds rack.json '[.targets[] | .host[-2:] + .path] == [":0sd0", ":1sd1"] and .figures.window_s > 9'
holds rack.json '.figures.rate_bytes_per_s > 119e6 and .figures.rate_bytes_per_s < 121e6'
sums_up
grep -q '120 MB/s was sustained' "$dir/out" || fail "$last: no answer"
[ "$(grep -c '^platter stream' "$dir/out")" = 1 ] || fail "$last: more than one speaks"

# From 2 to 8 ranks: the parts sum up, and an open run has as many arrivals as were asked for.
for ranks in ${PLATTER_LONG:+2 3 4} 5 ${PLATTER_LONG:+6 7} 8; do
	for mpi in openmpi mpich; do
		[ -n "${PLATTER_LONG-}" ] || [ $mpi$ranks = openmpi5 ] || [ $mpi$ranks = mpich8 ] || continue
		start $mpi "$ranks" stream --hosts --read --time=3s --json="$dir/rack.json" sda
		ends_with 0
		holds rack.json ".figures.hosts == $ranks"
		sums_up
		start $mpi "$ranks" transactions --hosts --arrivals=400 --ios=1 --count=1003 --json="$dir/rack.json" sda
		ends_with 0
		holds rack.json ".figures.hosts == $ranks and .figures.transactions == 1003 and .figures.requests == 1003 and .figures.unfinished == 0"
		holds rack.json ".figures.response_p95_ns > 0 and .figures.transactions_per_s > 100"
		requests_sum_up
	done
done
start openmpi 3 transactions --hosts --users=10 --think=20ms --time=20s --each="$dir/each.csv" --json="$dir/rack.json" "sim:$dir/%r.disk"
ends_with 0
holds rack.json '.figures.users == 10 and .figures.window_s > 19 and ([.tables.shares.rows[][1]] == [4, 3, 3])'
requests_sum_up
[ "$(cat "$dir"/each.[012].csv | grep -vc '^user')" = "$(jq .figures.transactions "$dir/rack.json")" ] || fail "$last: rows of --each"
start mpich 3 transactions --hosts --users=2 --time=1s --json="$dir/rack.json" sda
ends_with 2
grep -q '2 users are too few for 3 hosts' "$dir/err" || fail "$last: not told"

# A slow disk has a name, and so its host; by %r.
start mpich 4 stream --hosts --read --time=10s --json="$dir/rack.json" "sim:$dir/%r.disk"
ends_with 0
holds rack.json '.figures.hosts == 4 and .figures.stragglers == 1 and .figures.straggler_rank == 3 and .figures.straggler_slowness > 1.3'
sums_up

# The slow one and no other, wherever it is; and none of disks that differ by the little that disks do. The first bytes are read at another place each time.
for seed in 1 ${PLATTER_LONG:+2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20}; do
	ranks=$((2 + seed % 3)) slow=$((seed % (2 + seed % 3)))
	for rank in 0 1 2 3; do
		sed "s/^rpm 7200/rpm $((7100 + (seed * 37 + rank * 71) % 200))/" "$TOP/tools/simdisk/profiles/modern-4tb.disk" >"$dir/$rank.disk"
	done
	start openmpi $ranks stream --hosts --read --time=8s --range=$((seed * 150))GB- --seed=$seed --json="$dir/rack.json" "sim:$dir/%r.disk"
	ends_with 0
	holds rack.json '.figures.stragglers == 0'
	sed 's/^rpm 7200/rpm 4600/' "$TOP/tools/simdisk/profiles/modern-4tb.disk" >"$dir/$slow.disk"
	start mpich $ranks stream --hosts --read --time=8s --range=$((seed * 150))GB- --seed=$seed --json="$dir/rack.json" "sim:$dir/%r.disk"
	ends_with 0
	holds rack.json ".figures.stragglers == 1 and .figures.straggler_rank == $slow"
	sums_up
done

# A rank dies in the middle: the others' result is there, and says whose is not.
AS="1=PLATTER_SIM_SIGNAL=9@5" MORE=-disable-auto-cleanup
start mpich 3 stream --hosts --read --rate=60MB --time=10s --json="$dir/rack.json" sda
[ $? != 0 ] || fail "$last: exit status 0"
holds rack.json '.status == "failed" and .figures.hosts_lost == 1 and .figures.sustained == null and ([.notices[].code] | index("host-lost"))'
holds rack.json '.tables.hosts.rows[1][3] == "lost"'
holds rack.2.json '.status == "complete"'
AS="0=PLATTER_SIM_SIGNAL=9@5" MORE=--enable-recovery
start openmpi 2 stream --hosts --read --rate=60MB --time=10s --json="$dir/rack.json" sda
grep -q 'rank 0) was lost' "$dir/err" || fail "$last: not told"
holds rack.1.json '.status == "complete"'
[ ! -e "$dir/rack.json" ] || fail "$last: a result of all"

# Killed at any moment: it ends, it is told, and no document is invalid.
for seed in 1 ${PLATTER_LONG:+2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20}; do
	ranks=$((2 + seed % 3)) who=$((seed * 7 % (2 + seed % 3)))
	AS="$who=PLATTER_SIM_SIGNAL=9@$((seed * 13 % 97 / 10)).$((seed * 13 % 10))" mpi=openmpi MORE=--enable-recovery
	[ $((seed % 2)) = 1 ] || mpi=mpich MORE=-disable-auto-cleanup
	start $mpi $ranks stream --hosts --read --rate=60MB --time=10s --json="$dir/rack.json" sda
	[ $? != 124 ] || fail "$last: no end"
	grep -q 'was lost' "$dir/err" "$dir/out" || fail "$last: not told ($AS)"
	n=0
	for file in "$dir"/rack*.json; do
		"$PLATTER_SIM" report "$file" >/dev/null || fail "$last: $file ($AS)"
		n=$((n + 1))
	done
	# of each other rank, and of all unless rank 0 is the one
	[ $n -ge $((ranks - 1)) ] || fail "$last: only $n documents ($AS)"
done

# One refusal stops all before anything is written; so do other words, and a target that is not there.
AS="1=PLATTER_SIM_DISKS=sda=tiny" MORE='' PLATTER_SIM_DISKS=sda=modern-4tb
start mpich 2 stream --hosts --write --destroy-data=SIM0004000 --time=10s --json="$dir/rack.json" sda
ends_with 3
grep -q 'rank 1)' "$dir/err" || fail "$last: not told whose"
[ ! -e "$dir/rack.json" ] && [ ! -e "$dir/rack.0.json" ] || fail "$last: a result"
PLATTER_SIM_DISKS="sda=modern-4tb sdb=modern-4tb"
start openmpi 2 stream --hosts --read --time=10s sdb
ends_with 1
grep -q 'rank 1)' "$dir/err" || fail "$last: not told whose"

# Each for itself, in one document: a row of figures for each, and all tables.
start mpich 2 zones --hosts --json="$dir/rack.json" sim:tiny
ends_with 0
holds rack.json '.measurement == "zones" or .head.measurement == "zones"'
jq -s -e '.[0].tables.shares.rows[1][0][-2:] == ":1" and (.[0].tables.curve.rows | length) == (.[1:] | map(.tables.curve.rows | length) | add)' \
	"$dir/rack.json" "$dir"/rack.[01].json >/dev/null || fail "$last: not the documents of both"
jq -s -e '([.[0].tables.shares.columns[].key] | index("mean_bytes_per_s")) as $i | .[0].tables.shares.rows[0][$i] == .[1].figures.mean_bytes_per_s' \
	"$dir/rack.json" "$dir/rack.0.json" >/dev/null || fail "$last: not the figure of rank 0"

# Two racks host by host, and a page with the rows of both.
cp "$dir/rack.json" "$dir/before.json"
start openmpi 2 zones --hosts --seed=5 --json="$dir/rack.json" sim:tiny
ends_with 0
"$PLATTER_SIM" compare "$dir/before.json" "$dir/rack.json" --threshold=5% --json="$dir/both.json" >/dev/null || fail "compare of $last"
jq -e '([.tables.differences.rows[] | .[1][-2:]] | unique) == [":0", ":1", "ts"] and ([.tables.differences.rows[] | select(.[2] == "mean_bytes_per_s" and .[8] == "same")] | length) == 2' \
	"$dir/both.json" >/dev/null || fail "compare of $last: not host by host"
"$PLATTER_SIM" report "$dir/rack.json" --html="$dir/page.html" || fail "report of $last"
[ "$(grep -c '<details class="paper" open>' "$dir/page.html")" = 2 ] || fail "report of $last: no rows for hosts"
grep -q '<h2>zones of 2 hosts</h2>' "$dir/page.html" || fail "report of $last: not of hosts"

"$PLATTER_SIM" report --again "$dir/rack.json" --tables >"$dir/out" || fail "report --again of $last"
grep -q 'Nothing of this document can be computed again' "$dir/out" || fail "report --again of $last: computed from two disks at once"

# Without MPI, and without its module, one sentence.
for words in "--hosts sda" "--hosts=mpich sda"; do
	PLATTER_MODULES=$dir "$PLATTER_SIM" stream --read $words >"$dir/out" 2>"$dir/err" && fail "$words: done"
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$words: not one sentence"
done
exit 0
