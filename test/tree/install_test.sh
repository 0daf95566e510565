#!/bin/sh
# Install a finished build to a temporary prefix and use it as a stranger would: by CMake package
# and by pkg-config, from outside of the tree.
#
# usage: install_test.sh BUILD_FOLDER C_COMPILER
set -eu
build=$1
compiler=$2
source=$(cd "$(dirname "$0")/consumer" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
library=$(dirname "$(find "$work/prefix" -name libhocket.so)")
# a moved tree must work too: nothing in it may name the prefix it was installed to
mv "$work/prefix" "$work/moved"
library=$work/moved${library#"$work/prefix"}

cmake -S "$source" -B "$work/cmake" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$work/moved" >/dev/null
cmake --build "$work/cmake" >/dev/null
"$work/cmake/consumer"

flags=$(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs hocket)
# shellcheck disable=SC2086  # flags are words
"$compiler" "$source/consumer.c" $flags -o "$work/consumer"
LD_LIBRARY_PATH=$library "$work/consumer"

for file in bin/hocket share/man/man1/hocket.1 share/bash-completion/completions/hocket; do
    [ -e "$work/moved/$file" ] || { echo "not installed: $file"; exit 1; }
done
"$work/moved/bin/hocket" --version
# the drop-in malloc is found where it was moved to
"$work/moved/bin/hocket" run -n 1 --shared-heap sh -c 'test -r "${LD_PRELOAD%%:*}"'
