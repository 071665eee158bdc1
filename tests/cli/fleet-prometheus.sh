#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a fleet is watched with: one series for a disk and figure, whoever wrote it; the rules and the dashboard of contrib, by promtool and by a
# Prometheus that scrapes two files through node_exporter, on the loopback.
. "$(dirname "$0")/lib.sh"
needs jq python3

series() # file: names and labels, without what is not identity
{
	grep -v '^#' "$1" | sed 's/ [^ ]*$//' | sort
}
is_unique() # file
{
	[ -z "$(series "$1" | uniq -d)" ] || fail "$last: twice there is $(series "$1" | uniq -d | head -n 3)"
}
disks() # file: the disks of platter_disk_info
{
	sed -n 's/^platter_disk_info{disk="\([^"]*\)".*/\1/p' "$1" | sort
}

# Of each disk the latest run of each measurement, though kernel names change each month.
fleet_of_a_year
cp "$year.bad" "$dir/told"
run 0 report "$year" --prometheus="$dir/fleet.prom"
is_unique "$dir/fleet.prom"
[ "$(disks "$dir/fleet.prom" | uniq | wc -l)" = 40 ] || fail "$last: not forty disks"
[ "$(grep -c '^platter_zones_mean_bytes_per_second{' "$dir/fleet.prom")" = 40 ] || fail "$last: not one figure of a disk"
[ "$(grep -c '^platter_disk_verdict{' "$dir/fleet.prom")" = 40 ] || fail "$last: not one verdict of a disk"
grep -E '^platter_disk_verdict.*verdict="(failing|worse)"' "$dir/fleet.prom" | sed 's/.*disk="\([^"]*\)".*/\1/' | sort >"$dir/named"
cut -d ' ' -f 1 "$dir/told" | sort | cmp -s - "$dir/named" || fail "$last: called bad are $(tr '\n' ' ' <"$dir/named"), not $(tr '\n' ';' <"$dir/told")"

# What is another one has series of its own, in files that are written apart, too: reading, writing and arrivals; a part of a disk and a namespace;
# hosts of one name with one path. What only moved has not.
"$PLATTER_SIM" zones --quick sim:tiny -q --json="$dir/one.json" --prometheus="$dir/one.prom" || fail "zones of sim:tiny"
variant() # name, filter of jq
{
	jq "$2" "$dir/one.json" >"$dir/$1.json"
	run 0 report "$dir/$1.json" --prometheus="$dir/$1.prom"
	series "$dir/$1.prom" | grep '^platter_zones_mean_bytes' >"$dir/$1.series"
	[ -s "$dir/$1.series" ] || fail "$last: no figure"
}
variant same .
variant moved '.head.host.name = "b" | .head.host.machine_id = "b" | .targets[0].path = "/dev/sdz"'
cmp -s "$dir/same.series" "$dir/moved.series" || fail "a disk that moved is another one: $(cat "$dir/moved.series")"
variant writing '.head.options.write = "yes"'
variant rewriting '.head.options.rewrite = "yes"'
variant open '.head.options.arrivals = "5"'
variant open-writing '.head.options.arrivals = "5" | .head.options.write = "yes"'
variant block '.head.options.block = "64KiB"'
variant quicker '.head.options.quick = "no"'
variant part '.targets[0].kind = "partition" | .targets[0].name = "tiny1"'
variant space1 '.targets[0].disk = "nvme0n1" | .targets[0].name = "nvme0n1"'
variant space2 '.targets[0].disk = "nvme0n2" | .targets[0].name = "nvme0n2"'
variant host1 '.targets[0].serial = null | .head.host.name = "store" | .head.host.machine_id = "1" | .targets[0].path = "/dev/vda"'
variant host2 '.targets[0].serial = null | .head.host.name = "store" | .head.host.machine_id = "2" | .targets[0].path = "/dev/vda"'
variant placeholder1 '.targets[0].serial = "0123456789ABCDEF" | .head.host.name = "a" | .head.host.machine_id = "3"'
variant placeholder2 '.targets[0].serial = "0123456789ABCDEF" | .head.host.name = "b" | .head.host.machine_id = "4"'
variant folder1 '.targets[0].kind = "directory" | .targets[0].path = "/data"'
variant folder2 '.targets[0].kind = "directory" | .targets[0].path = "/srv"'
rm "$dir/moved.series"
for series in "$dir"/*.series; do
	for other in "$dir"/*.series; do
		[ "$series" = "$other" ] || ! cmp -s "$series" "$other" || fail "${series##*/} and ${other##*/} are one: $(cat "$series")"
	done
done

# The same metric has the same help, unit and type in every file.
for measurement in seek buffer surface info; do
	"$PLATTER_SIM" $measurement sim:tiny -q --prometheus="$dir/$measurement.prom" || fail "$measurement of sim:tiny"
done
"$PLATTER_SIM" check sim:tiny -q --prometheus="$dir/check.prom"
case $? in 0 | 5 | 6) ;; *) fail "check of sim:tiny" ;; esac
cat "$dir"/*.prom | grep '^# [TUH]' | sort -u | cut -d ' ' -f 2,3 | uniq -d >"$dir/out"
[ ! -s "$dir/out" ] || fail "not the same in all files"

# Every metric that the dashboard and the rules ask for is one that platter writes; the dashboard is a whole one.
cat >"$dir/dashboard.py" <<'PY'
import json, pathlib, re, sys

def fail(text):
    sys.exit('FAIL: ' + text)

top, metrics = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
known = set(re.findall(r'^# TYPE (\S+)', metrics, re.M))
board = json.loads((top / 'contrib/grafana/platter.json').read_text())
for key, kind in {'uid': str, 'title': str, 'schemaVersion': int, 'panels': list, 'templating': dict, 'time': dict, 'annotations': dict}.items():
    if not isinstance(board.get(key), kind):
        fail('the dashboard has no %s' % key)
variables = {v['name'] for v in board['templating']['list']}
texts, ids, taken = [], set(), set()
for panel in board['panels']:
    for key in ('id', 'type', 'title', 'datasource', 'gridPos', 'targets', 'fieldConfig'):
        if key not in panel:
            fail('a panel has no %s' % key)
    g = panel['gridPos']
    cells = {(x, y) for x in range(g['x'], g['x'] + g['w']) for y in range(g['y'], g['y'] + g['h'])}
    if panel['id'] in ids or taken & cells or g['x'] + g['w'] > 24:
        fail('the panel %s lies over another one' % panel['title'])
    if len({t['refId'] for t in panel['targets']}) != len(panel['targets']):
        fail('the panel %s has two targets of one name' % panel['title'])
    ids.add(panel['id'])
    taken |= cells
    texts += [t['expr'] for t in panel['targets']]
asked = texts + [v['query'] for v in board['templating']['list'] if v['type'] == 'query'] + [p['title'] for p in board['panels']]
for name in re.findall(r'\$\{?(\w+)', json.dumps(asked)) + ['source']:
    if name not in variables:
        fail('the dashboard asks for the variable %s' % name)
asked.append((top / 'contrib/prometheus/platter.rules.yml').read_text())
names = set(re.findall(r'\bplatter_[a-z0-9_]+', ' '.join(asked)))
if len(names) < 10 or names - known:
    fail('not written by platter: %s' % (names - known))
pathlib.Path(sys.argv[3]).write_text('\n'.join(re.sub(r'\$\w+', '.*', t) for t in texts))
PY
cat "$dir/fleet.prom" "$dir/check.prom" >"$dir/written"
python3 "$dir/dashboard.py" "$TOP" "$dir/written" "$dir/queries" || exit 1

needs promtool
# Coefficients have letters for names, and a rate may be of gigabytes: that is no unit of the metric.
for file in "$dir"/*.prom; do
	promtool check metrics <"$file" 2>&1 | grep -vE '^platter_((seek|check)_fit_[a-d]_|(surface|check)_revolutions_lost_per_gb )' >"$dir/out"
	[ ! -s "$dir/out" ] || fail "promtool check metrics of ${file##*/}"
done
promtool check rules "$TOP/contrib/prometheus/platter.rules.yml" >"$dir/out" 2>&1 || fail "promtool check rules"
promtool test rules "$TOP/tests/data/prometheus/rules-test.yml" >"$dir/out" 2>&1 || fail "promtool test rules"

# All of it together, bounded in time.
needs prometheus prometheus-node-exporter
mkdir "$dir/textfile" "$dir/data"
cp "$dir/fleet.prom" "$dir/one.prom" "$dir/textfile"
cat >"$dir/scrape.py" <<'PY'
import json, pathlib, socket, subprocess, sys, time, urllib.error, urllib.parse, urllib.request

here, top = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
started, deadline = [], time.monotonic() + 60

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]

def start(name, *words):
    with open(here / (name + '.log'), 'wb') as log:
        started.append(subprocess.Popen([name, *words], stdout=log, stderr=log, cwd=here))

def get(url):
    return opener.open(url, timeout=10).read().decode()

def until(what, ask):
    while time.monotonic() < deadline:
        try:
            answer = ask()
            if answer:
                return answer
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.2)
    raise SystemExit('FAIL: not within its time: ' + what)

def samples(text):
    return [line for line in text.splitlines() if line.startswith('platter_')]

def main():
    node, prom = free_port(), free_port()
    (here / 'prometheus.yml').write_text(json.dumps({
        'global': {'scrape_interval': '1s', 'evaluation_interval': '1s'}, 'rule_files': [str(top / 'contrib/prometheus/platter.rules.yml')],
        'scrape_configs': [{'job_name': 'node', 'static_configs': [{'targets': ['127.0.0.1:%d' % node]}]}]}))
    start('prometheus-node-exporter', '--collector.disable-defaults', '--collector.textfile', '--collector.textfile.directory=%s' % (here / 'textfile'),
          '--web.listen-address=127.0.0.1:%d' % node)
    start('prometheus', '--config.file=%s' % (here / 'prometheus.yml'), '--storage.tsdb.path=%s' % (here / 'data'),
          '--web.listen-address=127.0.0.1:%d' % prom)
    exported = until('node_exporter', lambda: get('http://127.0.0.1:%d/metrics' % node))
    wanted = samples((here / 'fleet.prom').read_text()) + samples((here / 'one.prom').read_text())
    if 'node_textfile_scrape_error 0' not in exported or len(samples(exported)) != len(wanted):
        raise SystemExit('FAIL: node_exporter has %d samples of %d' % (len(samples(exported)), len(wanted)))

    def query(text):
        return json.loads(get('http://127.0.0.1:%d/api/v1/query?%s' % (prom, urllib.parse.urlencode({'query': text}))))['data']['result']
    until('all series in Prometheus', lambda: query('count({__name__=~"platter_.*"})') and
          int(query('count({__name__=~"platter_.*"})')[0]['value'][1]) == len(wanted))
    if query('prometheus_target_scrapes_sample_duplicate_timestamp_total > 0') or 'uplicate' in (here / 'prometheus.log').read_text():
        raise SystemExit('FAIL: a series twice')
    for text in (here / 'queries').read_text().splitlines():
        if not query(text):
            raise SystemExit('FAIL: the dashboard asks %s, and nothing answers' % text)
    # Groups of rules are looked at one after the other.
    until('alerts', lambda: query('ALERTS{alertname="PlatterDiskGoingBad", alertstate="firing"}') and query('ALERTS{alertname="PlatterDiskSilent"}'))
    rings = {a['metric']['disk'] for a in query('ALERTS{alertname=~"PlatterDiskBad|PlatterDiskGoingBad", alertstate="firing"}')}
    bad = {line.split()[0] for line in (here / 'told').read_text().splitlines()}
    if rings != bad:
        raise SystemExit('FAIL: it rings for %s, bad are %s' % (sorted(rings), sorted(bad)))
    silent = {a['metric']['disk'] for a in query('ALERTS{alertname="PlatterDiskSilent"}')}
    if len(silent) != 40 or 'TINY0001' in silent:
        raise SystemExit('FAIL: silent are %s' % sorted(silent))
    print('%d series, %d disks ring' % (len(wanted), len(rings)))

try:
    main()
finally:
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
PY
python3 "$dir/scrape.py" "$dir" "$TOP" || { tail -n 5 "$dir"/prometheus*.log; exit 1; }
