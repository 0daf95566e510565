#!/usr/bin/env python3
"""Write gpt_tiny.golden: a small GPT trained for three AdamW steps by PyTorch, in f64.

    python3 make_gpt.py            (needs PyTorch; the file in the repository was made by 2.13.0)

Holds the configuration, the unit, all parameters, the gradients of the first step ("grad.NAME"),
the loss before each step and after the last ("losses"), the optimizer's numbers ("adamw") and all
parameters after the last step ("end.NAME").
"""
import pathlib

import torch

import gpt_torch

CONFIG = {"layers": 2, "dim": 16, "heads": 2, "hidden": 48, "vocab": 23, "context": 12,
          "sequences": 2, "tokens": 11}
STEPS = 3
RATE, BETA_1, BETA_2, EPSILON, DECAY = 1e-2, 0.9, 0.95, 1e-8, 0.1


def main():
    params, ids, targets = gpt_torch.random_case(CONFIG, seed=20)
    tensors = list(gpt_torch.case_tensors(CONFIG, params, ids, targets))
    _, grads = gpt_torch.gradients(CONFIG, params, ids, targets, torch.float64)
    tensors += [("grad." + name, "f32", grad) for name, grad in grads.items()]

    leaves = {name: p.double().requires_grad_() for name, p in params.items()}
    groups = [{"params": [p for p in leaves.values() if p.ndim == 2], "weight_decay": DECAY},
              {"params": [p for p in leaves.values() if p.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(BETA_1, BETA_2), eps=EPSILON)
    losses = []
    for step in range(STEPS + 1):
        optimizer.zero_grad()
        loss = gpt_torch.loss_of(CONFIG, leaves, ids, targets)
        losses.append(loss.item())
        if step < STEPS:
            loss.backward()
            optimizer.step()
    tensors.append(("adamw", "f64", torch.tensor([RATE, BETA_1, BETA_2, EPSILON, DECAY],
                                                 dtype=torch.float64)))
    tensors.append(("losses", "f64", torch.tensor(losses, dtype=torch.float64)))
    tensors += [("end." + name, "f32", p) for name, p in leaves.items()]
    path = pathlib.Path(__file__).with_name("gpt_tiny.golden")
    gpt_torch.write(path, tensors)
    print(f"{path.name}: {path.stat().st_size} bytes, losses {losses}")


if __name__ == "__main__":
    main()
