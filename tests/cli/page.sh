#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Pages in a real browser, at the width of a phone and of a desk, light and dark, all parts unfolded, and on paper: results of every command, three
# disks laid over each other, one disk over three years, documents of the past, and all pictures as files of their own. Nothing runs over the edge, nothing lies on anything else, no
# label is cut off, all text stands out from its ground.
. "$(dirname "$0")/lib.sh"
command -v chromium >/dev/null || skip "chromium is not installed"
needs jq python3 pdftotext pdftoppm

cd "$dir" || exit 1
mkdir files three years
sim() # file, words...: a document; the verdict may be "no", and a disk may have errors
{
	name=$1
	shift
	"$PLATTER_SIM" "$@" --json "$name.json" >out 2>err
	case $? in
	0 | 4 | 5 | 6) ;;
	*) fail "platter-sim $*" ;;
	esac
}
sim info info sim:samsung-hd103sj
sim zones zones sim:failing
sim surface surface sim:failing
sim recover recover --rewrite-data=TINY0001 sim:tiny
sim check check sim:failing
sim seek seek --quick sim:tiny
sim smr smr --write --destroy-data=TINY0001 --range=0-256MiB sim:tiny
sim sustain sustain --random --rate=20MB --time=20s sim:ssd-sata
sim buffer buffer sim:tiny
sim geometry geometry --quick sim:quantum-fireball-tm2110a
sim stream stream --read --rate=20MB --time=30s sim:tiny
sim tradeoff stream --read --tradeoff --size=64MB --buffer=8MB sim:tiny
sim transactions transactions --users=8 --count=50 sim:tiny
sim users transactions --users=8 --find --time=20s sim:tiny
run 0 passes --size=1M --repeat=3 --json passes.json files
run 0 mark --time=20ms --repeat=1 --json mark.json files
run 0 cache --size=1M-2M --block=16K-32K --repeat=3 --slice=1ms --without=knee --json cache.json files
"$PLATTER" --describe | jq -r '.commands[] | select(.kind == "measurement") | .name' >commands
while read -r command; do
	[ -s "$command.json" ] || fail "no document of $command: add a line here"
done <commands
run 0 report ./*.json -o every.html
for disk in quantum-fireball-tm2110a ibm-deskstar-60gxp maxtor-diamondmax-80; do
	sim "three/zones-$disk" zones --quick "sim:$disk"
done
run 0 report three -o three.html
for year in 2024 2025 2026; do
	jq --arg y "$year" '.head.started |= sub("^[0-9]+"; $y)' zones.json >"years/$year.json"
done
run 0 report years -o years.html
run 0 report "$TOP/tests/data/documents/version-1" -o old.html
# Every picture alone: a name and a sentence of its own, nothing left to a style sheet, understood by any reader of XML.
{
	echo '<!DOCTYPE html><html lang="en"><head><title>x</title><style>body{background:#fff}body>svg{width:100%;height:auto}</style></head><body>'
	for document in $(jq -r 'select(.plots | length > 0) | input_filename' ./*.json | sort -u); do
		jq -e '.plots | all(.name and (.see | endswith("."))) and (map(.name) | unique | length) == length' "$document" >/dev/null ||
			fail "$document: a picture without a name of its own or a sentence"
		run 2 report --picture=none-such "$document"
		names=$(sed -n "s/.*there are: \(.*\)\.$/\1/p" err | tr -d ,)
		[ "$names" ] || fail "$document: no names of pictures: $(cat err)"
		for name in $names; do
			run 0 report "--picture=$name" "$document" -o picture.svg
			grep -q 'var(\|color-mix\|currentColor' picture.svg && fail "$name of $document is not in fixed colours"
			python3 -c 'import sys, xml.dom.minidom as m; m.parse("picture.svg")' || fail "$name of $document is not XML"
			cat picture.svg
		done
	done
	echo '</body></html>'
} >pictures.html
[ "$(grep -c '<svg xmlns' pictures.html)" -ge 20 ] || fail "too few pictures"
run 0 report zones.json
grep -q '^Read rate by place' out && grep -q '\^ Slow regions  ! Unreadable' out || fail "a failing disk's first screen has no picture with its places"
run 0 report --picture=curve three -o three.svg
grep -c 'class="line s' three.svg | grep -qx 3 || fail "three disks are not three lines"
run 0 report --picture=curve zones.json
cmp -s out three.svg && fail "one disk looks as three"
cp out alone.svg
run 0 report --picture=curve zones.json -o zones.svg
cmp alone.svg zones.svg || fail "the picture in a file and that on standard output differ"
run 0 report "--picture=$(jq -r '.plots[0].title' "$TOP/tests/data/documents/version-1/zones.json")" "$TOP/tests/data/documents/version-1/zones.json"
grep -q 'class="line s0"' out || fail "the picture of an old document is not known by its title"
grep -q '<script' ./*.html && fail "a page has a script"

# Copies that look at themselves, and a page that shows each of a phone's width and of a desk's and takes down what they say.
cat >self.js <<'JS'
onload = function () {
	var w = document.documentElement.clientWidth, bad = [];
	function rect(e) { return e.getBoundingClientRect(); }
	function shown(e) { return getComputedStyle(e).display != "none" && rect(e).width > 0; }
	document.querySelectorAll("details").forEach(function (e) { e.open = true; });
	document.querySelectorAll("body *").forEach(function (e) {
		if (e.closest(".scroll") && !e.matches(".scroll") || e.closest("svg") && e.tagName != "svg")
			return;
		if (rect(e).right > w + 1 || rect(e).left < -1)
			bad.push("wide " + e.tagName);
	});
	if (document.documentElement.scrollWidth > w + 1)
		bad.push("the page scrolls sideways");
	document.querySelectorAll("svg:not(.legend svg)").forEach(function (s) {
		var frame = rect(s), t = [].filter.call(s.querySelectorAll("text"), shown);
		if (frame.height < 60 && !s.matches(".small"))
			bad.push("flat plot");
		t.forEach(function (e, i) {
			var a = rect(e);
			if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
				bad.push("cut off: " + e.textContent);
			t.slice(i + 1).forEach(function (f) {
				var b = rect(f);
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
					bad.push("overlap: " + e.textContent + " / " + f.textContent);
			});
		});
	});
	document.querySelectorAll("body, section, figure, details, .plots").forEach(function (p) {
		var c = [].filter.call(p.children, shown);
		c.forEach(function (e, i) {
			c.slice(i + 1).forEach(function (f) {
				var a = rect(e), b = rect(f);
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
					bad.push(e.tagName + " lies on " + f.tagName);
			});
		});
	});
	/* Contrast as WCAG 2 has it: (lighter + 0.05) / (darker + 0.05), 4.5 for small type. */
	function light(c) {
		return c.map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); })
			.reduce(function (sum, v, i) { return sum + v * [0.2126, 0.7152, 0.0722][i]; }, 0);
	}
	function rgb(text) { return (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number); }
	document.querySelectorAll("body *").forEach(function (e) {
		var ground = e, ink = rgb(getComputedStyle(e)[e.closest("svg") ? "fill" : "color"]), under, a, b;
		if (![].some.call(e.childNodes, function (n) { return n.nodeType == 3 && n.data.trim(); }) || e.matches("title, script"))
			return;
		do {
			under = rgb(getComputedStyle(ground).backgroundColor);
			ground = ground.parentElement;
		} while (ground && under.length == 4 && under[3] == 0);
		a = light(ink.slice(0, 3));
		b = light(under.slice(0, 3));
		if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5)
			bad.push("pale: " + e.textContent.slice(0, 40));
	});
	if (matchMedia("(prefers-color-scheme: dark)").matches != (name.indexOf("dark") > 0))
		bad.push("not in the colours asked for");
	parent.postMessage(name + ": " + document.querySelectorAll("svg:not(.legend svg)").length + " plots, " + bad.length + " bad. " + bad.slice(0, 5).join("; "), "*");
};
JS
cat >all.html <<'HTML'
<!DOCTYPE html><html><head><title>x</title></head><body style="margin:0"><pre id="log"></pre><script>
onmessage = function (m) { document.getElementById("log").textContent += "SAID " + m.data + "\n"; };
</script>
HTML
expected=0
for page in every three years old pictures; do
	{
		grep -v '</body>' $page.html
		printf '<script>'
		cat self.js
		printf '</script></body></html>\n'
	} >$page-self.html
	for look in 360-light 1600-dark; do # places do not depend on colours
		{
			printf '<iframe name="%s-%s" style="border:0;width:%spx;height:3000px;color-scheme:%s" srcdoc="' \
				$page $look ${look%-*} ${look#*-}
			sed 's/&/\&amp;/g; s/"/\&quot;/g' $page-self.html
			echo '"></iframe>'
		} >>all.html
		expected=$((expected + 1))
	done
done
echo '</body></html>' >>all.html
browser() # words: in a profile of its own
{
	timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$dir/profile" "$@" 2>err || fail "chromium failed"
}
browser --window-size=1400,2000 --virtual-time-budget=20000 --dump-dom "file://$dir/all.html" >dom
sed -n 's/^\(.*<pre id="log">\)\{0,1\}SAID \(.*\)/\2/p' dom >said
cat said
[ "$(wc -l <said)" = $expected ] || fail "$expected pages were expected to say something"
grep -v ': [1-9][0-9]* plots, 0 bad' said && fail "see above"

# As a PNG: the drawing is there, and most of it is ground.
browser --window-size=1344,1000 --screenshot="$dir/picture.png" "file://$dir/zones.svg" >/dev/null
python3 - <<'PY' || exit 1
import struct, sys, zlib
data, at, pixels = open('picture.png', 'rb').read(), 8, b''
while at < len(data):
    size, kind = struct.unpack('>I4s', data[at:at + 8])
    pixels += data[at + 8:at + 8 + size] if kind == b'IDAT' else b''
    at += size + 12
dark = sum(1 for v in zlib.decompress(pixels) if 0 < v < 255)
print('a picture of %d bytes, %d of ink' % (len(data), dark))
if dark < 20000:
    sys.exit('FAIL: the picture is empty')
PY

# On paper, whatever the reader's choice of colours is: dark ink on white, all words within the sheet; who the disk is, the settings and the
# command that repeats the run are there, though folded on the screen.
browser --blink-settings=preferredColorScheme=0 --no-pdf-header-footer --print-to-pdf="$dir/every.pdf" "file://$dir/every.html" >/dev/null
pdftotext -layout every.pdf paper.txt
for words in "To repeat this run" "--precision" "Figures" "--seed=" "$(jq -r '.targets[0].model' zones.json)" "How long"; do
	grep -qF -e "$words" paper.txt || fail "\"$words\" is not on paper"
done
[ "$(grep -c "To repeat this run" paper.txt)" = "$(ls ./*.json | wc -l)" ] || fail "not every run can be repeated from paper"
pdftotext -bbox every.pdf paper.html
pdftoppm -r 30 -gray every.pdf sheet
python3 - <<'PY' || exit 1
import glob, re, sys
width = height = pages = 0
heights = []
for line in open('paper.html'):
    page = re.search(r'<page width="([\d.]+)" height="([\d.]+)"', line)
    word = re.search(r'xMin="(-?[\d.]+)" yMin="(-?[\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*)<', line)
    if page:
        width, height = map(float, page.groups())
        pages += 1
    if word:
        heights.append(float(word[4]) - float(word[2]))
    if word and (float(word[1]) < 10 or float(word[3]) > width - 10 or float(word[4]) > height):
        sys.exit('FAIL: "%s" runs over the edge of the paper' % word[5])
for name in glob.glob('sheet*.pgm'):
    data = open(name, 'rb').read().split(b'\n', 3)[3]
    if sum(data) < 200 * len(data):
        sys.exit('FAIL: %s is dark' % name)
# A browser shrinks what is too wide for the paper: type of 8.5 points and more is 9.3 high and more.
if sorted(heights)[len(heights) // 2] < 9:
    sys.exit('FAIL: the page was shrunk to fit the paper')
print('%d sheets of paper' % pages)
if not 5 <= pages <= 90:
    sys.exit('FAIL: that many?')
PY
exit 0
