#!/bin/sh
# Hold the NEON kernels to the plain C reference, on any machine: build the dtype tests for AArch64
# and run them in qemu. Needs a cross compiler and qemu-aarch64 (Debian: gcc-aarch64-linux-gnu,
# libc6-dev-arm64-cross, qemu-user); without them it says so and succeeds.
set -eu
cd "$(dirname "$0")/.."

compiler=aarch64-linux-gnu-gcc
for tool in $compiler qemu-aarch64; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "SKIPPED: test_neon.sh: $tool is not installed"
        exit 0
    fi
done
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
sources="src/dtype/convert.c src/dtype/kernels_neon.c src/dtype/kernels_plain.c src/dtype/reduce.c
    src/dtype/reference.c src/dtype/simd.c src/dtype/types.c src/base/error.c src/base/log.c"
for test in reduce convert types; do
    # shellcheck disable=SC2086 # the list is meant to be split
    $compiler -std=c17 -O2 -static -D_GNU_SOURCE -ffp-contract=off -Wall -Wextra -Wconversion \
        -Itest/support/plain -Itest -Iinclude -Isrc \
        "test/unit/dtype/${test}_test.c" $sources -pthread -lm -o "$out/$test"
    qemu-aarch64 "$out/$test"
done
