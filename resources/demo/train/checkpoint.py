"""Checkpoints. `save_small` keeps one byte a weight (blocks of 32 with a common scale, about as
exact as bfloat16) in pieces of at most 15 MB, so that a run can be carried on elsewhere;
`save_full` keeps everything."""
import glob
import os

import torch

PIECE = 15_000_000


def save_small(weights, stem):
    pieces, cur, size = [], {}, 0
    for n, t in weights.items():
        t = t.detach().float().cpu()
        if t.dim() < 2 or t.numel() % 32:
            item, b = t, t.numel() * 4
        else:
            x = t.reshape(-1, 32)
            s = (x.abs().amax(1) / 127).half()
            q = torch.round(x / s.float().clamp(min=1e-12)[:, None]).clamp(-127, 127).to(torch.int8)
            item, b = (q, s, tuple(t.shape)), t.numel() * 34 // 32
        if size + b > PIECE and cur:
            pieces.append(cur)
            cur, size = {}, 0
        cur[n], size = item, size + b
    pieces.append(cur)
    for i, p in enumerate(pieces):
        torch.save(p, f"{stem}.{i}.pt")


def load_small(stem):
    out = {}
    for p in sorted(glob.glob(glob.escape(stem) + ".[0-9].pt")):
        for n, x in torch.load(p, map_location="cpu").items():
            out[n] = x if torch.is_tensor(x) else (x[0].float() *
                                                   x[1].float()[:, None]).reshape(x[2])
    if not out:
        raise SystemExit(f"no checkpoint {stem}.*.pt")
    return out


def save_full(opt, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(dict(master=opt.master, mom=opt.mom, m=opt.m, v=opt.v, step=opt.step_no), path)


def load_full(opt, path):
    d = torch.load(path, map_location=next(iter(opt.master.values())).device)
    for n in opt.master:
        opt.master[n].copy_(d["master"][n])
    opt.mom, opt.m, opt.v, opt.step_no = d["mom"], d["m"], d["v"], d["step"]
    opt.refresh()
