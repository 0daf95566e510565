"""The GPT of hocket in PyTorch, for goldens and live comparison, and the file format of both.

A file is a list of tensors, each a line "NAME TYPE COUNT" (TYPE f32, f64 or i32) followed by COUNT
little-endian values. Parameters have the names, order and layout of hocket's model, which are those
of GPT-2 checkpoints: weights of linear maps are (in, out).
"""
import math
import struct

import torch
import torch.nn.functional as F

CONFIG_FIELDS = ("layers", "dim", "heads", "hidden", "vocab", "context", "sequences", "tokens")
TYPES = {"f32": ("f", torch.float32), "f64": ("d", torch.float64), "i32": ("i", torch.int32)}


def shapes(config):
    """Name and shape of every parameter, in the order of the model; without the tied copy."""
    dim, hidden = config["dim"], config["hidden"]
    yield "wte.weight", (config["vocab"], dim)
    yield "wpe.weight", (config["context"], dim)
    for layer in range(config["layers"]):
        for name, shape in (
            ("ln_1.weight", (dim,)), ("ln_1.bias", (dim,)),
            ("attn.c_attn.weight", (dim, 3 * dim)), ("attn.c_attn.bias", (3 * dim,)),
            ("attn.c_proj.weight", (dim, dim)), ("attn.c_proj.bias", (dim,)),
            ("ln_2.weight", (dim,)), ("ln_2.bias", (dim,)),
            ("mlp.c_fc.weight", (dim, hidden)), ("mlp.c_fc.bias", (hidden,)),
            ("mlp.c_proj.weight", (hidden, dim)), ("mlp.c_proj.bias", (dim,)),
        ):
            yield f"h.{layer}.{name}", shape
    yield "ln_f.weight", (dim,)
    yield "ln_f.bias", (dim,)


def random_case(config, seed):
    """Parameters far from their initial values, so that every gradient matters, and one unit."""
    generator = torch.Generator().manual_seed(seed)
    params = {}
    for name, shape in shapes(config):
        mean = 1.0 if ".ln_" in "." + name and name.endswith("weight") else 0.0
        deviation = 0.3 if len(shape) == 1 else 1.0 / math.sqrt(config["dim"])
        params[name] = mean + deviation * torch.randn(shape, generator=generator)
    size = (config["sequences"], config["tokens"])
    ids = torch.randint(0, config["vocab"], size, generator=generator)
    targets = torch.randint(0, config["vocab"], size, generator=generator)
    return params, ids, targets


def loss_of(config, params, ids, targets):
    """Mean cross-entropy of one unit."""
    sequences, tokens = ids.shape
    dim, heads = config["dim"], config["heads"]

    def norm(x, name):
        return F.layer_norm(x, (dim,), params[name + ".weight"], params[name + ".bias"], 1e-5)

    def linear(x, name):
        return x @ params[name + ".weight"] + params[name + ".bias"]

    def split(x):
        return x.view(sequences, tokens, heads, dim // heads).transpose(1, 2)

    x = params["wte.weight"][ids] + params["wpe.weight"][:tokens]
    for layer in range(config["layers"]):
        h = f"h.{layer}."
        q, k, v = linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(dim, dim=2)
        y = F.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=True)
        x = x + linear(y.transpose(1, 2).reshape(sequences, tokens, dim), h + "attn.c_proj")
        y = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
        x = x + linear(y, h + "mlp.c_proj")
    logits = norm(x, "ln_f") @ params["wte.weight"].T
    return F.cross_entropy(logits.view(-1, config["vocab"]), targets.reshape(-1))


def gradients(config, params, ids, targets, dtype):
    """Loss and the gradient of every parameter, computed in `dtype`."""
    leaves = {name: p.detach().to(dtype).requires_grad_() for name, p in params.items()}
    loss = loss_of(config, leaves, ids, targets)
    loss.backward()
    return loss.item(), {name: p.grad for name, p in leaves.items()}


def write(path, tensors):
    """tensors: a list of (name, type, values)."""
    with open(path, "wb") as file:
        for name, kind, values in tensors:
            flat = torch.as_tensor(values).detach().reshape(-1).to(TYPES[kind][1]).tolist()
            file.write(f"{name} {kind} {len(flat)}\n".encode())
            file.write(struct.pack(f"<{len(flat)}{TYPES[kind][0]}", *flat))


def read(path):
    """A dictionary from name to a flat tensor."""
    tensors = {}
    with open(path, "rb") as file:
        while line := file.readline():
            name, kind, count = line.decode().split()
            code, dtype = TYPES[kind]
            data = file.read(int(count) * struct.calcsize(code))
            tensors[name] = torch.tensor(struct.unpack(f"<{count}{code}", data), dtype=dtype)
    return tensors


def case_tensors(config, params, ids, targets):
    """What a program needs to compute the same: configuration, parameters, unit."""
    yield "config", "i32", [config[field] for field in CONFIG_FIELDS]
    yield "ids", "i32", ids
    yield "targets", "i32", targets
    for name, p in params.items():
        yield name, "f32", p
