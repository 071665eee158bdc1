#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a user gets wrong, and the way out that the sentence names: not only that --help exists.
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
head -c 8388608 /dev/zero >file
head -c 100 /dev/zero >little
: >nothing
mkdir folder other
echo '{"schema": "platter-result", "version": 1,' >cut.json
"$PLATTER" passes file --repeat=1 --json=a.json >out 2>err || fail "passes: $(cat err)"
"$PLATTER" mark --time=5ms --repeat=1 --json=b.json other >out 2>err || fail "mark: $(cat err)"

said() # STATUS, what the sentence must name, words...
{
	status=$1 way=$2
	shift 2
	run "$status" "$@"
	one_sentence
	err_has "$way"
	grep -q 'see --help\.$' "$dir/err" && fail "$last: \"see --help\" is no way out"
}
said 2 "platter --help" frobnicate
said 2 "did you mean zones?" zone /dev/sda
said 2 "did you mean --plot?" zones --plto /dev/sda
said 2 "platter zones TARGET" zones
said 2 "give the one that you mean" zones --write --rewrite file
said 2 "leave those out" zones --full --zones=start file
said 2 "leave --quick out" zones --quick --zones=start file
said 2 "give a disk" zones folder
said 2 "write FROM-TO" zones --range=4MiB-2MiB file
said 2 "write FROM-TO" zones --range=2M file
said 2 "give 0% to 100%" zones --range=50%-120% file
said 2 "give less" zones --range=1TiB- file
said 2 "write start,middle,end" zones --zones=, file
said 2 "larger --range or target" zones little
said 2 "give a multiple of" zones --block=1000 file
said 2 "a smaller --block or a larger target" seek little
said 2 "give a disk" seek folder
said 2 "give the disk" geometry file
said 2 "leave one of them out" stream --read --write file
said 2 "leave one of them out" stream --read --verify file
said 2 "is for devices" stream --rate=1MB --project=measure folder
said 2 "exclude each other" stream --verify --find folder
# Found by the plan: an older result stays as it was.
run 0 passes --size=64K --repeat=1 --json="$dir/old.json" folder
old=$(cat "$dir/old.json")
said 2 "a smaller --block" stream --file-size=64K --block=1MiB --json="$dir/old.json" folder
said 2 "a smaller --block" stream --rate=8bit --time=1s --json="$dir/old.json" folder
said 2 "a larger --file-size" stream --size=10G --file-size=1M --json="$dir/old.json" folder
[ "$(cat "$dir/old.json")" = "$old" ] || fail "a wrong command line replaced an older result"
said 2 "a smaller --block" stream --read --rate=1MB --block=4K --buffer=5K file
said 2 "lies behind the end" stream --read --rate=1MB --range=1GB- file
said 2 "give its directory" stream file
said 2 "is an option, not a FILE" zones --json --csv file
said 2 "has no unit; write 256Mbit" stream --read --rate=256 file
said 2 "did you mean start?" zones --zones=begin file
said 2 "13GB or 13GiB" zones --range=13G- file
said 2 "give --rate" stream --read --rate=max --project=a.json file
said 2 "--block makes records smaller" cache little
said 2 "give its directory" cache --operations=write file
said 2 "the smaller size first" cache --size=2M-1M folder
said 2 "the smaller size first" cache --block=64K-1K folder
said 2 "give --size" passes nothing
said 2 "give --size" passes folder
said 2 "give a file in it" transactions folder
said 2 "--size makes it" transactions nothing
said 2 "give --size, too" transactions --keep file
said 2 "give --ios, --cpu or --think" transactions --ios=0 file
said 2 "--block=16777216 is more than" transactions --block=16M file
said 2 "lies behind the end" transactions --range=-16MiB file
said 2 "leave one of them out" transactions --find --arrivals=5 file
said 2 "leave all but one --class out" transactions --find --class=users=1 --class=users=2 file
said 2 "--limit is for --find" transactions --limit='p95<1s' file
said 2 "--limit=p95<soon: " transactions --find --limit='p95<soon' file
said 2 "below every response" transactions --find --limit='p95<0s' file
said 2 "--arrivals: '0' is out of range" transactions --arrivals=0 file
said 2 "leave the think time out" transactions --arrivals=5 --think=1s file
said 2 "There is no option --rate; --help" transactions --rate=5 file
said 2 "--class: --users: '0' is out of range; give 1" transactions --class=users=0 file
said 2 "--class: --ios: 'x' is not a whole number" transactions --class=ios=x file
said 2 "each with =VALUE" transactions --class=users file
said 2 "has not 1 to 31 characters" transactions --class=name= file
said 2 "--count: '0' is out of range" transactions --count=0 file
said 2 "write mean<TIME" transactions --limit=soon file
said 2 "give name, users" transactions --class=speed=5 file
# What a command does not take, and what holds too little for it.
for command in check zones seek surface recover; do
	said 2 "give a disk, a partition or an existing file" $command folder
	said 2 "a file that holds data" $command nothing
done
for command in geometry buffer; do
	said 2 "give a disk or a partition" $command folder
	said 2 "give the disk that it lies on" $command file
done
said 2 "give its directory, or a disk" smr file
said 2 "give its directory" cache nothing
said 2 "little holds no whole sector; give a larger target" surface little
said 2 "--range holds no whole sector" surface --range=3-5 file
said 2 "little holds no block of 1048576 bytes" stream --read little
said 2 "--range holds no block" stream --read --range=1-5 file
said 2 "exclude each other" stream --find --rate=1MB folder
said 2 "give a multiple of" seek --block=4097 file
said 2 "give a multiple of" stream --block=1000 folder
said 2 "give a multiple of" transactions --block=1000 file
said 2 "write it like 0-1GB" smr --range=1MB-1GB other
said 2 "write it like 0-1GB" sustain --range=1MB-1GB other
said 2 "times a multiple" sustain --block=3000 other
said 2 "leave --write out" sustain --write other
said 2 "leave --write out" smr --write other
said 2 "--sweep: 'x' is not a size" mark --sweep=x other
said 2 "out of range" mark --sweep=99999999999999999999G other
said 2 "out of range" transactions --class=think=99999999999999999999h file
said 2 "give 512 to 64MiB" transactions --block=1G file
said 2 "out of range" transactions --block=99999999999999999999K file
run 0 recover --journal="$dir/none" file # nobody is asked for consent to nothing
out_has "no --rewrite was interrupted"
for sweep in , 1,,2; do
	said 2 "write it like 0.5,1,2.5" mark --sweep=$sweep other
done
for sweep in 1,x 1..2 -1; do
	said 2 "is not a size in bytes" mark --sweep=$sweep other
done
said 1 "--sweep: " mark --sweep=8000000G new
said 1 "make room or give a smaller size" passes --size=8000000G other
said 2 "give 64KiB to 9EB" cache --size=0-1 other
said 2 "give 1 to 16MiB" cache --block=1G-2G other
said 2 "give 16MiB to 9EB" cache --memory=1K other
said 2 "give 3 to 50" cache --repeat=2 other
said 2 "--operations=rewrite wants a directory" cache --operations=read,rewrite file
said 2 "--operations knows no \"foo\"" cache --operations=read,foo file
said 2 "did you mean --rewrite-data?" seek --rewrite file
said 2 "No target is named" recover
said 2 "No target is named: --json took sim:tiny as its value; write --json=VALUE sim:tiny." zones --json sim:tiny
said 2 "give 0.01% to 100%" surface --share=0 file
for hours in 5-5 22-25 7; do
	said 2 "give two different ones: 22-6" surface --hours=$hours file
done
for option in --resume --portion=1h; do
	said 2 "give --state=FILE" surface $option file
done
said 2 "give a multiple of" surface --block=5000 file
said 2 "the smaller one first" surface --range=50%-40% file
said 2 "give 0% to 100%" surface --range=-120% file
said 2 "give less" surface --range=1PiB- file
for command in surface sustain smr; do
	said 2 "takes no more" $command file other
done
# Mixes of sizes: shares of 100 % together, of at most eight sizes, each once.
for mix in 4K:70% 4K:70%,64K:40% 4K,64K; do
	said 2 "the shares are not 100 % together" transactions --block=$mix file
done
said 2 "give each size once" transactions --block=4K:50%,4K:50% file
said 2 "'x' is not a size in bytes" transactions --block=4K:50%,x:50% file
said 2 "give 512 to 64MiB" transactions --block=1:50%,4K:50% file
said 2 "leave 4K out" transactions --block=4K:0,8K:1 file
said 2 "'-1' is not a ratio" transactions --block=4K:-1,8K:2 file
said 2 "give a multiple of" transactions --block=4K:50%,6000:50% file
said 2 "give fewer" transactions --block=4K:.1,8K:.1,12K:.1,16K:.1,20K:.1,24K:.1,28K:.1,32K:.1,36K:.2 file
said 2 "give the disk, with --range" surface --verify-command file
said 2 "load the module drivetemp" surface --max-temperature=40 file
said 2 "leave one of them out" surface --write --rewrite file
said 2 "run them apart" stream folder file
said 2 "too many files" stream --size=99T folder
# What is in the way is refused, and an older document stays.
run 0 passes --size=64K --repeat=1 --json="$dir/old.json" folder
old=$(cat "$dir/old.json")
said 3 "name a file that does not exist" mark --json="$dir/old.json" file
said 3 "name a file that does not exist" passes --size=1M --json="$dir/old.json" file
said 1 "make room" passes --size=8000000G --json="$dir/old.json" other
[ "$(cat "$dir/old.json")" = "$old" ] || fail "a refusal replaced an older result"
said 3 "a file that platter made" zones --rewrite file
said 3 "a file that platter made" surface --write file
said 1 "check the name" zones /dev/no-such-disk
said 1 "the file that --json wrote" report cut.json
said 1 "save results there with --json" report folder
said 1 "check the name" report no-such.json
said 1 "two documents of one measurement" compare a.json b.json
said 1 "easure again later" compare a.json
said 2 "try \`platter compare" compare
said 1 "make it first" passes file --json=no-folder/x.json
said 2 "auto, always, never" passes file --color=sometimes
said 2 "write it like" passes file --size=many
# Of a device: what it has no room for, and what nobody consented to.
files=$PLATTER PLATTER=${PLATTER_SIM:?the program over simulated disks}
said 2 "give another one" sustain --block=1000 sim:tiny
said 2 "give a smaller --block or another --range" sustain --range=0-1MiB sim:tiny
said 2 "give another --range" smr --range=0-1MiB --write --destroy-data=TINY0001 sim:tiny
said 2 "give less" smr --range=1TiB- --write --destroy-data=TINY0001 sim:tiny
said 2 "leave one of them out" surface --write --destroy-data=TINY0001 --rewrite sim:tiny
said 2 "leave one of them out" surface --write --destroy-data=TINY0001 --verify-command sim:tiny
for words in "surface --write" "surface --write --destroy-data=OTHER" "transactions --write=1%"; do
	# shellcheck disable=SC2086 # several words
	said 3 "--destroy-data=TINY0001" $words sim:tiny
done
PLATTER=$files
# One file under two names is one place, for reading as well.
ln file hard
ln -s file soft
said 2 "name each place once" passes file file
said 2 "name each place once" passes file hard
said 2 "name each place once" passes ./file soft
said 2 "name each place once" stream --read --rate=4MB --time=1s file hard

# What a terminal would obey is not sent there, wherever it comes from.
evil=$(printf 'a\033[31m\001\177\302\233m')
for words in "$evil" "zones --$evil x" "zones $evil" "report $evil" "passes file --json=no/$evil" "zones --block=$evil x"; do
	# shellcheck disable=SC2086 # words
	"$PLATTER" $words >out 2>"$dir/err" && fail "$words: exit status 0"
	one_sentence
	LC_ALL=C tr -d '\n -~\200-\377' <"$dir/err" | grep -q . && fail "control characters in a message"
	LC_ALL=C grep -q "$(printf '\302\233')" "$dir/err" && fail "control characters in a message"
done
# No arithmetic on what has no range.
run 2 stream --rate=0B --size=64MiB "$dir"
err_has --rate
exit 0
