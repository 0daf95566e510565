#!/bin/sh
# scripts/setup.sh on systems made of fake commands: nothing is installed, no network is used.
set -eu
setup=$(cd "$(dirname "$0")/../../scripts" && pwd)/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fault() { echo "setup_test: $*"; cat "$work/out" "$work/log" 2>/dev/null; exit 1; }
expect() { grep -q -- "$2" "$work/$1" || fault "$scene: '$2' missing in $1"; }
refuse() { ! grep -q -- "$2" "$work/$1" || fault "$scene: '$2' must not be in $1"; }

# A machine with a shell and nothing else. Fakes log how they are called.
machine() { # name of the scene
    scene=$1
    rm -rf "$work/bin" "$work/log"
    mkdir "$work/bin"
    : >"$work/log"
    for name in sh env; do
        ln -s "$(command -v $name)" "$work/bin/$name"
    done
    fake id 'echo "${FAKE_UID:-0}"'
}
fake() { # command, body
    printf '#!/bin/sh\necho "%s $*" >>"%s/log"\n%s\n' "$1" "$work" "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
run() { # expected status, arguments
    want=$1
    shift
    status=0
    PATH=$work/bin CC=cc sh "$setup" "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = "$want" ] || fault "$scene: status $status, wanted $want"
}
# Everything a build needs is there; what is missing is up to the scene.
give_all() {
    for name in make cmake ninja python3; do
        fake $name ''
    done
    fake cc 'exit 0'
    fake pkg-config 'exit 0'
}

machine 'all is there'
give_all
fake apt-get ''
run 0 build
[ ! -s "$work/out" ] || fault "$scene: not silent"
refuse log apt-get

machine 'bare Debian, root'
fake apt-cache 'exit 100'
fake apt-get ''
run 0 --dry-run check
expect out 'would run: *env DEBIAN_FRONTEND=noninteractive apt-get .* update'
expect out 'install -y .*build-essential .*cmake .*ninja-build .*libcmocka-dev'
expect out 'libsodium-dev  *job secrets'
refuse log apt-get

machine 'lists are fresh: no update'
fake apt-cache 'exit 0'
fake apt-get ''
run 0 --dry-run build
refuse out ' update'
expect out ' install '
refuse out libcmocka-dev

machine 'not root'
fake apt-cache 'exit 0'
fake apt-get ''
fake sudo ''
FAKE_UID=1000 run 0 --dry-run build
expect out 'would run: sudo env .*apt-get .* install'

machine 'not root, no sudo'
fake apt-cache 'exit 0'
fake apt-get ''
FAKE_UID=1000 run 1 build
expect out 'As root: apt-get update && apt-get install build-essential'
refuse log apt-get

machine 'another system'
run 1 build
expect out 'by hand'
expect out 'libcjson-dev'

machine 'one library missing, and apt gives it'
give_all
fake pkg-config "[ \"\$2\" != libsodium ] || [ -e '$work/bin/installed' ]"
fake apt-cache 'exit 0'
fake apt-get "case \"\$*\" in *install*) : >'$work/bin/installed' ;; esac"
run 0 build
expect log 'apt-get .*install -y --no-install-recommends libsodium-dev$'

machine 'apt says yes, and still it is not there'
give_all
fake pkg-config '[ "$2" != libsodium ]'
fake apt-cache 'exit 0'
fake apt-get ''
run 1 build
expect out 'libsodium-dev is installed and'

machine 'install fails once: lists were stale'
give_all
fake pkg-config "[ \"\$2\" != libsodium ] || [ -e '$work/bin/installed' ]"
fake apt-cache 'exit 0'
fake apt-get "case \"\$*\" in
*update*) : >'$work/bin/updated' ;;
*install*) [ -e '$work/bin/updated' ] && : >'$work/bin/installed' ;;
esac"
run 0 build
expect out 'once more with fresh package lists'

machine 'a distribution without oneDNN'
give_all
fake cc 'exit 1'
fake apt-cache '! case "$*" in *libdnnl*) true ;; *) false ;; esac'
fake apt-get ''
run 0 build
refuse log 'apt-get .*install'

machine 'wrong argument'
run 1 everything
expect out 'usage:'
echo ok
