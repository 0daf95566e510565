# Written by `hocket docs --completion` from the option tables; do not edit.
_hocket()
{
    local word="${COMP_WORDS[COMP_CWORD]}"
    local previous="${COMP_WORDS[COMP_CWORD - 1]}"
    local words=""

    if [ "$COMP_CWORD" -eq 1 ]; then
        words="run bench train topo --help --version"
    fi
    case "${COMP_WORDS[1]}" in
    run)
        case "$previous" in
        --bind) words="none core" ;;
        *) words="--ranks --bind --timeout --grace --prefix --quiet --shared-heap --shared-heap-min --help" ;;
        esac
        ;;
    bench)
        case "$previous" in
        --bind) words="none core" ;;
        --colls) words="broadcast reduce scatter gather all_gather reduce_scatter all_reduce all_to_all barrier send_recv" ;;
        --dtypes) words="i8 u8 i32 u32 i64 u64 f16 bf16 f32 f64 fp8e4m3 fp8e5m2 bool " ;;
        --ops) words="sum prod min max avg band bor bxor premulsum" ;;
        --order) words="tree any" ;;
        --memory) words="private shared" ;;
        --loop) words="plain fresh" ;;
        --vs) words="openmpi mpich gloo" ;;
        *) words="--ranks --bind --colls --sizes --dtypes --ops --root --algo --order --memory --in-place --cold --loop --vs --alternations --patience --max-memory --markdown --plot --check --fit --explain --iters --warmup --budget --timeout --json --lecture --elements --startup --help" ;;
        esac
        ;;
    train)
        case "$previous" in
        --model) words="gpt mlp" ;;
        --vocab) words="auto bytes gpt2" ;;
        --bind) words="none core" ;;
        --schedule) words="cosine constant" ;;
        --optimizer) words="adamw sgd" ;;
        --pipeline) words="1f1b gpipe" ;;
        --exact) words="on off" ;;
        *) words="--model --data --vocab --mesh --ranks --bind --timeout --batch --unit --steps --layers --dim --heads --hidden --context --lr --lr-final --warmup --schedule --clip --optimizer --weight-decay --beta1 --beta2 --pipeline --seed --eval-every --eval-units --sample --prompt --temperature --log --explain --exact --threads --help" ;;
        esac
        ;;
    topo)
        case "$previous" in
        --bind) words="none core" ;;
        *) words="--ranks --bind --verbose --help" ;;
        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _hocket hocket
