#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The page in a real browser, at the width of a phone and of a desk: nothing runs over the edge, plots are there, tick labels do not overlap.
. "$(dirname "$0")/lib.sh"
command -v chromium >/dev/null || skip "chromium is not installed"
needs jq

cd "$dir" || exit 1
"$PLATTER_SIM" zones --quick --json zones.json sim:tiny >/dev/null || fail "no zones document"
"$PLATTER_SIM" seek --quick --json seek.json sim:tiny >/dev/null || fail "no seek document"
"$PLATTER_SIM" stream --read --rate=20MB --time=20s --json stream.json sim:tiny >/dev/null || [ $? = 5 ] || fail "no stream document"
run 0 report zones.json seek.json stream.json -o page.html
grep -q '<script' page.html && fail "the page has a script"

# A copy that measures itself: what is wider than the window, and which labels of one axis lie on each other.
cat >self.js <<'JS'
onload = function () {
	var w = document.documentElement.clientWidth, bad = [];
	document.querySelectorAll("body *").forEach(function (e) {
		if (e.closest(".scroll") || (e.closest("svg") && e.tagName != "svg"))
			return;
		if (e.getBoundingClientRect().right > w + 1)
			bad.push(e.tagName);
	});
	document.querySelectorAll("svg").forEach(function (s) {
		var t = [].filter.call(s.querySelectorAll("text.t"), function (e) {
			return getComputedStyle(e).display != "none";
		}).map(function (e) { return e.getBoundingClientRect(); });
		t.forEach(function (a, i) {
			t.slice(i + 1).forEach(function (b) {
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
					bad.push("overlap");
			});
		});
	});
	document.title = "bad=" + bad.length + " svg=" + document.querySelectorAll("svg").length + " " + bad.slice(0, 5).join(",");
};
JS
{
	grep -v '</body>' page.html
	printf '<script>'
	cat self.js
	printf '</script></body></html>\n'
} >self.html
for width in 360 1280; do
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$dir/profile$width" --window-size=$width,2000 \
		--virtual-time-budget=3000 --dump-dom "file://$dir/self.html" >dom 2>err || fail "chromium failed"
	title=$(sed -n 's/.*<title>\([^<]*\)<.*/\1/p' dom | head -n 1)
	case $title in
	"bad=0 svg="[1-9]*) ;;
	*) fail "at $width pixels: $title" ;;
	esac
done
