#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# All options that name a file to be written, times all kinds of place: what is refused (3), what cannot be (1), what is fine (0), and that nothing else is touched.
. "$(dirname "$0")/lib.sh"
needs jq

cases=0 refused=0
file=$dir/target
truncate -s 4M "$file"
cd "$dir" || exit 1
mkdir folder closed links
ln -s /dev links/dev
ln -s /proc links/proc
ln -s "$dir/nothing" link
ln -s "$file" link-to-target
ln "$file" hard
mkfifo pipe
chmod 700 "$dir"

# What platter writes of each kind.
"$PLATTER" passes "$file" -q --json=own.json --jsonl=own.jsonl --csv=own.csv --html=own.html --prometheus=own.prometheus \
	--log=own.log >out 2>&1 || fail "own files: $(cat out)"
cp own.json own.state
printf 'target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns\r\n' >own.requests
printf 'user,class,end_s,think_s,response_s,load,requests,has_fault\n' >own.each
printf '# Mapfile of a scan by platter surface\n' >own.mapfile
mkdir own && mv own.* own/
cp own/own.json in.json
cp own/own.json in2.json
head -c 3000 /dev/urandom >strange
cp "$file" before

at() # OPTION PLACE WORD...: the command that has the option, on the place
{
	option=$1 place=$2
	shift 2
	case $option in
	state | mapfile) set -- surface --dry-run "--$option=$place" "$@" "$file" ;;
	each) set -- transactions --dry-run "--$option=$place" "$@" "$file" ;;
	report-*) set -- report "--${option#report-}=$place" "$@" in.json ;;
	compare-*) set -- compare "--${option#compare-}=$place" "$@" in.json in2.json ;;
	*) set -- passes --dry-run "--$option=$place" "$@" "$file" ;;
	esac
	last="platter $*"
	"$PLATTER" "$@" >out 2>err </dev/null
	got=$?
	case $option:$got in compare-*:[56]) got=0 ;; esac # the verdict: all is written
	cases=$((cases + 1))
}
is() # STATUS OPTION PLACE WORD...
{
	wanted=$1
	shift
	at "$@"
	[ $got = "$wanted" ] || fail "$last: exit status $got, not $wanted: $(cat err)"
	[ "$wanted" = 0 ] && return
	refused=$((refused + 1))
	[ "$(grep -c . err)" = 1 ] || fail "$last: not one sentence: $(cat err)"
	cmp -s "$file" before || fail "$last: the target was changed"
}
kind_of() # option
{
	case $1 in
	report-* | compare-*) echo "${1#*-}" ;;
	*) echo "$1" ;;
	esac
}

for option in json jsonl csv html prometheus requests log state mapfile each report-html report-csv report-json \
	report-prometheus compare-html compare-json; do
	kind=$(kind_of $option)
	case $option in
	report-* | compare-*) ;; # no device there
	*)
		for place in "$file" "$dir/folder/../target" ./target hard link-to-target; do
			is 3 $option "$place"
			is 3 $option "$place" --force
		done
		;;
	esac
	for place in link pipe /dev/null /dev/full /dev/no-such /proc/no-such /proc/self/comm /sys/no-such links/dev/no-such \
		links/dev/null links/proc/no-such; do
		is 3 $option $place
		is 3 $option $place --force
	done
	[ ! -e nothing ] || fail "$last: the link was followed"
	for place in no-folder/x folder new/ target/x; do
		is 1 $option $place
	done

	# Somebody else's, binary or text; one of ours of each other kind.
	for place in strange own/*; do
		own=${place#own/own.}
		case $kind:$own in
		"$kind:$kind" | json:state | state:json) continue ;;
		esac
		cp "$place" now
		is 3 $option now
		cmp -s "$place" now || fail "$last: it was changed"
	done
	is 0 $option now --force
	cp strange now
	ln now second
	is 3 $option now
	rm second

	# Ours, an empty one, none: fine; its mode stays.
	cp "own/own.$kind" now
	chmod 640 now
	is 0 $option now
	[ "$(stat -c %a now)" = 640 ] || fail "$last: mode $(stat -c %a now)"
	: >now
	is 0 $option now
	rm -f now
	is 0 $option now
	rm -f now
	[ -z "$(find . -name '.now*')" ] || fail "$last: something is left behind"

	# Under sudo root's folder stays root's; elsewhere it is the caller's.
	if [ "$(id -u)" = 0 ]; then
		export SUDO_UID=12345 SUDO_GID=12346
		is 1 $option closed/x
		cp "own/own.$kind" closed/x
		is 1 $option closed/x --force
		rm closed/x
		unset SUDO_UID SUDO_GID
	fi
done

# A page is no document, by its name; a document is not written over by what is made of it.
for option in report-html compare-html report-csv html csv log; do
	is 3 $option new.json
	is 3 $option new.jsonl
done
for option in report-html report-csv report-json compare-json; do
	is 3 $option in.json
	is 3 $option ./folder/../in.json --force
done
cmp -s in.json own/own.json || fail "the document was changed"
run 3 report "$dir/own" --json="$dir/own/own.json"
run 3 surface --dry-run --geometry=in.json --json=in.json "$file"

# Two names of one file.
ln in2.json twin.json
mkdir -p folder/below
for second in x ./x "$dir/x" folder/../x; do
	run 2 passes "$file" --json=x "--csv=$second"
done
run 2 surface --state=y --mapfile="$dir/y" "$file"
[ ! -e x ] && [ ! -e y ] || fail "$last: a file was made"

# Below and above the target, to any depth: files of loop devices.
if [ "$(id -u)" = 0 ] && [ -b /dev/loop0 ] && command -v mkfs.ext4 >/dev/null && truncate -s 32M a.img && mkfs.ext4 -qF a.img &&
	loop=$(flock /dev/loop-control losetup -f --show "$dir/a.img" 2>/dev/null); then
	cleanup "losetup -d $loop"
	second=$(flock /dev/loop-control losetup -f --show "$loop")
	cleanup "losetup -d $second"
	for option in json state mapfile log; do
		for target in "$loop" "$second" "$dir/a.img"; do
			file=$target
			at $option a.img --force
			[ $got = 3 ] || fail "$last: exit status $got: $(cat err)"
			refused=$((refused + 1))
		done
	done
fi
echo "$cases cases, $refused refused"
