#!/usr/bin/env python3
"""Compare hocket's GPT with PyTorch, live: loss and every gradient of several shapes.

    compare_torch.py GPT_RUN

GPT_RUN is the program made from gpt_run.c. PyTorch is looked for in this interpreter, then in the
one named by HOCKET_TORCH_PYTHON, then in build/venv. Without it: exit status 77, which ctest shows
as skipped. hocket's f32 is held to PyTorch's f64; what PyTorch's own f32 is off is printed beside.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    torch = None

CASES = (  # layers, dim, heads, hidden, vocab, context, sequences, tokens
    (1, 8, 1, 32, 5, 4, 1, 1),
    (2, 48, 3, 192, 256, 70, 2, 70),
    (3, 96, 6, 384, 300, 130, 1, 129),
    (6, 64, 2, 100, 50, 16, 3, 16),
)
LOSS_TOLERANCE = 1e-6  # relative
GRADIENT_TOLERANCE = 1e-5  # of the largest gradient in the same tensor


def other_interpreter():
    """An interpreter with PyTorch, or None."""
    root = pathlib.Path(__file__).resolve().parents[2]
    candidates = (os.environ.get("HOCKET_TORCH_PYTHON"), str(root / "build/venv/bin/python"))
    for python in candidates:
        if python and os.access(python, os.X_OK):
            probe = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
            if probe.returncode == 0:
                return python
    return None


def deviation(got, want):
    """Largest difference, as a share of the largest value."""
    want = want.double().reshape(-1)
    return ((got.double().reshape(-1) - want).abs().max() / want.abs().max().clamp(min=1e-6)).item()


def compare(program, case, seed):
    import gpt_torch

    config = dict(zip(gpt_torch.CONFIG_FIELDS, case))
    params, ids, targets = gpt_torch.random_case(config, seed)
    loss, grads = gpt_torch.gradients(config, params, ids, targets, torch.float64)
    _, grads_f32 = gpt_torch.gradients(config, params, ids, targets, torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "case"), os.path.join(folder, "result")
        gpt_torch.write(source, gpt_torch.case_tensors(config, params, ids, targets))
        subprocess.run([program, source, result], check=True)
        mine = gpt_torch.read(result)
    loss_error = abs(mine["loss"].item() - loss) / loss
    worst, name = max((deviation(mine[n], grads[n]), n) for n in grads)
    own = max(deviation(grads_f32[n], grads[n]) for n in grads)
    is_good = loss_error <= LOSS_TOLERANCE and worst <= GRADIENT_TOLERANCE
    print(f"{'ok  ' if is_good else 'FAIL'} {config}: loss {loss:.6f} off by {loss_error:.1e}, "
          f"gradients by at most {worst:.1e} ({name}); PyTorch's own f32: {own:.1e}")
    return is_good


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if torch is None:
        python = other_interpreter()
        if python is None:
            print("SKIPPED: no PyTorch, so NOTHING WAS COMPARED. Install it (python3 -m venv "
                  "build/venv && build/venv/bin/pip install torch==2.13.0 numpy) or name an "
                  "interpreter that has it in HOCKET_TORCH_PYTHON.")
            return 77
        return subprocess.run([python, __file__, sys.argv[1]], check=False).returncode
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}")
    results = [compare(sys.argv[1], case, seed) for seed, case in enumerate(CASES)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
