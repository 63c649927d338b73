"""Trains the drafter on the finished, rounded target: its hidden states, and the tokens it would
write itself.

    python3 train_draft.py --work work --gguf resources/demo --seconds 180

A conversation is read once by the target. A token counts as the target's own where its greedy
choice is that token; the training of a block ends where the choices part, exactly as an accepted
run would. Block of masks: the anchor token and fifteen masks in, the fifteen tokens behind the
anchor out, all in one pass; earlier ones count more, because a later one is of use only if all
before it are right.
"""
import argparse
import math
import os
import time

import torch
import torch.nn.functional as F

import checkpoint
import convert
from batches import loader, one_batch
from model import (CFG, draft_hidden, draft_mask, embed, init_draft, logits, masks, text_hidden,
                   vision_rows)
from optim import Optimizer
from train_target import Feed


def features(w, c, b, m):
    rows = vision_rows(w, c, b["px"], b["row"], b["col"], b["tap"], b["wt"], m[2], m[3])
    x, f = text_hidden(w, c, embed(w, c, b["ids"], b["dest"], rows), m[0], m[1], taps=c["taps"])
    z = logits(w, c, x.reshape(-1, x.shape[-1]).index_select(0, b["at"]))
    return f, z.argmax(-1)


def block_loss(w, c, tw, feats, noise, qpos, mask, label, weight):
    h = draft_hidden(w, c, feats, noise, qpos, mask)
    B, Q, D = h.shape
    return _rows_loss(h.view(B, -1, c["block"], D)[:, :, 1:], tw["output.weight"], label, weight)


@torch.compile(dynamic=False)
def _rows_loss(h, head, label, weight):
    z = (h @ head.T).float()
    ce = F.cross_entropy(z.flatten(0, -2), label.flatten(), ignore_index=-100,
                         reduction="none").view(label.shape)
    ok = (label >= 0).float()
    run = ((z.argmax(-1) == label) & (label >= 0)).long().cumprod(-1).sum(-1).float()
    return (ce * weight).sum() / (ok * weight).sum().clamp(min=1), run.mean().detach() + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", required=True)
    ap.add_argument("--gguf", required=True)
    ap.add_argument("--small")
    ap.add_argument("--start",
                    nargs="+",
                    help="begin with the drafter in a folder, or with a small checkpoint")
    ap.add_argument("--seconds", type=float, required=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--rows", type=int, default=16)
    ap.add_argument("--anchors", type=int, default=128)
    ap.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    a = ap.parse_args()
    dev, c, t_start = "cuda", CFG, time.time()
    torch.set_float32_matmul_precision("high")
    tw = {
        n: t.to(dev, torch.bfloat16)
        for n, t in (convert.read(f"{a.gguf}/demo-target.gguf") |
                     convert.read(f"{a.gguf}/demo-mmproj.gguf")).items()
    }
    w0 = convert.start(a.start, ("dflash", )) if a.start else init_draft(
        c,
        torch.Generator().manual_seed(a.seed))
    opt = Optimizer(w0, dev, lr_muon=4e-3, lr_adam=2e-3, file="dflash")
    shape = dict(rows=a.rows,
                 length=2048,
                 vrows=max(4, a.rows * 5 // 6),
                 vlen=2048,
                 losses=20000,
                 grid=c["grid"])
    K, A = c["block"], a.anchors
    decay = torch.exp(-torch.arange(K - 1, device=dev) / 7.0)

    def block(b):
        B, L = b["ids"].shape
        with torch.no_grad():
            m = masks(b["doc"], b["img"], b["win"], c["window"])
            f, best = features(
                tw, c, {k: b[k]
                        for k in ("ids", "dest", "px", "row", "col", "tap", "wt", "at")}, m)
            f = f.clone()
            flat = b["ids"].reshape(-1).long()
            own = torch.full((B * L + K, ), -100, device=dev)
            use = (b["label"] >= 0)
            t = b["at"][use] + 1
            own[t] = torch.where(best[use] == flat[t], flat[t], -100)
            can = torch.zeros(B * L, device=dev)
            can[t] = 1.0
            pos = torch.multinomial(can.view(B, L) + 1e-9, A).sort(1).values  # anchors
            at = (torch.arange(B, device=dev)[:, None] * L + pos)[..., None] + torch.arange(
                1, K, device=dev)
            label = own[at]
            doc = F.pad(b["doc"].reshape(-1), (0, K))
            label = torch.where((label >= 0).long().cumprod(-1).bool() &
                                (doc[at] == b["doc"].gather(1, pos)[..., None]), label, -100)
            ids = torch.full((B, A, K), c["vocab"] - 1, device=dev)
            ids[:, :, 0] = b["ids"].gather(1, pos)
            noise = F.embedding(ids.view(B, A * K), tw["token_embd.weight"])
            qpos = (pos[..., None] + torch.arange(K, device=dev)).view(B, A * K)
            dm = draft_mask(b["doc"], b["doc"].gather(1, pos), pos, L, K, c["dwindow"])
        return block_loss(opt.work, c, tw, f, noise, qpos, dm, label, decay)

    first = {
        k: v.to(dev) if torch.is_tensor(v) else v
        for k, v in one_batch(f"{a.work}/tokenizer.json", **shape).items()
    }
    for _ in range(2):
        block(first)[0].backward()
        opt.refresh()
    torch.cuda.synchronize()
    print(f"compiled {time.time() - t_start:.0f}s", flush=True)
    feed = Feed(loader(f"{a.work}/tokenizer.json", f"draft/{a.seed}", a.workers, **shape), 500, dev)
    n, t0, sums, last = 0, None, torch.zeros(2, device=dev), time.time()
    while True:
        b, _ = feed.get()
        t0 = t0 or time.time()
        p = (time.time() - t0) / a.seconds
        if p >= 1:
            break
        opt.quantise = p > 0.7
        loss, tau = block(b)
        loss.backward()
        opt.step(min(1.0, (n + 1) / 50) * (1.0 if p < 0.4 else max(0.0, (1 - p) / 0.6)))
        sums += torch.stack([loss.detach(), tau])
        n += 1
        if n % 100 == 0 or n == 1:
            s = (sums / (100 if n > 1 else 1)).tolist()
            print(
                f"{time.time() - t_start:6.0f}s part {p:.2f} step {n} loss {s[0]:.3f} tokens a "
                f"round {s[1]:.2f} {(time.time() - last) / (100 if n > 1 else 1) * 1e3:.0f} ms "
                f"again {feed.again}",
                flush=True)
            sums.zero_()
            last = time.time()
    opt.refresh()
    checkpoint.save_full(opt, f"{a.work}/dflash.full.pt")
    if a.small:
        checkpoint.save_small(opt.master, a.small)
    print(f"drafter done: {n} steps, {time.time() - t_start:.0f}s", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
