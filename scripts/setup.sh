#!/bin/sh
# Install what building hocket needs, if anything is missing; else silent and quick.
#
# usage: scripts/setup.sh [--dry-run] build|check|demo
#   --dry-run  say what would be installed and with which commands, and run nothing
#
# A need is recognised by what it gives (a command, a pkg-config name, a header, a file), not by the
# package database, so that a CMake from elsewhere counts too. Missing needs are installed with
# apt-get (Debian, Ubuntu); on other systems the packages are named and the exit status is 1.
set -eu

# probe | package in Debian and Ubuntu | used by | why
# A package with a '?' is installed where the distribution has it and not missed where not.
NEEDS='
cmd:cc            build-essential   build  C compiler
cmd:make          build-essential   build  runs the steps
cmd:cmake         cmake             build  describes the build
cmd:ninja         ninja-build       build  runs the build
cmd:pkg-config    pkg-config        build  finds the libraries
cmd:python3       python3           build  generated documents and style checks
pc:libsodium      libsodium-dev     build  job secrets, SHA-256 of weights
pc:libcjson       libcjson-dev      build  JSON files
pc:openblas       libopenblas-dev   build  matrix products
pc:hwloc          libhwloc-dev      build  where cores and memory lie
hdr:dnnl.h        libdnnl-dev?      build  faster matrix products (oneDNN)
pc:cmocka         libcmocka-dev     check  unit tests
dir:/usr/share/games/fortunes fortunes demo  text to train on (epigrams, 2.5 MB)
'

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

is_there() { # probe
    case $1 in
    cmd:cc) command -v "${CC:-cc}" >/dev/null 2>&1 ;;
    cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    hdr:*) printf '#include <%s>\n' "${1#hdr:}" | "${CC:-cc}" -E -x c - >/dev/null 2>&1 ;;
    dir:*) [ -d "${1#dir:}" ] ;;
    esac
}

is_wanted() { # used by, goal
    case $2 in
    build) [ "$1" = build ] ;;
    demo) [ "$1" != check ] ;;
    check) true ;;
    esac
}

run() { # command...
    if [ "$dry_run" = 1 ]; then
        say "would run: $*"
    else
        "$@" </dev/null
    fi
}

# Sets `missing` (packages, without '?') and `optional` (those of them with '?'), tells why.
find_missing() { # goal
    missing=
    optional=
    while read -r probe package used why; do
        [ -n "$probe" ] && is_wanted "$used" "$1" || continue
        is_there "$probe" && continue
        name=${package%\?}
        case " $missing " in *" $name "*) continue ;; esac
        missing="$missing $name"
        case $package in *\?) optional="$optional $name" ;; esac
        reasons="$reasons$(printf '  %-18s %s' "$name" "$why")
"
    done <<EOF
$NEEDS
EOF
    missing=${missing# }
}

# True if apt knows a version of every package in the arguments.
apt_knows() {
    for name in "$@"; do
        apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || return 1
    done
}

install_with_apt() {
    root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            die "not root and no sudo here. As root: apt-get update && apt-get install $missing"
        root=sudo
    fi
    apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
    # shellcheck disable=SC2086  # words on purpose, here and below
    apt_knows $missing || run $apt update
    wanted=
    for name in $missing; do
        case " $optional " in
        *" $name "*)
            if [ "$dry_run" = 0 ] && ! apt_knows "$name"; then
                say "this distribution has no $name: going on without"
                continue
            fi
            ;;
        esac
        wanted="$wanted $name"
    done
    [ -n "$wanted" ] || return 0
    if ! run $apt install -y --no-install-recommends $wanted; then
        say "that failed; once more with fresh package lists"
        run $apt update
        run $apt install -y --no-install-recommends $wanted ||
            die "apt-get could not install:$wanted (see above)"
    fi
}

dry_run=0
if [ "${1:-}" = --dry-run ]; then
    dry_run=1
    shift
fi
case ${1:-} in
build | check | demo) goal=$1 ;;
*) die "usage: scripts/setup.sh [--dry-run] build|check|demo" ;;
esac

reasons=
find_missing "$goal"
[ -n "$missing" ] || exit 0
# where the distribution lacks an optional package, it stays missing: do not ask apt each time
if [ "$missing" = "${optional# }" ] && { ! command -v apt-cache >/dev/null 2>&1 ||
    { apt_knows build-essential && ! apt_knows $missing; }; }; then
    exit 0
fi

say "missing packages, and what for:"
printf '%s' "$reasons"
if ! command -v apt-get >/dev/null 2>&1; then
    die "no apt-get on this system: please install the above by hand (the names are Debian's)"
fi
install_with_apt
[ "$dry_run" = 0 ] || exit 0

find_missing "$goal"
for name in $missing; do
    case " $optional " in
    *" $name "*) ;;
    *) die "$name is installed and what it should give was still not found; please look" ;;
    esac
done
