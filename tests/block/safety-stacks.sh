#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks drawn at random and the write gate before each (stacks.py); then the attacks that have a name. Usage: safety-stacks.sh PERMIT_TOOL
. "$(dirname "$0")/lib.sh"
need mkfs.ext4 mkswap python3
tool=$1 insist=
[ -z "${insisting_tool-}" ] || insist=processes
mkdir "$work/stacks"
python3 "$(dirname "$0")/stacks.py" "$tool" "$work/stacks" "${STACKS_SEED:-51}" "${STACKS:-300}" $insist && ok || bad "stacks: see above"

# refused "what is tried" IMAGE "word" -- COMMAND...: exit status 3, the word is said, and not a byte has changed
refused()
{
	name=$1 image=$2 word=$3
	shift 4
	before=$(sum "$image")
	said=$("$@" 2>&1)
	status=$?
	[ $status -eq 3 ] && [ "$before" = "$(sum "$image")" ] || { bad "$name: status $status: $said"; return; }
	case $said in *"$word"*) ok ;; *) bad "$name: '$word' is not said: $said" ;; esac
}
fresh() { image "$1" 16M; loop_new "$image"; n=${loop#/dev/}; }
ext4() { mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0,nodiscard "$1" || exit 1; }

# two loop devices over what is mounted
fresh a; ext4 "$loop"; low=$loop lown=$n
mounted "$low" -o ro,noatime
loop_new "$low"; loop_new "$loop"; top=$loop
refused "below two loop devices" "$image" "$lown is mounted on $mnt" -- "$PLATTER" zones --write --destroy-data="${top#/dev/}" --overwrite-signature=ext4 "$top"
refused "the same, put back" "$image" "$lown is mounted on $mnt" -- "$PLATTER" zones --rewrite --rewrite-data="${top#/dev/}" --journal=/tmp "$top"
umount "$mnt"
mkdir "$work/elsewhere"
unshare -m --propagation private sh -c "mount -o ro,noatime $low $work/elsewhere && touch $work/up && exec sleep 60" & pid=$!
at_end "kill $pid"
until_there test -e "$work/up"
refused "the same in another name space" "$image" "$lown is in use" -- "$PLATTER" zones --write --destroy-data="${top#/dev/}" --overwrite-signature=ext4 "$top"
kill $pid; wait $pid 2>/dev/null

# the file of a loop device through an overlay and in its upper layer
if grep -qw overlay /proc/filesystems; then
	mkdir "$work/layers" && mount -t tmpfs none "$work/layers" && at_end "umount '$work/layers'"
	mkdir "$work/layers/upper" "$work/layers/lower" "$work/layers/work" "$work/merged"
	mount -t overlay none -o "lowerdir=$work/layers/lower,upperdir=$work/layers/upper,workdir=$work/layers/work" "$work/merged" && at_end "umount '$work/merged'"
	truncate -s 16M "$work/layers/upper/f"
	loop_new "$work/merged/f"; one=$loop
	loop_new "$work/layers/upper/f"
	refused "the file of another, through an overlay" "$work/layers/upper/f" "is a loop device over" -- "$tool" -c "${loop#/dev/}" "$loop"
	refused "the same, the other way round" "$work/layers/upper/f" "is a loop device over" -- "$tool" -c "${one#/dev/}" "$one"
	loop_end "$one"; loop_end "$loop"
fi

# a program that nobody can see
fresh hidden
setpriv --reuid=12345 --clear-groups sleep 60 1<>"$loop" & pid=$!
at_end "kill $pid"
blind() { unshare -m setpriv --bounding-set=-sys_ptrace sh -c 'options=$1; shift; mount -t proc -o "$options" proc /proc; exec "$@"' sh "$@"; }
refused "hidepid" "$image" "hidepid" -- blind hidepid=2 "$tool" -c "$n" "$loop"
refused "hidepid, put back" "$image" "--despite=processes" -- blind hidepid=2 "$tool" -k same -b "$n" "$loop"
refused "subset=pid" "$image" "subset=pid" -- blind subset=pid "$tool" -c "$n" "$loop"
refused "no /proc" "$image" "mountinfo" -- sh -c 'unshare -m sh -c "mount -t tmpfs none /proc; exec \"\$@\"" sh "$@" || exit 3' sh "$tool" -c "$n" "$loop"
kill $pid; wait $pid 2>/dev/null
finish
