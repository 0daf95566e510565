#!/bin/bash
# The demonstration: train a GPT on real text over four ranks, then show that other ways of dividing
# the same work give the same bits. Ends with a non-zero status if anything is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."

texts=/usr/share/games/fortunes
folder=build/demo
hocket=build/release/hocket
jobs=${JOBS:-$(nproc)}

echo "== build"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target hocket_tool -- --quiet

echo "== text"
mkdir -p "$folder"
# the texts themselves, without their indexes (.dat) and links (.u8)
find "$texts" -maxdepth 1 -type f ! -name '*.dat' | LC_ALL=C sort | xargs cat >"$folder/text.txt"
echo "$(wc -c <"$folder/text.txt") bytes of English from the package fortunes ($texts)"
