#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The packages: the Debian ones are built from a copy of the tree and unpacked, and what is in them has to be all there and work from there;
# the RPM spec has to name every file that is installed. The monthly check of the systemd unit is run, in virtual time.
. "$(dirname "$0")/cli/lib.sh"
: "${PLATTER_SIM:?the program over simulated disks}" "${BUILD:?the build directory}"
command -v dh >/dev/null && command -v dpkg-buildpackage >/dev/null || skip "debhelper is not installed"
needs dpkg-deb python3 jq git meson
git -C "$TOP" rev-parse >/dev/null 2>&1 || skip "not a git tree: the packages are built from its files"

# What is in the packages is judged here, and how it is put there: objects are those of the build that is tested, where it has them.
cat >"$dir/gcc" <<'END'
#!/bin/sh
was= object=
for word; do
	[ "$was" != -o ] || object=$word
	was=$word
done
case $object in *.c.o) cp "$BUILD/$object" "$object" 2>/dev/null && exit ;; esac
exec gcc "$@"
END
chmod +x "$dir/gcc" && export CC="$dir/gcc" BUILD
(unset MAKEFLAGS; DEB_CFLAGS_APPEND=-g0 DEB_BUILD_OPTIONS="nocheck noopt noautodbgsym parallel=2" "$TOP/contrib/debian/build" "$dir") >"$dir/log" 2>&1 ||
	{ tail -n 30 "$dir/log"; fail "dpkg-buildpackage failed"; }
[ "$(find "$dir" -name '*.deb' | wc -l)" = 2 ] || fail "not two packages: $(ls "$dir")"
for deb in "$dir"/*.deb; do
	dpkg-deb -x "$deb" "$dir/root" || fail "$deb cannot be unpacked"
	dpkg-deb -c "$deb" | awk '$6 !~ /\/$/ { print $6 }' >>"$dir/files"
	dpkg-deb -c "$deb" | awk '$1 ~ /s|^[^d].......w/ || $2 != "root/root" { bad = 1 } END { exit bad }' || fail "$deb: owners and modes"
done
[ -z "$(sort "$dir/files" | uniq -d)" ] || fail "in two packages: $(sort "$dir/files" | uniq -d)"
dpkg-deb -f "$dir"/platter_*.deb Depends >"$dir/out"
for library in liburing2 libaio1 libjansson4 libblkid1; do
	grep -q "$library" "$dir/out" || fail "the package does not depend on $library"
done
if command -v lintian >/dev/null; then
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$dir"/*.deb >"$dir/out" 2>&1 || fail "lintian"
fi

root=$dir/root
PLATTER=$root/usr/sbin/platter
run 0 --version
out_has "platter "
for page in "$TOP"/man/*.[58]; do
	section=${page##*.}
	gzip -dc "$root/usr/share/man/man$section/${page##*/}.gz" 2>/dev/null | cmp -s - "$page" || fail "the page ${page##*/} is not in a package"
done
cmp -s "$TOP/contrib/completion/_platter" "$root/usr/share/zsh/vendor-completions/_platter" || fail "no completion for zsh"
cmp -s "$TOP/contrib/completion/platter.bash" "$root/usr/share/bash-completion/completions/platter" || fail "no completion for bash"
cmp -s "$TOP/contrib/completion/platter.fish" "$root/usr/share/fish/vendor_completions.d/platter.fish" || fail "no completion for fish"
for profile in "$TOP"/tools/simdisk/profiles/*.disk; do
	cmp -s "$profile" "$root/usr/share/platter-simdisk/${profile##*/}" || fail "the profile ${profile##*/} is not in a package"
done

for file in prometheus/platter.rules.yml grafana/platter.json; do
	cmp -s "$TOP/contrib/$file" "$root/usr/share/platter/${file##*/}" || fail "no $file in the package"
done
for file in tutorial.md README zones.svg; do
	[ -n "$(find "$root/usr/share/doc/platter" -name "$file*")" ] || fail "no $file in the package"
done
# What autopkgtest runs on the installed package, on what was unpacked; without loop devices a part of it.
env PATH="$root/usr/sbin:$PATH" PLATTER_PROFILES="$root/usr/share/platter-simdisk" "$TOP/contrib/debian/tests/core" >"$dir/out" 2>"$dir/err"
status=$?
[ $status = 0 ] || [ $status = 77 ] || fail "contrib/debian/tests/core: exit status $status"

# The systemd unit: its commands as systemd gives them to the shell, over a simulated disk.
units=$root/usr/lib/systemd/system
grep -q '^OnCalendar=monthly' "$units/platter-check@.timer" || fail "the timer is not monthly"
if command -v systemd-analyze >/dev/null; then
	sed "s|/usr/sbin/platter|$PLATTER|" "$units/platter-check@.service" >"$dir/platter-check@dev-x.service"
	cp "$units/platter-check@.timer" "$dir/platter-check@dev-x.timer"
	systemd-analyze verify "$dir/platter-check@dev-x.service" "$dir/platter-check@dev-x.timer" >"$dir/out" 2>&1 || fail "systemd-analyze verify"
	[ ! -s "$dir/out" ] || fail "systemd-analyze verify warns"
fi
mkdir "$dir/state"
unit_command() # ExecStart or ExecStartPost
{
	sed -n "s/^$1=//p" "$units/platter-check@.service" |
		sed "s/%%/%/g; s/\\\$\\\$/\$/g; s|%f|sim:tiny|; s|/usr/sbin/platter|$PLATTER_SIM|g" >"$dir/command"
	grep -q "$PLATTER_SIM" "$dir/command" || fail "the unit's $1 does not call /usr/sbin/platter"
	(cd "$dir" && STATE_DIRECTORY=$dir/state sh "$dir/command" >"$dir/out" 2>"$dir/err")
	status=$?
	last="the unit's $1"
	return $status
}
unit_command ExecStart || fail "$last: exit status $status"
unit_command ExecStartPost || fail "$last after the first month: exit status $status"
first=$(ls "$dir"/state/*.json)
for month in 02 03 04; do
	jq -c --arg m "$month" '.head.started |= sub("-[0-9]{2}-"; "-" + $m + "-")' "$first" >"$dir/state/zones-$month.json"
done
mv "$first" "$dir/first.json"
unit_command ExecStartPost || fail "$last over three equal months: exit status $status"
# Each year a tenth slower: the unit fails, and OnFailure= can send mail.
rm "$dir"/state/*.json
for year in 2021 2022 2023 2024 2025; do
	jq -c --argjson y $year '(2026 - $y) as $n | (.figures | .[] | select(type == "number")) |= . * (1 + $n / 10) |
		.head.started |= sub("^[0-9]+"; ($y | tostring))' "$dir/first.json" >"$dir/state/zones-$year.json"
done
unit_command ExecStartPost
[ $status = 5 ] || fail "$last over years of decline: exit status $status, not 5"
grep -q "worse" "$dir/out" || fail "$last: nothing is said to get worse"

# Every file that is installed is in the spec, under some name.
meson introspect --installed "$BUILD" >"$dir/installed.json" || fail "meson introspect"
python3 - "$TOP/contrib/rpm/platter.spec" "$dir/installed.json" <<'PY' || fail "contrib/rpm/platter.spec: see above"
import fnmatch, json, re, sys
macros = {'_sbindir': '/sbin', '_datadir': '/share', '_mandir': '/share/man', '_unitdir': '/lib/systemd/system'}
globs = []
for line in open(sys.argv[1]).read().split('%files', 1)[1].splitlines():
    m = re.match(r'%\{(\w+)\}(\S+)$', line.strip())
    if m:
        globs.append(macros[m.group(1)] + m.group(2))
used, missing = set(), []
for path in json.load(open(sys.argv[2])).values():
    short = re.sub(r'^/usr(/local)?', '', path)
    hits = [g for g in globs if fnmatch.fnmatch(short, g) or short.startswith(g + '/')]
    used.update(hits)
    if not hits:
        missing.append(short)
for short in missing:
    print('not in the spec:', short)
for g in set(globs) - used:
    print('in the spec, but not installed:', g)
sys.exit(bool(missing or set(globs) - used))
PY
if command -v rpmspec >/dev/null; then
	rpmspec -P "$TOP/contrib/rpm/platter.spec" >"$dir/out" 2>"$dir/err" || fail "rpmspec refuses contrib/rpm/platter.spec"
fi
exit 0
