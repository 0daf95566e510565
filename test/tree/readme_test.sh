#!/bin/sh
# The C program of README.md compiles, and prints over four ranks what README.md says.
#
# usage: readme_test.sh BUILD_FOLDER C_COMPILER
set -eu
build=$1
compiler=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$root/README.md" >"$work/sum.c"
"$compiler" -std=c99 -Wall -Wextra -Werror "$work/sum.c" -I "$root/include" -L "$build" -lhocket \
    -Wl,-rpath,"$build" -o "$work/sum"
"$build/hocket" run -n 4 "$work/sum" | tee "$work/out"
[ "$(grep -c '^6 10 14 18$' "$work/out")" = 4 ]
[ "$(wc -l <"$work/out")" = 4 ]
[ "$(wc -l <"$root/README.md")" -lt 150 ]
