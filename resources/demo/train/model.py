"""The three networks of a Muse Glimmer trio, small, in plain PyTorch and in the layout of the GGUF
files: every weight carries its file name, rows of q and k are ordered for adjacent-pair RoPE, norm
weights are plain multipliers. So nothing has to be rearranged for the export, and `golden.py` shows
that the transformers classes compute the same from the same files.

Weights live in plain dictionaries name -> tensor.
"""
import math

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

CFG = dict(vocab=4096,
           # target
           width=512,
           layers=8,
           heads=8,
           kv=2,
           hd=64,
           ffn=768,
           window=256,
           theta=500000.0,
           qk_scale=3.87,
           logit_scale=1 / math.sqrt(2.0),
           cap=20.0,
           context=4096,
           # vision tower: position table (= attention window) of 16 x 16 patches
           vwidth=256,
           vlayers=6,
           vheads=4,
           vffn=768,
           grid=16,
           proj=512,
           # drafter
           dlayers=2,
           dheads=8,
           dkv=2,
           dhd=64,
           dffn=768,
           dwindow=256,
           block=16,
           taps=[2, 4, 7],  # taps: residual entering these layers
           eps=1e-5,
           post_eps=1e-8,
           slots=8,
           glyphs=96)

_blocks = create_block_mask


def rms(x, eps, w=None):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return (y if w is None else y * w.float()).to(x.dtype)


def rope_tables(pos, d, theta):
    """cos and sin of shape pos.shape + (d/2,)"""
    f = theta**(-torch.arange(0, d, 2, device=pos.device, dtype=torch.float32) / d)
    a = pos.float()[..., None] * f
    return a.cos(), a.sin()


def turn_pairs(x, cos, sin):
    """adjacent pairs; x [..., d], cos and sin broadcast to [..., d/2]"""
    y = x.float().unflatten(-1, (-1, 2))
    a, b = y[..., 0], y[..., 1]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2).to(x.dtype)


def turn_halves(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def full_layer(i):
    return i % 4 == 3


def vision_full(i, n):
    return i % 4 == 3 or i == n - 1


# ------------------------------------------------------------------------------- initial weights
def init_target(c, g):
    n = lambda *s, std: torch.randn(*s, generator=g) * std
    w, D = {}, c["width"]
    lin = lambda o, i: n(o, i, std=1 / math.sqrt(i))
    w["token_embd.weight"] = n(c["vocab"], D, std=1.0)
    for i in range(c["layers"]):
        b = f"blk.{i}."
        for t in ("attn_norm", "ffn_norm"):
            w[b + t + ".weight"] = torch.ones(D)
        for t in ("post_attention_norm", "post_ffw_norm"):
            w[b + t + ".weight"] = torch.full((D, ), 0.3)
        w[b + "attn_q.weight"] = lin(c["heads"] * c["hd"], D)
        w[b + "attn_k.weight"] = lin(c["kv"] * c["hd"], D)
        w[b + "attn_v.weight"] = lin(c["kv"] * c["hd"], D)
        w[b + "attn_gate.weight"] = lin(c["heads"] * c["hd"], D)
        w[b + "attn_output.weight"] = lin(D, c["heads"] * c["hd"])
        w[b + "ffn_gate.weight"] = lin(c["ffn"], D)
        w[b + "ffn_up.weight"] = lin(c["ffn"], D)
        w[b + "ffn_down.weight"] = lin(D, c["ffn"])
    w["output_norm.weight"] = torch.ones(D)
    w["output.weight"] = n(c["vocab"], D, std=0.02)
    return w


def init_vision(c, g):
    n = lambda *s, std: torch.randn(*s, generator=g) * std
    w, D = {}, c["vwidth"]
    lin = lambda o, i: n(o, i, std=1 / math.sqrt(i))
    w["v.patch_embd.weight"] = n(D, 588, std=1 / math.sqrt(588))
    w["v.position_embd.weight"] = n(c["grid"]**2, D, std=0.2)
    for t in ["v.pre_ln", "v.post_ln"
              ] + [f"v.blk.{i}.{t}" for i in range(c["vlayers"]) for t in ("ln1", "ln2")]:
        w[t + ".weight"], w[t + ".bias"] = torch.ones(D), torch.zeros(D)
    for i in range(c["vlayers"]):
        for t, o, q in (("attn_q", D, D), ("attn_k", D, D), ("attn_v", D, D), ("attn_out", D, D),
                        ("ffn_up", c["vffn"], D), ("ffn_down", D, c["vffn"])):
            w[f"v.blk.{i}.{t}.weight"] = lin(o, q) * (0.4 if t in ("attn_out", "ffn_down") else 1.0)
            w[f"v.blk.{i}.{t}.bias"] = torch.zeros(o)
    w["mm.0.weight"], w["mm.1.weight"], w["mm.2.weight"] = lin(c["proj"], 4 * D), lin(
        c["proj"], c["proj"]), lin(c["width"], c["proj"])
    # training only, never exported: names the characters inside each cell
    w["glyph.weight"], w["glyph.bias"] = n(c["slots"] * c["glyphs"], c["width"],
                                           std=0.02), torch.zeros(c["slots"] * c["glyphs"])
    return w


def init_draft(c, g):
    n = lambda *s, std: torch.randn(*s, generator=g) * std
    w, D = {}, c["width"]
    lin = lambda o, i: n(o, i, std=1 / math.sqrt(i))
    w["fc.weight"] = lin(D, D * len(c["taps"]))
    w["enc.output_norm.weight"], w["output_norm.weight"] = torch.ones(D), torch.ones(D)
    for i in range(c["dlayers"]):
        b = f"blk.{i}."
        w[b + "attn_norm.weight"], w[b + "ffn_norm.weight"] = torch.ones(D), torch.ones(D)
        w[b + "attn_q_norm.weight"], w[b + "attn_k_norm.weight"] = torch.full(
            (c["dhd"], ), 2.0), torch.ones(c["dhd"])
        w[b + "attn_q.weight"], w[b + "attn_output.weight"] = lin(
            c["dheads"] * c["dhd"], D), lin(D, c["dheads"] * c["dhd"]) * 0.4
        w[b + "attn_k.weight"], w[b + "attn_v.weight"] = lin(c["dkv"] * c["dhd"], D), lin(
            c["dkv"] * c["dhd"], D)
        w[b + "ffn_gate.weight"], w[b + "ffn_up.weight"], w[b + "ffn_down.weight"] = lin(
            c["dffn"], D), lin(c["dffn"], D), lin(D, c["dffn"]) * 0.4
    return w


# ---------------------------------------------------------------------------- packed forward passes
# One layer is one compiled function that all layers share: compiling the whole network takes
# minutes, this takes seconds.
def _vision_layer(x, w, cos, sin, mask, H, eps):
    V, P, D = x.shape
    d = D // H
    h = F.layer_norm(x, (D, ), w["ln1.weight"], w["ln1.bias"], eps)
    q, k, v = (F.linear(h, w[f"attn_{t}.weight"], w[f"attn_{t}.bias"]).view(V, P, H, d).transpose(
        1, 2) for t in "qkv")
    o = flex_attention(turn_pairs(q, cos, sin), turn_pairs(k, cos, sin), v, block_mask=mask)
    x = x + F.linear(o.transpose(1, 2).reshape(V, P, D), w["attn_out.weight"], w["attn_out.bias"])
    h = F.layer_norm(x, (D, ), w["ln2.weight"], w["ln2.bias"], eps)
    return x + F.linear(F.gelu(F.linear(h, w["ffn_up.weight"], w["ffn_up.bias"])),
                        w["ffn_down.weight"], w["ffn_down.bias"])


def _text_layer(x, w, cos, sin, mask, H, K, d, scale, sliding, eps, post_eps):
    B, L, D = x.shape
    h = rms(x, eps, w["attn_norm.weight"])
    q = rms((h @ w["attn_q.weight"].T).view(B, L, H, d), eps) * scale
    k = rms((h @ w["attn_k.weight"].T).view(B, L, K, d), eps)
    v = (h @ w["attn_v.weight"].T).view(B, L, K, d).transpose(1, 2)
    q, k = q.transpose(1, 2), k.transpose(1, 2)
    if sliding:
        q, k = turn_pairs(q, cos, sin), turn_pairs(k, cos, sin)
    o = flex_attention(q, k, v, block_mask=mask, enable_gqa=True)
    o = o.transpose(1, 2).reshape(B, L, H * d) * torch.sigmoid(h @ w["attn_gate.weight"].T)
    x = x + rms(o @ w["attn_output.weight"].T, post_eps, w["post_attention_norm.weight"])
    h = rms(x, eps, w["ffn_norm.weight"])
    h = (F.silu(h @ w["ffn_gate.weight"].T) * (h @ w["ffn_up.weight"].T)) @ w["ffn_down.weight"].T
    return x + rms(h, post_eps, w["post_ffw_norm.weight"])


def _draft_layer(x, ctx, w, qc, qs, kc, ks, mask, H, K, d, eps):
    B, Q, D = x.shape
    h = rms(x, eps, w["attn_norm.weight"])
    kv = torch.cat([ctx, h], 1)
    N = kv.shape[1]
    q = rms((h @ w["attn_q.weight"].T).view(B, Q, H, d), eps, w["attn_q_norm.weight"]).transpose(
        1, 2)
    k = rms((kv @ w["attn_k.weight"].T).view(B, N, K, d), eps, w["attn_k_norm.weight"]).transpose(
        1, 2)
    v = (kv @ w["attn_v.weight"].T).view(B, N, K, d).transpose(1, 2)
    o = flex_attention(turn_halves(q, qc, qs),
                       turn_halves(k, kc, ks),
                       v,
                       block_mask=mask,
                       enable_gqa=True)
    x = x + o.transpose(1, 2).reshape(B, Q, H * d) @ w["attn_output.weight"].T
    h = rms(x, eps, w["ffn_norm.weight"])
    return x + (F.silu(h @ w["ffn_gate.weight"].T) *
                (h @ w["ffn_up.weight"].T)) @ w["ffn_down.weight"].T


vision_layer, text_layer, draft_layer = (torch.compile(f, dynamic=False)
                                         for f in (_vision_layer, _text_layer, _draft_layer))


def part(w, prefix):
    return {n[len(prefix):]: t for n, t in w.items() if n.startswith(prefix)}


def vision_rows(w, c, px, row, col, tap, wt, m_window, m_full):
    """px uint8 [V, P, 588] in cell order -> rows for the text model [V, P/4, width], RMS 1"""
    V, P, _ = px.shape
    H, D = c["vheads"], c["vwidth"]
    d = D // H
    x = (px.to(torch.bfloat16) / 127.5 - 1.0) @ w["v.patch_embd.weight"].T
    # the bilinear taps as a matrix: its product with the table has a cheap gradient
    mix = torch.zeros(V * P, c["grid"]**2, device=px.device).scatter_add_(
        1,
        tap.reshape(-1, 4).long(), wt.reshape(-1, 4))
    x = x + (mix.to(x.dtype) @ w["v.position_embd.weight"]).view(V, P, D)
    x = F.layer_norm(x, (D, ), w["v.pre_ln.weight"], w["v.pre_ln.bias"], c["eps"])
    f = 10000.0**(-torch.arange(0, d // 2, 2, device=px.device, dtype=torch.float32) / (d // 2))
    a = torch.cat([(col.float() + 1)[..., None] * f, (row.float() + 1)[..., None] * f], -1)[:, None]
    cos, sin = a.cos(), a.sin()
    for i in range(c["vlayers"]):
        x = vision_layer(x, part(w, f"v.blk.{i}."), cos, sin,
                         m_full if vision_full(i, c["vlayers"]) else m_window, H, c["eps"])
    x = F.layer_norm(x, (D, ), w["v.post_ln.weight"], w["v.post_ln.bias"], c["eps"]).view(
        V, P // 4, 4, D).transpose(2, 3).reshape(V, P // 4, 4 * D)
    x = F.gelu(F.gelu(x @ w["mm.0.weight"].T) @ w["mm.1.weight"].T) @ w["mm.2.weight"].T
    return rms(x, c["eps"])


def text_hidden(w, c, x, m_window, m_full, taps=None):
    """x [B, L, width]: normed embeddings and image rows -> last residual (before the final
    norm). Packed documents need no positions of their own: RoPE is relative and the mask keeps
    them apart."""
    cos, sin = rope_tables(torch.arange(x.shape[1], device=x.device), c["hd"], c["theta"])
    out = []
    for i in range(c["layers"]):
        if taps is not None and i in taps:
            out.append(x)
        x = text_layer(x, part(w, f"blk.{i}."), cos, sin, m_full if full_layer(i) else m_window,
                       c["heads"], c["kv"], c["hd"], c["qk_scale"], not full_layer(i), c["eps"],
                       c["post_eps"])
    return (x, torch.cat(out, -1)) if taps is not None else x


def logits(w, c, x):
    z = (
        rms(x, c["eps"], w["output_norm.weight"]) @ w["output.weight"].T).float() * c["logit_scale"]
    return c["cap"] * torch.tanh(z / c["cap"])


def embed(w, c, ids, dest=None, rows=None):
    """dest: for every picture row its place in the flattened text, or one behind the end for
    rows that belong to nothing"""
    x = rms(F.embedding(ids, w["token_embd.weight"]), c["eps"])
    if rows is None:
        return x
    flat = torch.cat([x.reshape(-1, x.shape[-1]), x.new_zeros(1, x.shape[-1])])
    return flat.index_copy(0, dest, rows.reshape(-1, rows.shape[-1]).to(x.dtype))[:-1].view_as(x)


def masks(doc, img, win, window):
    """block masks: text sliding, text full, vision windows, vision full. Padding (id 0) sees
    itself only as padding."""
    B, L = doc.shape
    V, P = img.shape

    def t_full(b, h, q, k):
        return (doc[b, q] == doc[b, k]) & (k <= q)

    def t_win(b, h, q, k):
        return (doc[b, q] == doc[b, k]) & (k <= q) & (q - k < window)

    def v_full(b, h, q, k):
        return img[b, q] == img[b, k]

    def v_win(b, h, q, k):
        return (img[b, q] == img[b, k]) & (win[b, q] == win[b, k])

    return (_blocks(t_win, B, None, L, L, doc.device), _blocks(t_full, B, None, L, L, doc.device),
            _blocks(v_win, V, None, P, P, doc.device), _blocks(v_full, V, None, P, P, doc.device))


@torch.compile(dynamic=False)
def _token_loss(x, norm, head, label, eps, scale, cap):
    z = (rms(x, eps, norm) @ head.T).float() * scale
    return F.cross_entropy(cap * torch.tanh(z / cap), label, ignore_index=-100)


def target_loss(w, c, b, m, glyph_weight, glyph_share):
    """mean loss of the trained tokens, plus the training-only task of naming the characters of
    each picture cell, whose gradient reaches the tower times `glyph_share` (a tensor, 0 to 1)"""
    rows = vision_rows(w, c, b["px"], b["row"], b["col"], b["tap"], b["wt"], m[2], m[3])
    x = text_hidden(w, c, embed(w, c, b["ids"], b["dest"], rows), m[0], m[1])
    ce = _token_loss(
        x.reshape(-1, x.shape[-1]).index_select(0, b["at"]), w["output_norm.weight"],
        w["output.weight"], b["label"], c["eps"], c["logit_scale"], c["cap"])
    seen = rows * glyph_share + rows.detach() * (1 - glyph_share)
    g = F.linear(seen.reshape(-1, rows.shape[-1]), w["glyph.weight"], w["glyph.bias"]).view(
        -1, c["glyphs"]).float()
    gl = F.cross_entropy(g, b["glyph"].flatten().long(), ignore_index=-100)
    return ce + glyph_weight * gl, ce.detach(), gl.detach()


# --------------------------------------------------------------------------- drafter, training form
def draft_mask(doc, anchor_doc, anchor_pos, L, block, window):
    """rows: anchors x block; keys: L context rows, then all block rows. A block sees the context
    before its anchor, in its own document, and itself in both directions; |distance| <= window."""
    B, A = anchor_pos.shape

    def mod(b, h, q, k):
        a = q // block
        qp = anchor_pos[b, a] + q % block
        kc = torch.clamp(k, max=L - 1)
        ctx = (k < L) & (doc[b, kc]
                         == anchor_doc[b, a]) & (kc < anchor_pos[b, a]) & (qp - kc <= window)
        own = (k >= L) & ((k - L) // block == a)
        return ctx | own

    return _blocks(mod, B, None, A * block, L + A * block, doc.device)


def draft_hidden(w, c, feats, noise, qpos, mask):
    """feats [B, L, taps*width], noise [B, Q, width] raw embeddings, qpos [B, Q] -> hidden rows
    after the final norm"""
    B, L, _ = feats.shape
    d = c["dhd"]
    ctx = rms(feats @ w["fc.weight"].T, c["eps"], w["enc.output_norm.weight"])
    kpos = torch.cat([torch.arange(L, device=feats.device)[None].expand(B, L), qpos], 1)
    (qc, qs), (kc, ks) = rope_tables(qpos, d, c["theta"]), rope_tables(kpos, d, c["theta"])
    x = noise
    for i in range(c["dlayers"]):
        x = draft_layer(x, ctx, part(w, f"blk.{i}."), qc[:, None], qs[:, None], kc[:, None],
                        ks[:, None], mask, c["dheads"], c["dkv"], d, c["eps"])
    return rms(x, c["eps"], w["output_norm.weight"])
