# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest, before each group: named cases, platter and its document. busybox's sh.
#
#   begin "scsi_debug: medium errors"     a case; all complaints until the next `begin` are about it
#   platter 4 zones --quick $D            exit status 4 it must be, and a valid document in $J that agrees with it
#   status with-errors; fault ENODATA 2385920 2391040; at_most mean_bytes_per_s 30e6
#   counted "medium errors"               the case goes into the table of faults under this name
#
# Never a time or a rate as of a fast machine: the guest is emulated. A rate may be compared with a throttle above it.
LIMIT=60 # s for one platter: more is a hang
J=/tmp/r.json R=/tmp/requests.csv O=/tmp/out E=/tmp/err
case=
passed=0 failed=0 skipped=0 complaints=

bad()
{
	complaints=$((${complaints:-0} + 1))
	echo "FAIL: $case: $*"
}

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
	case="$group: $1" since=$(uptime_s)
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
	last="platter $*"
	rm -f $J $R $O $E
	timeout -k 3 $LIMIT /usr/local/bin/platter "$@" --json=$J --requests=$R --seed=7 >$O 2>$E </dev/null
	rc=$?
	judge "$@"
}

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
	valid=$(jq -r --arg command "$1" --argjson rc $rc '
		def known: IN("complete", "with-errors", "cancelled", "device-gone", "failed");
		([ (if .schema != "platter-result" or .version != 1 then "schema" else empty end),
		  (if .status | known | not then "status \(.status)" else empty end),
		  (if .head.measurement != $command then "measurement" else empty end),
		  (if (.faults | length) > 0 and .status == "complete" then "complete in spite of faults" else empty end),
		  (if ([.fault_totals[]] | add // 0) < (.faults | length) then "fault totals" else empty end),
		  (if .faults | any((.length_bytes <= 0 and .op != "flush") or .offset_bytes < 0 or (.errno == null and .result == null)) then "a fault without its facts"
		   else empty end),
		  (if (.status == "complete") != ($rc == 0 or $rc == 5 or $rc == 3 or $rc == 2) and .status != "failed" then
		   "status \(.status) with exit status \($rc)" else empty end),
		  (if (.status | IN("with-errors", "device-gone")) and $rc != 4 and $rc != 5 then
		   "status \(.status) with exit status \($rc)" else empty end)
		] | join(", ")), ([.targets[].size_bytes] | max // 0), ([.fault_totals[]] | add // 0),
		([.tables.curve // empty | (.columns | map(.key) | index("moved_bytes")) as $i | select($i) | .rows[][$i] | numbers] | add // 0)' $J 2>&1)
	{ read -r valid; read -r size; read -r told; read -r moved; } <<END
$valid
END
	[ -z "$valid" ] || { bad "$last: the document is not valid: $valid"; show; }
	/usr/local/bin/platter report $J >/tmp/report 2>&1 || bad "$last: platter report does not take the document: $(tail -n 1 /tmp/report)"
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
	among "$(jq -r .status $J 2>/dev/null)" "$*" || { bad "status $(jq -r .status $J), not $*"; show; }
}

# fault "ERRNO..." FIRST END [SLACK]: faults there are, with these names ("short" for no errno), all within [FIRST - SLACK, END + SLACK), some touching [FIRST, END).
fault()
{
	wrong=$(jq -r --arg names "$1" --argjson first "${2:-0}" --argjson to "${3:-9000000000000000000}" --argjson slack "${4:-0}" '
		($names | split(" ")) as $ok | [.faults[] | {e: (.errno // "short"), a: .offset_bytes, b: (.offset_bytes + .length_bytes)}] as $f |
		if ($f | length) == 0 then "no fault is told"
		elif $f | any(.e | IN($ok[]) | not) then "\([$f[] | select(.e | IN($ok[]) | not)][0])"
		elif $f | any(.b <= $first - $slack or .a >= $to + $slack) then
			"\([$f[] | select(.b <= $first - $slack or .a >= $to + $slack)][0]) is elsewhere"
		elif $f | all(.b <= $first or .a >= $to) then "none touches the bad place" else empty end' $J 2>&1)
	[ -z "$wrong" ] || { bad "faults of $1 in [${2:-0}, ${3:-}): $wrong"; show; }
}

# fault_of OP ERRNO: one that is no matter of places
fault_of()
{
	jq -e --arg op "$1" --arg e "$2" '.faults | any(.op == $op and .errno == $e)' $J >/dev/null || { bad "no $2 of a $1"; show; }
}

no_fault()
{
	[ "$(jq '[.fault_totals[]] | add // 0' $J)" = 0 ] || { bad "a fault where there is none"; show; }
}

# at_most KEY LIMIT: the figure is null, absent, or not above
at_most()
{
	jq -e --arg k "$1" --argjson v "$2" '.figures[$k] == null or .figures[$k] <= $v' $J >/dev/null 2>&1 ||
		{ bad "$1 is $(jq --arg k "$1" '.figures[$k]' $J), which hides the fault: it cannot be above $2"; show; }
}

# no_rate_above LIMIT: not one rate in the document
no_rate_above()
{
	wrong=$(jq -r --argjson v "$1" '
		[(.figures | to_entries[] | select(.key | test("bytes_per_s$") and (test("requested|needed|interface") | not))),
		 (.tables | to_entries[] | .key as $t | .value | (.columns | map(.key)) as $k | .rows[] | . as $row |
			range($k | length) | select($k[.] | test("bytes_per_s$") and (test("requested|needed|interface") | not)) | {key: "\($t).\($k[.])", value: $row[.]})] |
		map(select((.value | type) == "number" and .value > $v)) | .[0] | select(.) | "\(.key) = \(.value)"' $J 2>&1)
	[ -z "$wrong" ] || { bad "$wrong is above $1 bytes/s, which the device cannot give"; show; }
}

no_iops_above()
{
	wrong=$(jq -r --argjson v "$1" '[.tables | to_entries[] | .key as $t | .value | (.columns | map(.key) | index("iops")) as $i | select($i) | .rows[] |
		.[$i] | select(type == "number" and . > $v) | "\($t): \(.) IOPS"] | .[0] // empty' $J 2>&1)
	[ -z "$wrong" ] || { bad "$wrong, above $1, which the device cannot give"; show; }
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
	is=$(jq -r --arg k "$1" '.targets[0][$k]' $J 2>/dev/null)
	[ "$is" = "$2" ] || { bad "$1 is $is, not $2"; show; }
}

notice() # code or part of the text
{
	jq -e --arg c "$1" '.notices | any(.code == $c or (.text | contains($c)))' $J >/dev/null 2>&1 || { bad "no notice \"$1\""; show; }
}

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
	before=$(sum_of "$refused_dev")
	platter 3 "$@" "$refused_dev"
	says "$reason"
	[ "$(sum_of "$refused_dev")" = "$before" ] || bad "$last: refused, and yet $refused_dev was changed"
}

# A device that appears in a moment.
appears()
{
	tries=0
	until [ -b "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 150 ] || { bad "no device $1"; return 1; }
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
