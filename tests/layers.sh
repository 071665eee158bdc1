#!/bin/sh
# tools/check-layers refuses what src/README forbids, and nothing else.
check=$(dirname "$0")/../tools/check-layers
"$check" || exit 1

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/base" "$dir/stats" "$dir/measure/one"
printf '%s\n' '#include "stats/stats.h"' '' 'int low(void)' '{' '	return 1; /* top() */' '}' >"$dir/measure/one/low.c"
printf '%s\n' 'const int top_value = 3;' 'int top(void)' '{' '	return low();' '}' 'static int low_value(void)' '{' '	return 0;' '}' >"$dir/measure/one/top.c"

failed=0
expect() # exit status, word in what is said, what it is about
{
	said=$("$check" "$dir" "$dir/knots" 2>&1)
	if [ $? != "$1" ] || ! printf '%s\n' "$said" | grep -q "$2"; then
		printf 'FAIL: %s\n%s\n' "$3" "$said"
		failed=1
	fi
}
expect 0 '' 'a folder that reads from top to bottom passes; comments call nothing'
printf '%s\n' 'int again(void)' '{' '	return x.top() + top_value;' '}' >>"$dir/measure/one/low.c"
expect 1 'low.c uses top_value of measure/one/top.c' 'a constant from above closes a circle'
printf '%s\n' 'int deep(void)' '{' '	return x->top() + "top_value"[0];' '}' >"$dir/measure/one/low.c"
expect 0 '' 'members and strings call nothing'
mkdir "$dir/measure/two"
printf '%s\n' 'struct tall { int v; };' >"$dir/measure/two/high.h"
printf '%s\n' '#include "measure/two/high.h"' 'int deep_of(struct tall h)' '{' '	return h.v;' '}' >"$dir/measure/two/deep.c"
printf '%s\n' '#include "measure/two/high.h"' 'int high(void)' '{' '	return deep_of((struct tall){ 1 });' '}' >"$dir/measure/two/high.c"
expect 1 'a knot of parts.*deep.*high' 'a type from above ties a knot'
"$check" --update "$dir" "$dir/knots"
expect 0 '' 'a knot that is known may stay'
mv "$dir/measure/two/high.h" "$dir/measure/two/two.h"
sed -i 's,two/high.h,two/two.h,' "$dir"/measure/two/*.c
"$check" --update "$dir" "$dir/knots"
expect 0 '' 'a type in the door is for all'
printf '%s\n' '#include "measure/two/two.h"' >>"$dir/measure/one/low.c"
expect 1 'low.c includes measure/two' 'no measurement knows another'
printf '%s\n' '#include "stats/stats.h"' >"$dir/base/base.c"
expect 1 'base/base.c includes stats' 'base knows nothing'
exit $failed
