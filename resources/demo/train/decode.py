"""Running the trio: batched greedy or sampled decoding with a cache, and the DFlash loop. Dense
attention, any precision."""
import torch
import torch.nn.functional as F

from batches import SLOTS, geometry, patches  # noqa: F401
from model import embed, full_layer, logits, rms, rope_tables, turn_halves, turn_pairs, vision_full


@torch.no_grad()
def picture_rows(w, c, pic, dev):
    """one picture -> rows for the text model"""
    dt = w["mm.0.weight"].dtype
    px = torch.from_numpy(patches(pic.resized()).copy()).to(dev)
    row, col, win, tap, wt = (torch.from_numpy(a).to(dev)
                              for a in geometry(pic.gh, pic.gw, c["grid"]))
    H, D = c["vheads"], c["vwidth"]
    d, P = D // H, len(px)
    ln = lambda x, t: F.layer_norm(x, (D, ), w[t + ".weight"], w[t + ".bias"], c["eps"])
    x = (px.to(dt) / 127.5 - 1.0) @ w["v.patch_embd.weight"].T + (
        w["v.position_embd.weight"][tap.long()] * wt[..., None]).sum(-2).to(dt)
    x = ln(x, "v.pre_ln")
    f = 10000.0**(-torch.arange(0, d // 2, 2, device=dev, dtype=torch.float32) / (d // 2))
    a = torch.cat([(col.float() + 1)[:, None] * f, (row.float() + 1)[:, None] * f], -1)[None]
    same = win[:, None] == win[None]
    for i in range(c["vlayers"]):
        b = f"v.blk.{i}."
        h = ln(x, b + "ln1")
        q, k, v = (F.linear(h, w[b + f"attn_{t}.weight"],
                            w[b + f"attn_{t}.bias"]).view(P, H, d).transpose(0, 1) for t in "qkv")
        o = F.scaled_dot_product_attention(
            turn_pairs(q, a.cos(), a.sin())[None],
            turn_pairs(k, a.cos(), a.sin())[None],
            v[None],
            attn_mask=None if vision_full(i, c["vlayers"]) else same)[0]
        x = x + F.linear(
            o.transpose(0, 1).reshape(P, D), w[b + "attn_out.weight"], w[b + "attn_out.bias"])
        x = x + F.linear(
            F.gelu(F.linear(ln(x, b + "ln2"), w[b + "ffn_up.weight"], w[b + "ffn_up.bias"])),
            w[b + "ffn_down.weight"], w[b + "ffn_down.bias"])
    x = ln(x, "v.post_ln").view(P // 4, 4, D).transpose(1, 2).reshape(P // 4, 4 * D)
    return rms(
        F.gelu(F.gelu(x @ w["mm.0.weight"].T) @ w["mm.1.weight"].T) @ w["mm.2.weight"].T, c["eps"])


class Runner:
    """A batch of sequences with their key/value cache. Rows behind a sequence's end hold rubbish
    until they are overwritten; no query ever looks at them, because it sees only keys up to its
    own position."""

    def __init__(self, w, c, batch, length, dev, draft=None):
        self.w, self.c, self.dev, self.L, self.d = w, c, dev, length, draft
        dt = w["output.weight"].dtype
        z = lambda k, d: torch.zeros(batch, k, length + c["block"], d, device=dev, dtype=dt)
        self.k, self.v = [z(c["kv"], c["hd"]) for _ in range(c["layers"])], [
            z(c["kv"], c["hd"]) for _ in range(c["layers"])
        ]
        if draft:
            self.dk, self.dv = [z(c["dkv"], c["dhd"]) for _ in range(c["dlayers"])], [
                z(c["dkv"], c["dhd"]) for _ in range(c["dlayers"])
            ]

    @torch.no_grad()
    def step(self, x, start, feats=False):
        """x [B, T, width] at positions start.. -> last residual [B, T, width] (and the drafter's
        features)"""
        w, c = self.w, self.c
        B, T, D = x.shape
        H, K, d = c["heads"], c["kv"], c["hd"]
        pos = (start[:, None] + torch.arange(T, device=self.dev)[None]).clamp(max=self.L +
                                                                              c["block"] - 1)
        n = int(pos.max()) + 1
        cos, sin = (t[:, None] for t in rope_tables(pos, d, c["theta"]))
        j = torch.arange(n, device=self.dev)[None, None]
        full = (j <= pos[..., None])[:, None]
        near = full & (pos[..., None] - j < c["window"])[:, None]
        bi = torch.arange(B, device=self.dev)[:, None].expand(B, T)
        out = []
        for i in range(c["layers"]):
            if i in c["taps"]:
                out.append(x)
            b = f"blk.{i}."
            h = rms(x, c["eps"], w[b + "attn_norm.weight"])
            q = (rms((h @ w[b + "attn_q.weight"].T).view(B, T, H, d), c["eps"]) *
                 c["qk_scale"]).transpose(1, 2)
            k = rms((h @ w[b + "attn_k.weight"].T).view(B, T, K, d), c["eps"]).transpose(1, 2)
            v = (h @ w[b + "attn_v.weight"].T).view(B, T, K, d)
            if not full_layer(i):
                q, k = turn_pairs(q, cos, sin), turn_pairs(k, cos, sin)
            self.k[i][bi, :, pos] = k.transpose(1, 2)
            self.v[i][bi, :, pos] = v
            o = F.scaled_dot_product_attention(q,
                                               self.k[i][:, :, :n].repeat_interleave(H // K, 1),
                                               self.v[i][:, :, :n].repeat_interleave(H // K, 1),
                                               attn_mask=full if full_layer(i) else near)
            o = o.transpose(1, 2).reshape(B, T, H * d) * torch.sigmoid(
                h @ w[b + "attn_gate.weight"].T)
            x = x + rms(o @ w[b + "attn_output.weight"].T, c["post_eps"],
                        w[b + "post_attention_norm.weight"])
            h = rms(x, c["eps"], w[b + "ffn_norm.weight"])
            x = x + rms((F.silu(h @ w[b + "ffn_gate.weight"].T) *
                         (h @ w[b + "ffn_up.weight"].T)) @ w[b + "ffn_down.weight"].T,
                        c["post_eps"], w[b + "post_ffw_norm.weight"])
        return (x, torch.cat(out, -1)) if feats else x

    @torch.no_grad()
    def remember(self, feats, start):
        """the drafter's keys and values of context rows"""
        w, c = self.d, self.c
        B, T, _ = feats.shape
        pos = (start[:, None] + torch.arange(T, device=self.dev)[None]).clamp(max=self.L +
                                                                              c["block"] - 1)
        cos, sin = (t[:, None] for t in rope_tables(pos, c["dhd"], c["theta"]))
        bi = torch.arange(B, device=self.dev)[:, None].expand(B, T)
        ctx = rms(feats @ w["fc.weight"].T, c["eps"], w["enc.output_norm.weight"])
        for i in range(c["dlayers"]):
            b = f"blk.{i}."
            k = rms((ctx @ w[b + "attn_k.weight"].T).view(B, T, c["dkv"], c["dhd"]), c["eps"],
                    w[b + "attn_k_norm.weight"]).transpose(1, 2)
            self.dk[i][bi, :, pos] = turn_halves(k, cos, sin).transpose(1, 2)
            self.dv[i][bi, :, pos] = (ctx @ w[b + "attn_v.weight"].T).view(B, T, c["dkv"], c["dhd"])

    @torch.no_grad()
    def draft(self, anchor, start):
        """anchor [B] tokens at positions start [B] -> 15 guesses each"""
        w, c, mask_id = self.d, self.c, self.c["vocab"] - 1
        B, T, H, K, d = len(anchor), c["block"], c["dheads"], c["dkv"], c["dhd"]
        ids = torch.full((B, T), mask_id, device=self.dev)
        ids[:, 0] = anchor
        x = F.embedding(ids, self.w["token_embd.weight"])
        pos = start[:, None] + torch.arange(T, device=self.dev)[None]
        cos, sin = (t[:, None] for t in rope_tables(pos, d, c["theta"]))
        n = int(start.max())
        j = torch.arange(n, device=self.dev)[None, None]
        ok = torch.cat([(j < start[:, None, None]) & (pos[..., None] - j <= c["dwindow"]),
                        torch.ones(B, T, T, dtype=torch.bool, device=self.dev)], -1)[:, None]
        for i in range(c["dlayers"]):
            b = f"blk.{i}."
            h = rms(x, c["eps"], w[b + "attn_norm.weight"])
            q = rms((h @ w[b + "attn_q.weight"].T).view(B, T, H, d), c["eps"],
                    w[b + "attn_q_norm.weight"]).transpose(1, 2)
            k = rms((h @ w[b + "attn_k.weight"].T).view(B, T, K, d), c["eps"],
                    w[b + "attn_k_norm.weight"]).transpose(1, 2)
            v = (h @ w[b + "attn_v.weight"].T).view(B, T, K, d).transpose(1, 2)
            k, v = torch.cat([self.dk[i][:, :, :n], turn_halves(k, cos, sin)],
                             2), torch.cat([self.dv[i][:, :, :n], v], 2)
            o = F.scaled_dot_product_attention(turn_halves(q, cos, sin),
                                               k.repeat_interleave(H // K, 1),
                                               v.repeat_interleave(H // K, 1),
                                               attn_mask=ok)
            x = x + o.transpose(1, 2).reshape(B, T, H * d) @ w[b + "attn_output.weight"].T
            h = rms(x, c["eps"], w[b + "ffn_norm.weight"])
            x = x + (F.silu(h @ w[b + "ffn_gate.weight"].T) *
                     (h @ w[b + "ffn_up.weight"].T)) @ w[b + "ffn_down.weight"].T
        return (
            rms(x, c["eps"], w["output_norm.weight"]) @ self.w["output.weight"].T)[:, 1:].argmax(-1)


def prompts(w, c, items, dev):
    """items: (ids, pictures) -> padded inputs [B, T, width] and lengths"""
    T = max(len(i) for i, _ in items)
    ids = torch.zeros(len(items), T, dtype=torch.long, device=dev)
    for r, (x, _) in enumerate(items):
        ids[r, :len(x)] = torch.tensor(x)
    x = embed(w, c, ids)
    for r, (_, pics) in enumerate(items):
        for at, p in pics:
            x[r, at:at + p.cells] = picture_rows(w, c, p, dev)
    return x, torch.tensor([len(i) for i, _ in items], device=dev)


def choose(z, temperature, gen):
    """greedy, or sampled with top-k 64 and top-p 0.95"""
    if not temperature:
        return z.argmax(-1)
    v, i = (z / temperature).topk(64, -1)
    p = v.softmax(-1)
    p = torch.where(p.cumsum(-1) - p < 0.95, p, torch.zeros_like(p))
    s = torch.multinomial(p.reshape(-1, 64), 1, generator=gen).view(*p.shape[:-1], 1)
    return i.gather(-1, s)[..., 0]


@torch.no_grad()
def generate(w, c, items, eog, dev, max_new=400, temperature=0.0, seed=0, batch=256):
    """-> list of token lists, without the end token"""
    gen = torch.Generator(dev).manual_seed(seed)
    order = sorted(range(len(items)), key=lambda i: len(items[i][0]))
    out = [None] * len(items)
    stop = torch.tensor(eog, device=dev)
    for o in range(0, len(order), batch):
        part = order[o:o + batch]
        x, n = prompts(w, c, [items[i] for i in part], dev)
        r = Runner(w, c, len(part), int(n.max()) + max_new, dev)
        h = r.step(x, torch.zeros_like(n))
        t = choose(logits(w, c, h[torch.arange(len(part)), n - 1]), temperature, gen)
        got, alive = [t], ~torch.isin(t, stop)
        while alive.any() and len(got) < max_new:
            h = r.step(embed(w, c, t[:, None]), n)
            n = n + 1
            t = choose(logits(w, c, h[:, 0]), temperature, gen)
            got.append(t)
            alive &= ~torch.isin(t, stop)
        rows = torch.stack(got, 1).tolist()
        for i, row in zip(part, rows):
            e = next((k for k, x in enumerate(row) if x in eog), len(row))
            out[i] = row[:e]
    return out


@torch.no_grad()
def dflash(w, d, c, items, eog, dev, max_new=400, temperature=0.0, seed=0, batch=128):
    """-> (token lists, rounds per item, tokens per item). Tokens of a round = accepted guesses +
    1."""
    gen = torch.Generator(dev).manual_seed(seed)
    order = sorted(range(len(items)), key=lambda i: len(items[i][0]))
    outs, rounds = [None] * len(items), [0] * len(items)
    for o in range(0, len(order), batch):
        part = order[o:o + batch]
        x, n = prompts(w, c, [items[i] for i in part], dev)
        B = len(part)
        r = Runner(w, c, B, int(n.max()) + max_new + 16, dev, draft=d)
        h, f = r.step(x, torch.zeros_like(n), feats=True)
        r.remember(f, torch.zeros_like(n))
        a = choose(logits(w, c, h[torch.arange(B), n - 1]), temperature, gen)
        got = [[int(t)] for t in a]
        done = [g[0] in eog for g in got]
        while not all(done):
            g = r.draft(a, n)
            ids = torch.cat([a[:, None], g], 1)
            h, f = r.step(embed(w, c, ids), n, feats=True)
            r.remember(f, n)
            t = choose(logits(w, c, h), temperature, gen)
            k = (t[:, :-1] == g).long().cumprod(1).sum(1)
            tl, kl = t.tolist(), k.tolist()
            adv = torch.zeros_like(n)
            for b in range(B):
                if done[b]:
                    continue
                rounds[part[b]] += 1
                new = tl[b][:kl[b] + 1]
                for x_ in new:
                    got[b].append(x_)
                    if x_ in eog:
                        done[b] = True
                        break
                if len(got[b]) >= max_new:
                    done[b] = True
                adv[b] = kl[b] + 1
            a = torch.where(adv > 0, t.gather(1, k[:, None])[:, 0], a)
            n = n + adv
        for b, i in enumerate(part):
            outs[i] = [x_ for x_ in got[b] if x_ not in eog]
    return outs, rounds, [len(x_) + 1 for x_ in outs]
