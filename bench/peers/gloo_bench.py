#!/usr/bin/env python3
"""The loop of `hocket bench --loop fresh` for Gloo, through torch.distributed.

usage: gloo_bench.py RANKS COLLECTIVE:DTYPE:BYTES[,...] SECONDS

The same loop, the same effort, the same lines as mpi_bench.c, whose head comment describes them.
Torch is imported once, then the ranks are forked; they are pinned one a core where there are enough
cores. Where torch offers an operation with one tensor and with a list of tensors, the first that
works counts.
"""
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
import warnings

import torch
import torch.distributed as dist

SAMPLES_MAX = 2000
SAMPLES_MIN = 3
WARMUP = 2
WARMUP_SHARE = 8
STRETCH_BYTES = 16384
STRETCH_MAX = 64
LONG_S = 1e-4
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16,
          "f64": torch.float64, "i32": torch.int32, "i64": torch.int64}
GATHERS = ("gather", "all_gather")
SCATTERS = ("scatter", "reduce_scatter")


class Case:
    """Buffers of one collective at one size, and the operation itself."""

    def __init__(self, coll, nbytes, dtype, rank, nranks):
        element = torch.empty(0, dtype=dtype).element_size()
        parts = coll in GATHERS + SCATTERS + ("all_to_all",)
        count = max(1, nbytes // (nranks if parts else 1) // element)
        in_blocks = nranks if coll in SCATTERS + ("all_to_all",) else 1
        out_blocks = nranks if coll in GATHERS + ("all_to_all",) else 1
        self.coll = coll
        self.rank = rank
        self.input = torch.zeros(count * in_blocks, dtype=dtype)
        self.output = torch.zeros(count * out_blocks, dtype=dtype)
        self.nbytes = max(self.input.numel(), self.output.numel()) * element
        self.in_parts = list(self.input.chunk(in_blocks))
        self.out_parts = list(self.output.chunk(out_blocks))
        self.forms = [getattr(self, name) for name in (coll, coll + "_list")
                      if hasattr(self, name)]

    def rewrite(self, turn):
        self.input.fill_(self.rank + 1 + turn % 7)

    def all_reduce(self):
        dist.all_reduce(self.input)

    def reduce(self):
        dist.reduce(self.input, 0)

    def broadcast(self):
        dist.broadcast(self.input, 0)

    def all_gather(self):
        dist.all_gather_into_tensor(self.output, self.input)

    def all_gather_list(self):
        dist.all_gather(self.out_parts, self.input)

    def reduce_scatter(self):
        dist.reduce_scatter_tensor(self.output, self.input)

    def reduce_scatter_list(self):
        dist.reduce_scatter(self.output, self.in_parts)

    def all_to_all(self):
        dist.all_to_all_single(self.output, self.input)

    def gather(self):
        dist.gather(self.input, self.out_parts if self.rank == 0 else None, 0)

    def scatter(self):
        dist.scatter(self.output, self.in_parts if self.rank == 0 else None, 0)

    def send_recv(self):
        if self.rank == 0:
            dist.send(self.input, 1)
            dist.recv(self.output, 1)
        elif self.rank == 1:
            dist.recv(self.output, 0)
            dist.send(self.input, 0)


def sample(case, operate, stretch, turn):
    """Seconds of one operation on this rank."""
    if stretch == 1:
        case.rewrite(turn)
    dist.barrier()
    start = time.perf_counter()
    for k in range(stretch):
        if stretch > 1:
            case.rewrite(turn + k)
        operate()
    seconds = (time.perf_counter() - start) / stretch
    return seconds / 2 if case.coll == "send_recv" else seconds


def agree(values):
    """The largest of all ranks, for each value."""
    tensor = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.tolist()


def warm_up(case, operate, stretch, runs):
    """Seconds of one operation, and of a sample with the rewriting and the barrier: the quickest of
    so many, of the slowest rank."""
    alone, whole = [], []
    for turn in range(runs):
        start = time.perf_counter()
        alone.append(sample(case, operate, stretch, turn))
        whole.append(time.perf_counter() - start)
    return agree([min(alone), min(whole)])


def measure(case, operate, nbytes, budget_s):
    """Median of the slowest rank's time [us], and how many samples it is of."""
    fit = min(STRETCH_MAX, STRETCH_BYTES // max(1, nbytes))
    stretch = 1
    alone, whole = warm_up(case, operate, 1, 1)
    if fit > 1 or whole * WARMUP_SHARE < budget_s:
        alone, whole = warm_up(case, operate, 1, WARMUP - 1)
    if fit > 1 and alone <= LONG_S:
        stretch = fit
        alone, whole = warm_up(case, operate, stretch, WARMUP)
    count = max(SAMPLES_MIN, min(SAMPLES_MAX, int(budget_s / whole)))
    samples = agree([sample(case, operate, stretch, turn) for turn in range(count)])
    return statistics.median(samples) * 1e6, count


def run_case(coll, dtype, nbytes, ranks, budget_s):
    rank, nranks = ranks
    begin = time.perf_counter()
    case = Case(coll, nbytes, DTYPES[dtype], rank, nranks)
    reason = "torch has no such operation"
    for operate in case.forms:
        try:
            time_us, count = measure(case, operate, nbytes, budget_s)
        except (RuntimeError, AttributeError, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0] # the same on all ranks: nothing was sent
            continue
        if rank == 0:
            print(json.dumps({"coll": coll, "dtype": dtype, "bytes": case.nbytes,
                              "time_us": round(time_us, 4), "samples": count,
                              "in_place": coll in ("all_reduce", "reduce"),
                              "took_s": round(time.perf_counter() - begin, 4)}), flush=True)
        return
    if rank == 0:
        print(f"gloo_bench: {coll} {dtype}: {reason}", file=sys.stderr, flush=True)


def run_rank(rank, nranks, store, cases, budget_s):
    cores = sorted(os.sched_getaffinity(0))
    if nranks <= len(cores):
        os.sched_setaffinity(0, [cores[rank]])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=nranks)
    for coll, dtype, nbytes in cases:
        run_case(coll, dtype, int(nbytes), (rank, nranks), budget_s)
    dist.barrier()
    dist.destroy_process_group()


def main():
    cases = [case.split(":") for case in sys.argv[2].split(",")] if len(sys.argv) == 4 else []
    if not cases or any(len(case) != 3 or case[1] not in DTYPES for case in cases):
        sys.exit(__doc__)
    print("# Gloo of PyTorch", torch.__version__.split("+")[0], flush=True)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    warnings.filterwarnings("ignore") # newer names of the same operations
    nranks = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(nranks):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    run_rank(rank, nranks, os.path.join(folder, "store"), cases,
                             float(sys.argv[3]))
                    status = 0
                except Exception:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(status)
            children.append(pid)
        failed = [pid for pid in children if os.waitpid(pid, 0)[1] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
