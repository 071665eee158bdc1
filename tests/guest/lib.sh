# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest, before each group: named cases, platter and its document. busybox's sh.
#
#   begin "scsi_debug: medium errors"     a case; all complaints until the next `begin` are about it
#   platter 4 zones --quick $D            exit status 4 it must be, and a valid document in $J that agrees with it
#   status with-errors; fault ENODATA 2385920 2391040; at_most mean_bytes_per_s 30e6
#   final                                 bytes are compared from here on: no second try when something is wrong
#   counted "medium errors"               the case goes into the table of faults under this name
#
# Never a time or a rate as of a fast machine: the guest is emulated. A rate may be compared with a throttle above it.
FINAL= # of all cases of a group, set after its name
LIMIT=120 # s for one platter: more is a hang (none takes more than 15 s on two free cores)
J=/tmp/r.json R=/tmp/requests.csv O=/tmp/out E=/tmp/err F=/tmp/facts
reported=0
case=
passed=0 failed=0 skipped=0 complaints=

bad()
{
	complaints=$((${complaints:-0} + 1))
	echo "FAIL: $case: $*${final:+ [no second try]}"
}

# This case compares bytes: what goes wrong in it is a failure, however slow the machine is (`run` tries the others again).
final() { final=yes; }

# What platter said, for a complaint.
show()
{
	[ "${complaints:-0}" -le 1 ] || return 0
	echo "  $last"
	for stream in $O $E; do
		[ -s "$stream" ] && head -n 6 "$stream" | sed "s/^/  ${stream##*/}: /"
	done
	jq -c '{status, fault_totals, faults: .faults[:3], figures: .figures, notices: [.notices[] | .code + ": " + .text][:4]}' $J 2>/dev/null |
		cut -c1-900 | sed 's/^/  document: /'
}

uptime_s() { cut -d. -f1 /proc/uptime; }

settle()
{
	[ -n "$case" ] || return 0
	if [ -n "$complaints" ]; then
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
		echo "passed: $case ($(($(uptime_s) - since)) s)"
	fi
	case= complaints=
}

begin()
{
	settle
	case="$group: $1" since=$(uptime_s) final=$FINAL
	last='nothing was run'
}

# The case cannot be tried here.
skip()
{
	skipped=$((skipped + 1))
	echo "skipped: $case: $*"
	case= complaints=
}

finish()
{
	settle
	if [ -s /tmp/counts ]; then
		sort /tmp/counts | awk -F'\t' '$1 != name { if (n) print "fault-count: " name " " n " " seen; name = $1; n = 0 }
			{ n++; seen = $2 } END { if (n) print "fault-count: " name " " n " " seen }'
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}

counted() # name (driver), what is seen: the driver is not part of the name
{
	[ -n "$case" ] && [ -z "$complaints" ] && printf 'guest-%s\t%s\n' "$(echo "$1" | sed 's/ (.*//; s/[:,].*//; s/ /-/g' | tr A-Z a-z)" "$2" >>/tmp/counts
}

# One of several words.
among() # word, "word word..."
{
	case " $2 " in *" $1 "*) return 0 ;; esac
	return 1
}

# platter "STATUS..." COMMAND...: runs it within $LIMIT s; the exit status has to be one of these.
platter()
{
	want=$1
	shift
	case "$want $1" in "0 zones" | "0 seek") want="0 6" ;; esac # in a slow guest samples may scatter too far for a rate or a time
	last="platter $*"
	rm -f $J $R $O $E
	timeout -k 3 $LIMIT /usr/local/bin/platter "$@" --json=$J --requests=$R --seed=7 >$O 2>$E </dev/null
	rc=$?
	judge "$@"
}

# What the document says that cases ask for, a line each. jq takes half a second to start here, so it looks at a document once.
facts() # command
{
	jq -r --arg command "$1" --argjson rc $rc '
		def known: IN("complete", "ended-early", "with-errors", "cancelled", "device-gone", "failed");
		def is_rate: test("bytes_per_s$") and (test("requested|needed|interface") | not);
		def cells(f): .tables | to_entries[] | .key as $t | .value | (.columns | map(.key)) as $k |
			[range($k | length) | select($k[.] | f)] as $i | .rows[] | . as $row | $i[] | {key: "\($t).\($k[.])", value: $row[.]};
		def largest: map(select(.value | type == "number")) | max_by(.value) // empty | "\(.key)\t\(.value)";
		"valid\t" + ([ (if .schema != "platter-result" or .version != 1 then "schema" else empty end),
		  (if .status | known | not then "status \(.status)" else empty end),
		  (if .head.measurement != $command then "measurement" else empty end),
		  (if (.faults | length) > 0 and .status == "complete" then "complete in spite of faults" else empty end),
		  (if ([.fault_totals[]] | add // 0) < (.faults | length) then "fault totals" else empty end),
		  (if .faults | any((.length_bytes <= 0 and .op != "flush") or .offset_bytes < 0 or (.errno == null and .result == null)) then
		   "a fault without its facts" else empty end),
		  (if (.status | IN("complete", "ended-early")) != ($rc == 0 or $rc == 5 or $rc == 6 or $rc == 3 or $rc == 2) and .status != "failed" then
		   "status \(.status) with exit status \($rc)" else empty end),
		  (if (.status | IN("with-errors", "device-gone")) and $rc != 4 and $rc != 5 then
		   "status \(.status) with exit status \($rc)" else empty end)
		] | join(", ")),
		"size\t\([.targets[].size_bytes] | max // 0)", "told\t\([.fault_totals[]] | add // 0)",
		"moved\t\([.tables.curve // empty | (.columns | map(.key) | index("moved_bytes")) as $i | select($i) | .rows[][$i] | numbers] | add // 0)",
		"status\t\(.status)", "engine\t\(.head.engine)", "elapsed\t\(.head.elapsed_s)",
		(.head.options | to_entries[] | "option\t\(.key)\t\(.value)"),
		(.figures | to_entries[] | "figure\t\(.key)\t\(.value)"),
		(.intervals // {} | to_entries[] | "interval\t\(.key)\t\(.value[0])\t\(.value[1])"),
		(.faults[] | "fault\t\(.op)\t\(.errno // "short")\t\(.offset_bytes)\t\(.offset_bytes + .length_bytes)"),
		(.fault_totals | to_entries[] | "total\t\(.key)\t\(.value)"),
		(.notices[] | "notice\t\(.code)\t\(.text)"),
		(.targets[0] // {} | to_entries[] | "target\t\(.key)\t\(.value)"),
		([.figures | to_entries[] | select(.key | is_rate)] + [cells(is_rate)] | largest | "rate\t" + .),
		([cells(. == "iops")] | largest | "iops\t" + .)' $J
}

# fact KIND [NAME]: its value
fact() { awk -F'\t' -v kind="$1" -v name="${2-}" '$1 == kind && (name == "" || $2 == name) { print $NF; exit }' $F; }

# What `platter` says of a run that ended with $rc.
judge() # command...
{
	if [ $rc = 124 ] || [ $rc = 137 ] || [ $rc = 143 ]; then
		bad "$last: hangs: it did not end in $LIMIT s"
		show
		return 1
	fi
	among $rc "$want" || { bad "$last: exit status $rc, not $want"; show; }
	[ -s $J ] || { among $rc "1 2 3" && [ -s $E ] || bad "$last: no document"; return; }
	facts "$1" >$F 2>&1
	valid=$(fact valid) size=$(fact size) told=$(fact told) moved=$(fact moved)
	[ -n "$size" ] || valid=$(head -n 1 $F)
	[ -z "$valid" ] || { bad "$last: the document is not valid: $valid"; show; }
	if [ -n "$complaints" ] || [ $reported -lt 3 ]; then # slow; so a few in each group
		reported=$((reported + 1))
		/usr/local/bin/platter report $J >/tmp/report 2>&1 || bad "$last: platter report does not take the document: $(tail -n 1 /tmp/report)"
	fi
	honest
}

# Each request that moved less than it should is a fault of the document, unless it only met the end of the device; and no curve stands on more bytes than
# were moved.
honest()
{
	[ -s $R ] || return 0
	short=$(tr -d '\r' <$R | awk -F, -v size="$size" 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
		$col["op"] == "flush" { if ($col["errno"] != "") n++; next }
		$col["result_bytes"] < $col["length_bytes"] + 0 && ($col["errno"] != "" || $col["offset_bytes"] + $col["result_bytes"] < size) { n++ }
		END { print n + 0 }')
	good=$(tr -d '\r' <$R | awk -F, 'NR > 1 { n += $5 } END { printf "%.0f", n }')
	[ "$moved" -le "$good" ] || { bad "$last: the curve stands on $moved bytes, but $good were moved"; show; }
	[ "$short" = "$told" ] || { bad "$last: $short requests failed or were short, the document tells of $told"; show; }
}

status() # "word word..."
{
	among "$(fact status)" "$*" || { bad "status $(fact status), not $*"; show; }
}

# fault "ERRNO..." FIRST END [SLACK]: faults there are, with these names ("short" for no errno), all within [FIRST - SLACK, END + SLACK), some touching [FIRST, END).
fault()
{
	wrong=$(awk -F'\t' -v names="$1" -v first="${2:-0}" -v to="${3:-9e18}" -v slack="${4:-0}" '
		BEGIN { n = split(names, name, " "); for (i = 1; i <= n; i++) good[name[i]] }
		$1 != "fault" || wrong != "" { next }
		{ n = 0; is_any = 1 }
		!($3 in good) { wrong = $3 " at " $4 }
		$5 + 0 <= first - slack || $4 + 0 >= to + slack { wrong = $3 " at " $4 " is elsewhere" }
		$5 + 0 > first + 0 && $4 + 0 < to + 0 { is_touched = 1 }
		END { print wrong != "" ? wrong : !is_any ? "no fault is reported" : !is_touched ? "none touches the bad place" : "" }' $F)
	[ -z "$wrong" ] || { bad "faults of $1 in [${2:-0}, ${3:-}): $wrong"; show; }
}

# fault_of OP ERRNO: one that is no matter of places
fault_of()
{
	awk -F'\t' -v op="$1" -v name="$2" '$1 == "fault" && $2 == op && $3 == name { found = 1 } END { exit !found }' $F || { bad "no $2 of a $1"; show; }
}

no_fault()
{
	[ "$(fact told)" = 0 ] || { bad "a fault where there is none"; show; }
}

# is VALUE OP LIMIT: of numbers
is() { awk -v a="$1" -v b="$3" "BEGIN { exit !(a + 0 $2 b + 0) }"; }

# at_most KEY LIMIT: the figure is null, absent, or not above
at_most()
{
	value=$(fact figure "$1")
	[ -z "$value" ] || [ "$value" = null ] || is "$value" "<=" "$2" ||
		{ bad "$1 is $value, which hides the fault: it cannot be above $2"; show; }
}

# no_rate_above LIMIT: not one rate in the document
no_rate_above()
{
	value=$(fact rate)
	[ -z "$value" ] || is "$value" "<=" "$1" || { bad "$(grep '^rate' $F) is above $1 bytes/s, which the device cannot give"; show; }
}

no_iops_above()
{
	value=$(fact iops)
	[ -z "$value" ] || is "$value" "<=" "$1" || { bad "$(grep '^iops' $F), above $1, which the device cannot give"; show; }
}

# requests_at_most LIMIT: requests a second, all in all
requests_at_most()
{
	tr -d '\r' <$R | awk -F, -v most="$1" 'NR == 2 { from = $8 } NR > 1 { n++; to = $9 }
		END { rate = n / (to - from) * 1e9; printf "%.0f", rate; exit !(n >= 20 && rate <= most) }' >/tmp/rate ||
		{ bad "$(cat /tmp/rate) requests a second, of which $1 are possible, or too few at all"; show; }
}

# target KEY VALUE: what the document says of the (first) device
target()
{
	is=$(fact target "$1")
	[ "$is" = "$2" ] || { bad "$1 is $is, not $2"; show; }
}

has_notice() # code or part of the text
{
	awk -F'\t' -v code="$1" '$1 == "notice" && ($2 == code || index($3, code)) { found = 1 } END { exit !found }' $F
}
notice() { has_notice "$1" || { bad "no notice \"$1\""; show; }; }
no_notice() { ! has_notice "$1" || { bad "a notice \"$1\" without a reason"; show; }; }

says() # part of the error message
{
	grep -qF -e "$1" $E || { bad "$last: \"$1\" is not said"; show; }
}

sum_of() { sync; echo 3 >/proc/sys/vm/drop_caches; md5sum <"$1"; }

# refused DEVICE "part of the reason" ARGUMENT...: exit status 3, nothing written, not a byte changed
refused()
{
	refused_dev=$1 reason=$2
	shift 2
	final
	before=$(sum_of "$refused_dev")
	platter 3 "$@" "$refused_dev"
	says "$reason"
	[ "$(sum_of "$refused_dev")" = "$before" ] || bad "$last: refused, and yet $refused_dev was changed"
}

# By what name consent is given to writing on a device; its kernel name where it may not be written.
lasting_name()
{
	lasting=$(/usr/local/bin/platter info --quiet --json=- "$1" | sed -n 's/.*"write": *"[^"]*--destroy-data=\([^ ;"]*\).*/\1/p' | head -n 1)
	echo "${lasting:-$(name_of "$1")}"
}
destroy() { echo "--destroy-data=$(lasting_name "$1")"; }
put_back() { echo "--rewrite --rewrite-data=$(lasting_name "$1")"; }

# A device that appears in a moment.
appears()
{
	tries=0
	until [ -b "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 1500 ] || { bad "no device $1"; return 1; }
		usleep 20000
	done
}

# Of a device however its node is called; without udev there are no links to the kernel's names.
sys_of() { readlink -f "/sys/dev/block/$((0x$(stat -c %t "$1"))):$((0x$(stat -c %T "$1")))"; }
name_of() { basename "$(sys_of "$1")"; }

# busy DEVICE: returns when a run on it, started in a moment, is under way
busy()
{
	stat=$(sys_of "$1")/stat
	read -r begun _ <$stat
	tries=0 reads=$begun
	until [ "$reads" -ge $((begun + 30)) ] || [ $tries -ge 400 ]; do
		usleep 50000
		tries=$((tries + 1))
		read -r reads _ <$stat
	done
	sleep 0.5
}

qmp_quiet() { qmp "$1" >/tmp/qmp 2>&1 || bad "the emulator refused $1: $(cat /tmp/qmp)"; }
