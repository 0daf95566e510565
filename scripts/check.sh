#!/bin/bash
# Build and test in stages: release (all tests), ASan + UBSan (unit and a part of conformance), TSan
# (what threads share), clang (warnings; where it is installed). Goes on after a failure, so that
# one run shows all of them, and ends with a line that counts them.
#
# usage: scripts/check.sh [check|stress]
# environment: JOBS (default: all cores), WERROR=ON (warnings are errors)
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-check}
only=${2:-}
jobs=${JOBS:-$(nproc)}
werror=${WERROR:-OFF}
passed=0
failed=0
failures=()
started=$SECONDS

stage() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }

count_failure() { # name
    failed=$((failed + 1))
    failures+=("$1")
}

configure() { # preset, cmake arguments...
    local preset=$1
    shift
    local launcher=()
    local log
    log=$(mktemp)
    if command -v ccache >/dev/null; then
        launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    local status=0
    cmake --preset "$preset" -DHK_WERROR="$werror" "${launcher[@]}" "$@" >"$log" 2>&1 ||
        { status=1 && cat "$log"; }
    rm -f "$log"
    return $status
}

# Ninja prints one line a file; keep it to failures and warnings.
build() { # build folder, targets...
    local folder=$1
    shift
    cmake --build "$folder" -j "$jobs" --target "$@" -- --quiet
}

# Run ctest and add to the totals. "No tests" is a failure, unless only some were asked for: a stage
# that tests nothing is broken.
run_tests() { # build folder, ctest arguments...
    local folder=$1
    shift
    local log=$folder/ctest.log
    ctest --test-dir "$folder" --output-on-failure --no-tests=error "$@" </dev/null 2>&1 |
        tee "$log" || true
    local line
    line=$(grep -E '^[0-9]+% tests passed' "$log" | tail -1 || true)
    if [[ $line =~ ,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
        local bad=${BASH_REMATCH[1]}
        failed=$((failed + bad))
        passed=$((passed + BASH_REMATCH[2] - bad))
        if [ "$bad" != 0 ]; then
            while read -r name; do
                failures+=("$folder: $name")
            done < <(sed -n 's/^\t *[0-9]* - \([^ ]*\) (.*/\1/p' "$log")
        fi
    elif [ -z "$only" ]; then
        count_failure "$folder: ctest ran no tests"
    fi
}

check_release() {
    stage "release: build"
    configure release && build build/release all || { count_failure "release build"; return 0; }
    stage "release: tests"
    run_tests build/release -j "$jobs" -LE 'stress|serial'
    # these fill the machine by themselves, and their deadlines should not suffer from neighbours
    stage "release: tests, one at a time"
    run_tests build/release -L serial -LE stress
}

# A sanitizer's build and those of its tests that ctest is told to choose.
check_sanitizer() { # asan|tsan, ctest arguments...
    local kind=$1
    shift
    stage "$kind: build"
    configure "$kind" && build "build/$kind" "${kind}_tests" ||
        { count_failure "$kind build"; return 0; }
    stage "$kind: tests"
    run_tests "build/$kind" -L "$kind" "$@"
}

check_clang() {
    command -v clang >/dev/null || return 0
    stage "clang: build"
    if configure release -B build/clang -DCMAKE_C_COMPILER=clang && build build/clang all; then
        passed=$((passed + 1))
    else
        count_failure "clang build"
    fi
}

run_stress() {
    stage "release: build"
    configure release && build build/release all || { count_failure "release build"; return 0; }
    stage "the long tests"
    run_tests build/release -L stress -R "${only:-.}"
    check_sanitizer asan -L stress -R "${only:-.}"
    check_sanitizer tsan -L stress -R "${only:-.}"
    if [ -z "$only" ]; then
        stage "real processes, 100 times"
        run_tests build/release -L multiproc -LE stress --repeat until-fail:100
    fi
}

if [ "$mode" = stress ]; then
    run_stress
else
    check_release
    check_sanitizer asan -j "$jobs" -LE stress
    check_sanitizer tsan -LE stress
    check_clang
fi

printf '\n'
for name in "${failures[@]}"; do
    printf 'failed: %s\n' "$name"
done
printf 'after %d seconds:\n%d passed, %d failed\n' $((SECONDS - started)) "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
