#!/bin/sh
# tools/check-layers refuses what src/README forbids, and nothing else.
check=$(dirname "$0")/../tools/check-layers
"$check" || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/base" "$dir/stats" "$dir/measure/one" "$dir/measure/two"
printf '%s\n' '#include "stats/stats.h"' '' 'int low(void)' '{' '	return 1; /* top() */' '}' >"$dir/measure/one/low.c"
printf '%s\n' 'const int top_value = 3;' 'int top(void)' '{' '	return low();' '}' 'static int low_value(void)' '{' '	return 0;' '}' >"$dir/measure/one/top.c"

failed=0
expect() # exit status, word in what is said, what it is about
{
	said=$("$check" "$dir" 2>&1)
	if [ $? != "$1" ] || ! printf '%s\n' "$said" | grep -q "$2"; then
		printf 'FAIL: %s\n%s\n' "$3" "$said"
		failed=1
	fi
}
# The folders of the list are not in this tree, so the list has nothing to say.
expect 0 '' 'a folder that reads from top to bottom passes; comments call nothing'
printf '%s\n' 'int again(void)' '{' '	return x.top() + top_value;' '}' >>"$dir/measure/one/low.c"
expect 1 'low.c uses top_value of measure/one/top.c' 'a constant from above closes a circle'
printf '%s\n' 'int deep(void)' '{' '	return x->top() + "top_value"[0];' '}' >"$dir/measure/one/low.c"
expect 0 '' 'members and strings call nothing'
printf '%s\n' '#include "measure/two/two.h"' >>"$dir/measure/one/low.c"
expect 1 'low.c includes measure/two' 'no measurement knows another'
printf '%s\n' '#include "stats/stats.h"' >"$dir/base/base.c"
expect 1 'base/base.c includes stats' 'base knows nothing'
exit $failed
