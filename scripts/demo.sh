#!/bin/bash
# The demonstration: train a GPT on real text over four ranks, then show that other ways of dividing
# the same work give the same bits. Ends with a non-zero status if anything is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."

texts=/usr/share/games/fortunes
folder=build/demo
hocket=build/release/hocket
jobs=${JOBS:-$(nproc)}

# ---- what is trained ----
model=(--model gpt --layers 4 --dim 128 --heads 4 --context 64)
training=(--batch 16 --unit 4 --lr 3e-3 --warmup 30 --seed 1)
steps_min=400  # on the slowest machine
steps_max=2500 # on the fastest
seconds=110    # in between: as many as fit
exact_steps=20 # all in the warm-up, where the rate does not depend on how many steps follow

fail() {
    printf '\ndemo: FAILED: %s\n' "$*" >&2
    exit 1
}

# The last value of a key in a log.
from_log() { # log, key
    sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$1" | tail -1
}

# The losses of the first steps in a log, every bit of them.
losses() { # log
    sed -n 's/.*"step": *[0-9]*,.*"loss_hex": *"\([^"]*\)".*/\1/p' "$1" | head -"$exact_steps"
}

# The first steps on a layout of their own; leaves $folder/exact-RANKS-MESH.jsonl.
first_steps() { # ranks, mesh
    "$hocket" train -n "$1" --mesh "$2" "${model[@]}" "${training[@]}" --data "$folder/text.txt" \
        --steps "$exact_steps" --log "$(first_log "$1" "$2")" >"$folder/out.txt" 2>&1 || {
        cat "$folder/out.txt" >&2
        fail "$1 rank(s), $2: training ended with an error"
    }
}
first_log() { # ranks, mesh
    echo "$folder/exact-$1-${2//[,=]/-}.jsonl"
}

build() {
    echo "== build"
    cmake --preset release >/dev/null
    cmake --build build/release -j "$jobs" --target hocket_tool -- --quiet
}

collect_text() {
    echo "== text"
    mkdir -p "$folder"
    # the texts themselves, without their indexes (.dat) and links (.u8)
    find "$texts" -maxdepth 1 -type f ! -name '*.dat' -print0 | LC_ALL=C sort -z |
        xargs -0 cat >"$folder/text.txt"
    local bytes
    bytes=$(wc -c <"$folder/text.txt")
    echo "$bytes bytes of English, from the package fortunes ($texts)"
    [ "$bytes" -ge 1000000 ] || fail "want at least 1000000 bytes of text"
}

# As many steps as fit into the time, by the time of the first ones.
count_steps() {
    local taken
    taken=$(from_log "$(first_log 4 data=4)" seconds)
    awk -v taken="$taken" -v first="$exact_steps" -v seconds="$seconds" -v min="$steps_min" \
        -v max="$steps_max" 'BEGIN {
            steps = int(seconds * first / (taken > 0.001 ? taken : 0.001))
            print (steps < min ? min : (steps > max ? max : steps))
        }'
}

train() {
    local steps loss bigram
    steps=$(count_steps)
    echo
    echo "== training: 4 ranks, $steps steps, about $seconds seconds"
    "$hocket" train -n 4 --mesh data=4 "${model[@]}" "${training[@]}" --data "$folder/text.txt" \
        --steps "$steps" --sample 500 --log "$folder/train.jsonl" | tee "$folder/train.txt" ||
        fail "training ended with an error"
    read -r loss bigram < <(sed -n \
        's/^held-out loss \([0-9.]*\) nats a byte; byte pairs cost \([0-9.]*\)$/\1 \2/p' \
        "$folder/train.txt") || fail "no held-out loss in what hocket train printed"
    echo
    echo "held-out loss              $loss nats a byte"
    echo "entropy of its byte pairs  $bigram nats a byte"
    awk -v loss="$loss" -v bigram="$bigram" 'BEGIN { exit !(loss > 0 && loss < 0.95 * bigram) }' ||
        fail "the held-out loss is not clearly below the entropy of the byte pairs"
}

compare() {
    local ranks mesh log digest want=
    echo
    echo "== the same bits: the first $exact_steps steps, divided in other ways"
    for layout in "4 data=4" "1 data=1" "4 data=2,pipe=2"; do
        read -r ranks mesh <<<"$layout"
        log=$(first_log "$ranks" "$mesh")
        [ -e "$log" ] || first_steps "$ranks" "$mesh"
        digest=$(from_log "$log" weights_digest)
        [ -n "$digest" ] || fail "no weights_digest in $log"
        printf '%d rank(s), %-15s weights %s\n' "$ranks" "$mesh" "$digest"
        [ "${want:=$digest}" = "$digest" ] || fail "the weights differ"
        [ "$(losses "$log" | wc -l)" = "$exact_steps" ] || fail "not $exact_steps losses in $log"
        cmp -s <(losses "$log") <(losses "$folder/train.jsonl") ||
            fail "the losses differ from those of the long training"
    done
    echo "Weights and losses are equal, bit for bit, and the losses are those of the long training."
}

build
collect_text
rm -f "$folder"/*.jsonl
first_steps 4 data=4 # also tells how fast this machine is
train
compare
echo
echo "demo: success"
