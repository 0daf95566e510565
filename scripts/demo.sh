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
model=(--model gpt --layers 4 --dim 128 --heads 4 --context 128)
training=(--batch 16 --unit 4 --rate 2e-3 --warmup 20 --seed 1)
seconds=150 # at most, whatever the machine; training ends early there
steps=600
exact_steps=20

fail() {
    printf '\ndemo: FAILED: %s\n' "$*" >&2
    exit 1
}

# Value of a number or string in the last record of a log that has it.
from_log() { # log, key
    sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$1" | tail -1
}

# Train the first steps on another layout; prints the digest of all weights.
digest_of() { # ranks, mesh
    local log=$folder/exact-$1-${2//[,=]/-}.jsonl
    "$hocket" train -n "$1" --mesh "$2" "${model[@]}" "${training[@]}" --data "$folder/text.txt" \
        --steps "$exact_steps" --log "$log" >"$log.out" 2>&1 || { cat "$log.out" >&2; return 1; }
    from_log "$log" weights_digest
}

echo "== build"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target hocket_tool -- --quiet

echo "== text"
mkdir -p "$folder"
# the texts themselves, without their indexes (.dat) and links (.u8)
find "$texts" -maxdepth 1 -type f ! -name '*.dat' -print0 | LC_ALL=C sort -z |
    xargs -0 cat >"$folder/text.txt"
bytes=$(wc -c <"$folder/text.txt")
echo "$bytes bytes of English from the package fortunes ($texts)"
[ "$bytes" -ge 1000000 ] || fail "want at least 1000000 bytes of text"

echo
echo "== training: 4 ranks, at most $seconds seconds"
log=$folder/train.jsonl
"$hocket" train -n 4 --mesh data=4 "${model[@]}" "${training[@]}" --data "$folder/text.txt" \
    --steps "$steps" --max-seconds "$seconds" --sample 400 --log "$log" ||
    fail "training ended with status $?"

loss=$(from_log "$log" heldout_loss)
bigram=$(from_log "$log" bigram_entropy)
echo
echo "held-out loss                $loss nats per byte"
echo "entropy of the byte pairs    $bigram nats per byte"
awk -v loss="$loss" -v bigram="$bigram" 'BEGIN { exit !(loss > 0 && loss < 0.97 * bigram) }' ||
    fail "the held-out loss is not clearly below the entropy of byte pairs"
echo "The model knows more than which byte follows which."

echo
echo "== the same bits: the first $exact_steps steps again, divided in other ways"
want=
for layout in "1 data=1" "4 data=4" "4 data=2,pipe=2"; do
    read -r ranks mesh <<<"$layout"
    digest=$(digest_of "$ranks" "$mesh") || fail "$ranks ranks, $mesh: training failed"
    [ -n "$digest" ] || fail "$ranks ranks, $mesh: no weights_digest in the log"
    printf '%d rank(s), %-16s weights %s\n' "$ranks" "$mesh" "$digest"
    [ "${want:=$digest}" = "$digest" ] || fail "the weights differ"
done
echo "All weights are equal, bit for bit."
echo
echo "demo: success"
