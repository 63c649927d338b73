"""Trains text model and vision tower together, from their first weight on.

    python3 train_target.py --work work --seconds 560 --from 0 --to 0.6
    python3 train_target.py --work work --seconds 380 --from 0.6 --to 1

A part that does not begin at 0 goes on from work/target.full.pt, or from what --start names.

The course is counted in parts of the whole (0 to 1), not in steps, so that it fits any machine:
the rate rises at the start, stays, and falls to zero in the last part; then also the weights are
rounded as in the files.
"""
import argparse
import os
import queue
import random
import threading
import time

import torch

import checkpoint
import convert
from batches import loader, one_batch
from model import CFG, init_target, init_vision, masks, target_loss
from optim import Optimizer

WARM, FALL, ROUND = 0.015, 0.55, 0.72


def rate(p):
    return p / WARM if p < WARM else 1.0 if p < FALL else max(0.0, (1 - p) / (1 - FALL))**1.2


class Feed:
    """Fresh batches on the device; if the workers fall behind, a batch that was seen long ago is
    shown again."""

    def __init__(self, it, keep, device):
        self.q, self.it, self.dev, self.old, self.keep, self.again = queue.Queue(
            6), it, device, [], keep, 0
        self.rng = random.Random(0)
        threading.Thread(target=self._pull, daemon=True).start()

    def _pull(self):
        side = torch.cuda.Stream()
        for b in self.it:
            with torch.cuda.stream(side):
                d = {
                    k: v.to(self.dev, non_blocking=True) if torch.is_tensor(v) else v
                    for k, v in b.items()
                }
            side.synchronize()
            self.q.put(d)

    def get(self):
        try:
            b = self.q.get_nowait() if len(self.old) > 60 else self.q.get()
            self.old.append(b)
            if len(self.old) > self.keep:
                self.old.pop(0)
            return b, True
        except queue.Empty:
            self.again += 1
            return self.rng.choice(self.old), False


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", required=True)
    ap.add_argument("--small", help="also keep a small checkpoint under this name")
    ap.add_argument("--start",
                    nargs="+",
                    help="begin with the files in a folder, or with small checkpoints")
    ap.add_argument("--seconds", type=float, required=True)
    ap.add_argument("--from", dest="p0", type=float, default=0.0)
    ap.add_argument("--to", dest="p1", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--rows", type=int, default=24)
    ap.add_argument("--vrows", type=int, default=12)
    ap.add_argument("--losses", type=int, default=28000)
    ap.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    a = ap.parse_args()
    dev, t_start = "cuda", time.time()
    torch.set_float32_matmul_precision("high")
    shape = dict(rows=a.rows,
                 length=2048,
                 vrows=a.vrows,
                 vlen=2048,
                 losses=a.losses,
                 grid=CFG["grid"])
    g = torch.Generator().manual_seed(a.seed)
    c = CFG
    w0 = init_target(c, g) | init_vision(c, g)
    if a.start:
        w1 = convert.start(a.start, ("target", "mmproj"))
        print(f"begins with {len(w1)} of {len(w0)} tensors of {', '.join(a.start)}", flush=True)
        for n, t in w1.items():
            if w0[n].shape != t.shape:
                raise SystemExit(f"{n}: shape {tuple(t.shape)}, expected {tuple(w0[n].shape)}")
        w0 |= w1
    opt = Optimizer(w0, dev)
    full = f"{a.work}/target.full.pt"
    if a.p0 > 0 and not a.start:
        checkpoint.load_full(opt, full)
    KEYS = ("ids", "dest", "px", "row", "col", "tap", "wt", "at", "label", "glyph")

    # after --start the glyph head is new: it first learns to read what the tower shows, and only
    # then may it ask the tower for changes
    share = torch.zeros((), device=dev) if a.start else torch.ones((), device=dev)

    def learn(b, scale):
        m = masks(b["doc"], b["img"], b["win"], c["window"])
        loss, ce, gl = target_loss(opt.work, c, {k: b[k] for k in KEYS}, m, 0.4, share)
        loss.backward()
        if scale is None:  # only to compile everything
            opt.refresh()
        else:
            opt.step(scale)
        return torch.stack([ce, gl])

    first = {
        k: v.to(dev) if torch.is_tensor(v) else v
        for k, v in one_batch(f"{a.work}/tokenizer.json", **shape).items()
    }
    print(f"first batch {time.time() - t_start:.0f}s", flush=True)
    for _ in range(2):
        learn(first, None)
    torch.cuda.synchronize()
    t1 = time.time()
    for _ in range(5):
        learn(first, None)
    torch.cuda.synchronize()
    print(
        f"compiled {time.time() - t_start:.0f}s; {(time.time() - t1) / 5 * 1e3:.0f} ms a step "
        f"without the optimiser",
        flush=True)
    feed = Feed(loader(f"{a.work}/tokenizer.json", f"{a.seed}/{a.p0}", a.workers, **shape), 700,
                dev)
    kept = time.time()
    n, seen, pics, t0, last, sums = 0, 0, 0, None, time.time(), torch.zeros(2, device=dev)
    while True:
        b, fresh = feed.get()
        t0 = t0 or time.time()
        p = a.p0 + (a.p1 - a.p0) * (time.time() - t0) / a.seconds
        if p >= a.p1:
            break
        if p >= ROUND and not opt.quantise:
            print(f"from here on with rounded weights (at {p:.2f})", flush=True)
            opt.quantise = True
        share.fill_(1.0 if not a.start else min(1.0, max(0.0, (n - 150) / 150)))
        sums += learn(b, rate(p) * min(1.0, (n + 1) / 50))
        n += 1
        if fresh:
            seen, pics = seen + b["tokens"], pics + b["pictures"]
        if n % 200 == 0 or n in (1, 2, 3, 10, 50):
            s = (sums / (200 if n % 200 == 0 else 1)).tolist()
            now = time.time()
            print(
                f"{now - t_start:6.0f}s part {p:.3f} step {n} loss {s[0]:.4f} glyph {s[1]:.4f} "
                f"rate {rate(p):.3f} {(now - last) / (200 if n >= 400 else 1) * 1e3:.0f} ms "
                f"fresh tokens {seen / 1e6:.1f}M pictures {pics / 1e3:.0f}k "
                f"again {feed.again} trained/batch {b['trained']} fill {b['tokens']} mem "
                f"{torch.cuda.max_memory_allocated() / 1e9:.0f}GB",
                flush=True)
            last = now
        if n % 200 == 0 or n in (1, 2, 3, 10, 50):
            sums.zero_()
        if a.small and time.time() - kept > 200:
            kept = time.time()
            checkpoint.save_small(opt.master, a.small)
    checkpoint.save_full(opt, full)
    if a.small:
        checkpoint.save_small(opt.master, a.small)
    print(
        f"done: {n} steps, {seen / 1e6:.1f}M fresh tokens, {pics / 1e3:.0f}k pictures, "
        f"{time.time() - t_start:.0f}s",
        flush=True)
    os._exit(0)  # the workers have nothing to finish


if __name__ == "__main__":
    main()
