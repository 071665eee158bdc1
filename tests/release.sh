#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tools/release makes a tarball of the version that was asked for, says in each manual page which it is, and nothing without what is new.
set -u
cd "$(dirname "$0")/.." || exit 1
for program in git meson xz; do
	command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT INT TERM
mkdir "$dir/tree" && tar -cf - --exclude='./build*' --exclude=./.git . | tar -xf - -C "$dir/tree" || exit 1
cd "$dir/tree" || exit 1
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@invalid GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@invalid
git init -q . && git add -A && git commit -qm tree || exit 1
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }

tools/release 9.8.7 >"$dir/out" 2>&1 && fail "a version without news was released"
grep -q 'NEWS has no section 9.8.7' "$dir/out" || fail "$(cat "$dir/out")"
sed -i '0,/^[0-9].*not released yet$/s//9.8.7, not released yet/' contrib/NEWS && git commit -qam news || exit 1
tools/release 9.8.7 >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
git rev-parse -q --verify refs/tags/v9.8.7 >/dev/null || fail "no tag"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "the tree is not as committed"
tar -xJf build-release/platter-9.8.7.tar.xz -C "$dir" || fail "no tarball"
cd "$dir/platter-9.8.7" || fail "the tarball has another folder"
grep -q "version: '9.8.7'" meson.build || fail "meson.build"
[ "$(grep -l '^\.Os "platter 9.8.7"$' man/*.[58] | wc -l)" = "$(find man -name '*.[58]' | wc -l)" ] || fail "a page has another version"
grep -q '^9.8.7, 20' contrib/NEWS && head -n 1 contrib/debian/changelog | grep -q '(9.8.7)' || fail "NEWS or changelog"
grep -q '^Version: 9.8.7$' contrib/rpm/platter.spec || fail "spec"
tools/release 9.8.7 >/dev/null 2>&1 && fail "a release twice"
exit 0
