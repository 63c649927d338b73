"""The block formats of the files as differentiable-free torch functions, equal to
gguf_write.py's quantisers, and the choice of a format for every tensor. In the last part of the
training the working weights pass through `as_stored`, so that the model learns to live with its
own rounding; the full-precision weights stay in the optimiser."""
import torch

NEVER = ("norm", "bias", "position_embd", "ln1", "ln2", "pre_ln", "post_ln", "glyph")

MORE = (0, 3, 6, 7
        )  # target layers whose ffn_down gets the wider format, the usual K-quant rule at 8 layers


def kind(name, file="target"):
    """format by tensor name and file: K-quants where a row is a multiple of 256 (all matrices
    here are), F16 for the patch convolution"""
    if any(t in name for t in NEVER):
        return "F32"
    if "patch_embd" in name:
        return "F16"
    leaf = name.split(".")[-2]
    if name in ("output.weight", "mm.2.weight") or leaf == "attn_v":
        return "Q6_K"
    if leaf == "ffn_down" and file != "dflash" and (name.startswith("v.") or
                                                    int(name.split(".")[1]) in MORE):
        return "Q6_K"
    return "Q4_K"


def _r16(x):
    return x.to(torch.float16).float()


def _inv(x):
    return torch.where(x != 0, 1.0 / x, torch.zeros_like(x))


def _affine(x, top):
    g = x.reshape(-1, 8, 32)
    lo = g.amin(2).clamp(max=0)
    step = (g.amax(2) - lo) / top
    d, dm = _r16(step.amax(1) / 63), _r16((-lo).amax(1) / 63)
    s = torch.clamp(torch.round(step * _inv(d)[:, None]), 0, 63)
    m = torch.clamp(torch.round(-lo * _inv(dm)[:, None]), 0, 63)
    es, em = d[:, None] * s, dm[:, None] * m
    q = torch.clamp(torch.round((g + em[..., None]) * _inv(es)[..., None]), 0, top)
    return (es[..., None] * q - em[..., None]).reshape(x.shape)


def _q6(x):
    g = x.reshape(-1, 16, 16)
    top = torch.gather(g, 2, g.abs().argmax(2, keepdim=True))[..., 0]
    want = top / -32.0
    big = torch.gather(want, 1, want.abs().argmax(1, keepdim=True))[:, 0]
    d = _r16(big / -128.0)
    s = torch.clamp(torch.round(want * _inv(d)[:, None]), -128, 127)
    e = d[:, None] * s
    q = torch.clamp(torch.round(g * _inv(e)[..., None]) + 32, 0, 63)
    return (e[..., None] * (q - 32)).reshape(x.shape)


def as_stored(name, x, file="target"):
    k = kind(name, file)
    if k == "Q4_K":
        return _affine(x, 15)
    if k == "Q5_K":
        return _affine(x, 31)
    if k == "Q6_K":
        return _q6(x)
    return x.to(torch.float16).float() if k == "F16" else x


def store_groups(weights, file="target"):
    """names by format, so that a whole group is rounded in one call"""
    out = {}
    for n in weights:
        out.setdefault(kind(n, file), []).append(n)
    return out


def round_all(master, work, groups):
    """work <- rounded master, one flat call per format"""
    for k, names in groups.items():
        if k in ("F32", ):
            torch._foreach_copy_([work[n] for n in names], [master[n] for n in names])
            continue
        flat = torch.cat([master[n].reshape(-1) for n in names])
        r = {
            "Q4_K": lambda x: _affine(x, 15), "Q5_K": lambda x: _affine(x, 31), "Q6_K": _q6,
            "F16": lambda x: x.to(torch.float16).float()
        }[k](flat.view(-1, 256) if k != "F16" else flat)
        torch._foreach_copy_([work[n] for n in names], [
            p.view_as(work[n])
            for p, n in zip(r.reshape(-1).split([master[n].numel() for n in names]), names)
        ])
