"""Endless packed training batches, drawn by worker processes while the model trains: nothing is
ever seen twice."""
import random

import numpy as np
import torch

from chat_format import Tok, encode_conversation
from data import conversation as C
from data.words import learn_pieces

PATCH, SLOTS = 14, 8


def taps(n, grid):
    """two table rows and their weights for each of n positions: bilinear, half-pixel centres,
    outside counts as zero"""
    src = (np.arange(n) + 0.5) * grid / n - 0.5
    f = np.floor(src).astype(np.int64)
    w1 = (src - f).astype(np.float32)
    i = np.stack([f, f + 1], 1)
    w = np.stack([1 - w1, w1], 1)
    w[(i < 0) | (i >= grid)] = 0
    return np.clip(i, 0, grid - 1), w


_geometry = {}


def geometry(gh, gw, grid):
    """per patch of a picture of gh x gw cells, in cell order (the four patches of a cell together):
    row, column, window, four position-table indices and their weights"""
    k = (gh, gw, grid)
    if k not in _geometry:
        r, c = np.mgrid[0:gh * 2, 0:gw * 2]
        order = lambda a: a.reshape(gh, 2, gw, 2, *a.shape[2:]).swapaxes(1, 2).reshape(
            gh * gw * 4, *a.shape[2:])
        (iy, wy), (ix, wx) = taps(gh * 2, grid), taps(gw * 2, grid)
        idx = (iy[:, None, :, None] * grid + ix[None, :, None, :]).reshape(gh * 2, gw * 2, 4)
        wt = (wy[:, None, :, None] * wx[None, :, None, :]).reshape(gh * 2, gw * 2, 4)
        win = (r // grid) * 64 + c // grid
        _geometry[k] = tuple(
            order(a) for a in (r.astype(np.int16), c.astype(np.int16), win.astype(np.int16),
                               idx.astype(np.int16), wt.astype(np.float32)))
    return _geometry[k]


def patches(u8):
    """[H, W, 3] -> [patches in cell order, 588] with each vector in the order (channel, y, x)"""
    gh, gw = u8.shape[0] // 28, u8.shape[1] // 28
    a = u8.reshape(gh, 2, PATCH, gw, 2, PATCH, 3)
    return a.transpose(0, 3, 1, 4, 6, 2, 5).reshape(gh * gw * 4, 588)


class Batches(torch.utils.data.IterableDataset):

    def __init__(self, tok_path, seed, rows, length, vrows, vlen, losses, grid, kinds=None):
        self.a = (tok_path, seed, rows, length, vrows, vlen, losses, grid)

    def __iter__(self):
        path, seed, B, L, V, P, M, grid = self.a
        info = torch.utils.data.get_worker_info()
        rng = random.Random(f"{seed}/{info.id if info else 0}")
        tok = Tok(path)
        learn_pieces(tok.tokens)
        torch.set_num_threads(1)
        while True:
            yield self.make(rng, tok, B, L, V, P, M, grid)

    def make(self, rng, tok, B, L, V, P, M, grid):
        ids = np.zeros((B, L), np.int32)
        doc = np.zeros((B, L), np.int32)
        dest = np.full(V * P // 4, B * L, np.int64)
        train = np.zeros((B, L), np.uint8)
        px = np.zeros((V, P, 588), np.uint8)
        img = np.zeros((V, P), np.int32)
        row, col, win = (np.zeros((V, P), np.int16) for _ in range(3))
        tap, wt = np.zeros((V, P, 4), np.int16), np.zeros((V, P, 4), np.float32)
        glyph = np.full((V * P // 4, SLOTS), -100, np.int16)
        fill, vfill, misses, d, n_img = [0] * B, [0] * V, 0, 0, 0
        while misses < 12:
            c = C.conversation(rng, "train")
            x, t, pics = encode_conversation(
                tok, c, (lambda i: i < len(c.turns) - 1) if rng.random() < .35 else
                (lambda i: False))
            b = next((b for b in range(B) if fill[b] + len(x) <= L), None)
            slots, trial = [], list(vfill)
            for _, p in pics:
                n = p.cells * 4
                v = next((v for v in range(V) if trial[v] + n <= P), None)
                if v is None:
                    break
                slots.append((v, trial[v]))
                trial[v] += n
            if b is None or len(slots) < len(pics):
                misses += 1
                continue
            o, d = fill[b], d + 1
            ids[b, o:o + len(x)], doc[b, o:o + len(x)] = x, d
            train[b, o:o + len(x)] = np.frombuffer(bytes(t), np.uint8)
            for (at, p), (v, s) in zip(pics, slots):
                n, n_img = p.cells * 4, n_img + 1
                px[v, s:s + n] = patches(p.resized())
                img[v, s:s + n] = n_img
                r, q, w, ti, tw = geometry(p.gh, p.gw, grid)
                row[v, s:s + n], col[v,
                                     s:s + n], win[v,
                                                   s:s + n], tap[v,
                                                                 s:s + n], wt[v, s:s +
                                                                              n] = r, q, w, ti, tw
                first = (v * P + s) // 4
                dest[first:first + p.cells] = np.arange(b * L + o + at, b * L + o + at + p.cells)
                g = p.glyphs(SLOTS).astype(np.int16)
                # the first empty slot says "no more here"; the ones behind it say nothing
                used = (g > 0).sum(1)
                g[np.arange(SLOTS)[None] > used[:, None]] = -100
                glyph[first:first + p.cells] = g
            fill[b] += len(x)
            vfill = trial
        # position t predicts token t + 1
        want = np.flatnonzero((train[:, 1:] > 0).ravel())
        pos = want // (L - 1) * L + want % (L - 1)
        if len(pos) > M:
            pos = np.random.default_rng(rng.getrandbits(32)).permutation(pos)[:M]
        # the unused rest points to places of its own: a gradient that adds up in one place is slow
        rest = np.setdiff1d(np.arange(B * L), pos, assume_unique=True)[:M - len(pos)]
        at = np.concatenate([pos, rest])
        label = np.full(M, -100, np.int64)
        label[:len(pos)] = ids.reshape(-1)[pos + 1]
        T = torch.from_numpy
        return dict(ids=T(ids),
                    doc=T(doc),
                    dest=T(dest),
                    px=T(px),
                    img=T(img),
                    row=T(row),
                    col=T(col),
                    win=T(win),
                    tap=T(tap),
                    wt=T(wt),
                    glyph=T(glyph),
                    at=T(at),
                    label=T(label),
                    tokens=int(sum(fill)),
                    pictures=n_img,
                    trained=len(pos))


def one_batch(tok_path, **shape):
    """for compiling before the workers start"""
    return next(iter(Batches(tok_path, "first", **shape)))


def loader(tok_path, seed, workers, **shape):
    ds = Batches(tok_path, seed, **shape)
    return iter(
        torch.utils.data.DataLoader(ds,
                                    batch_size=None,
                                    num_workers=workers,
                                    prefetch_factor=4,
                                    pin_memory=True,
                                    persistent_workers=True))
