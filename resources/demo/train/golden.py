"""Reference values for the demo trio, computed by the transformers classes in float64 on the
weights as they read back from the files; the layout is that of tests/fixtures/oracle (see the
README there), reduced to ten prompts and three pictures.

    python3 golden.py --work work --gguf resources/demo --out resources/demo/golden
"""
import argparse
import itertools
import json
import os

import numpy as np
import torch

from oracle import O  # noqa: E402

import convert  # noqa: E402
import eval_set  # noqa: E402
from chat_format import BOS, EOS, MASK, PAD, PATCH, Tok, encode_conversation  # noqa: E402
from data.conversation import STRENGTHS  # noqa: E402
from data.words import plain  # noqa: E402
from model import CFG  # noqa: E402

STRINGS = [
    "", "Hello", "Hello world", "What is 347 + 586?", "  two  spaces", "line\nbreak\n\n",
    "Ctrl+Shift+R", "naïve café", "ÄÖÜ straße", "你好", "<|eot|> typed", "a\tb", "x = [1, 2, 3]",
    "don't", "12345678", "C:\\files\\a.txt", "🙂"
]


def build(c, tok):
    from transformers import MuseGlimmerConfig, MuseGlimmerForConditionalGeneration
    from transformers.models.muse_glimmer_assistant import (MuseGlimmerAssistantConfig,
                                                            MuseGlimmerAssistantModel)
    rope = {"rope_type": "default", "rope_theta": c["theta"]}
    cfg = MuseGlimmerConfig(text_config=dict(vocab_size=c["vocab"],
                                             hidden_size=c["width"],
                                             intermediate_size=c["ffn"],
                                             num_hidden_layers=c["layers"],
                                             num_attention_heads=c["heads"],
                                             num_key_value_heads=c["kv"],
                                             head_dim=c["hd"],
                                             sliding_window=c["window"],
                                             rms_norm_eps=c["eps"],
                                             post_norm_eps=c["post_eps"],
                                             max_position_embeddings=c["context"],
                                             rope_parameters=rope,
                                             qk_scale_factor=c["qk_scale"],
                                             output_multiplier=float(np.float32(c["logit_scale"])),
                                             final_logit_softcapping=c["cap"],
                                             pad_token_id=None,
                                             bos_token_id=tok.id[BOS],
                                             eos_token_id=tok.id[EOS]),
                            vision_config=dict(
                                hidden_size=c["vwidth"],
                                intermediate_size=c["vffn"],
                                num_hidden_layers=c["vlayers"],
                                num_attention_heads=c["vheads"],
                                pos_emb_height=c["grid"],
                                pos_emb_width=c["grid"],
                                max_position_embeddings=c["grid"]**2,
                                patch_size=14,
                                merge_size=2,
                                rope_parameters={"rope_type": "axial", "rope_theta": 10000.0}),
                            out_hidden_size=c["vwidth"] * 4,
                            projector_hidden_size=c["proj"],
                            image_token_id=tok.id[PATCH],
                            video_token_id=tok.id["<|video|>"])
    dcfg = MuseGlimmerAssistantConfig(hidden_size=c["width"],
                                      intermediate_size=c["dffn"],
                                      num_hidden_layers=c["dlayers"],
                                      num_attention_heads=c["dheads"],
                                      num_key_value_heads=c["dkv"],
                                      head_dim=c["dhd"],
                                      sliding_window=c["dwindow"],
                                      rms_norm_eps=c["eps"],
                                      max_position_embeddings=c["context"],
                                      rope_parameters=rope,
                                      mask_token_id=tok.id[MASK],
                                      bos_token_id=tok.id[BOS],
                                      eos_token_id=tok.id[EOS],
                                      pad_token_id=tok.id[PAD],
                                      target_layer_ids=[t - 1 for t in c["taps"]],
                                      block_size=c["block"])
    model, draft = MuseGlimmerForConditionalGeneration(cfg).eval(), MuseGlimmerAssistantModel(
        dcfg).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = tok.id[PAD]
    for m in (model, draft):
        m.set_attn_implementation("eager")
        m.requires_grad_(False)
    return cfg, dcfg, model, draft


def fill(model, draft, c, w, d):
    """weights of the files into the modules, undoing what the conversion did"""

    def put(p, t):
        assert p.shape == t.shape, (p.shape, t.shape)
        p.data = t.double()

    half = lambda t, h: torch.from_numpy(O.to_halves(t.numpy(), h).copy())
    lm, vt = model.model.language_model, model.model.vision_tower
    put(lm.embed_tokens.weight, w["token_embd.weight"])
    put(lm.norm.weight, w["output_norm.weight"])
    put(model.lm_head.weight, w["output.weight"])
    for i, l in enumerate(lm.layers):
        g, a = (lambda n, i=i: w[f"blk.{i}.{n}.weight"]), l.self_attn
        for m, n in ((l.input_layernorm, "attn_norm"), (l.post_attention_layernorm,
                                                        "post_attention_norm"),
                     (l.pre_feedforward_layernorm, "ffn_norm"), (l.post_feedforward_layernorm,
                                                                 "post_ffw_norm")):
            put(m.weight, g(n).double() - 1)
        put(a.q_proj.weight, half(g("attn_q"), c["heads"]))
        put(a.k_proj.weight, half(g("attn_k"), c["kv"]))
        for m, n in ((a.v_proj, "attn_v"), (a.gate_proj, "attn_gate"), (a.o_proj, "attn_output"),
                     (l.mlp.gate_proj, "ffn_gate"), (l.mlp.up_proj, "ffn_up"), (l.mlp.down_proj,
                                                                                "ffn_down")):
            put(m.weight, g(n))
    pe = vt.patch_embedder.patch_embedding.weight
    one = w["v.patch_embd.weight"].reshape(c["vwidth"], -1)
    put(pe, torch.stack([one, torch.zeros_like(one)], 1).reshape(pe.shape))
    put(vt.patch_embedder.position_embedding_table.weight, w["v.position_embd.weight"])
    for m, n in ((vt.ln_pre, "v.pre_ln"), (vt.ln_post, "v.post_ln")):
        put(m.weight, w[n + ".weight"])
        put(m.bias, w[n + ".bias"])
    for i, l in enumerate(vt.layers):
        for m, n, f in ((l.norm1, "ln1", 0), (l.attn.q_proj, "attn_q", 1),
                        (l.attn.k_proj, "attn_k", 1), (l.attn.v_proj, "attn_v", 0), (l.attn.proj,
                                                                                     "attn_out", 0),
                        (l.norm2, "ln2", 0), (l.mlp.fc1, "ffn_up", 0), (l.mlp.fc2, "ffn_down", 0)):
            for part in ("weight", "bias"):
                t = w[f"v.blk.{i}.{n}.{part}"]
                put(getattr(m, part), half(t, c["vheads"]) if f else t)
    put(model.model.vision_adapter.fc1.weight, w["mm.0.weight"])
    put(model.model.vision_adapter.fc2.weight, w["mm.1.weight"])
    put(model.model.vision_projection.weight, w["mm.2.weight"])
    put(draft.encoder.fc.weight, d["fc.weight"])
    put(draft.encoder.output_norm_enc.weight, d["enc.output_norm.weight"])
    put(draft.norm.weight, d["output_norm.weight"])
    for i, l in enumerate(draft.layers):
        a = l.self_attn
        for n, m in (("attn_norm", l.input_layernorm), ("attn_q", a.q_proj),
                     ("attn_q_norm", a.q_norm), ("attn_k", a.k_proj), ("attn_k_norm", a.k_norm),
                     ("attn_v", a.v_proj), ("attn_output", a.o_proj),
                     ("ffn_norm", l.post_attention_layernorm), ("ffn_gate", l.mlp.gate_proj),
                     ("ffn_up", l.mlp.up_proj), ("ffn_down", l.mlp.down_proj)):
            put(m.weight, d[f"blk.{i}.{n}.weight"])
    model.double()
    draft.double()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", required=True)
    ap.add_argument("--gguf", required=True)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    c, tok = CFG, Tok(f"{a.work}/tokenizer.json")
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    os.makedirs(f"{a.out}/images", exist_ok=True)
    cfg, dcfg, model, draft = build(c, tok)
    fill(model, draft, c,
         convert.read(f"{a.gguf}/demo-target.gguf") | convert.read(f"{a.gguf}/demo-mmproj.gguf"),
         convert.read(f"{a.gguf}/demo-dflash.gguf"))
    model.to(dev)
    draft.to(dev)
    run, g = O.Run(model, draft, cfg, dcfg), O.Golden()
    eog, cases = set(tok.eog), dict(config="glint-demo")
    run_greedy = run.greedy

    def greedy(ids, n, embeds=None):
        """to the end of the turn, the end token included"""
        new, mg = [], []
        x = run.embed(ids) if embeds is None else embeds
        while len(new) < n and not (new and new[-1] in eog):
            t, m = run_greedy([], 1, embeds=x)
            new, mg = new + t, mg + m
            x = torch.cat([x, run.embed(t)], 1)
        return new, mg

    cases["special_ids"] = {t: tok.id[t] for t in (BOS, EOS, MASK, PAD, PATCH)}
    cases["tokenizer"] = [dict(text=s, ids=tok.encode(s)) for s in STRINGS if "<|" not in s]
    # ---- ten prompts: one of each kind of text task, and three with a picture
    items = eval_set.make("golden", 0.15)
    texts, more, pics = {}, {}, {}
    for grp, cv in items:
        has = any(not isinstance(p, str) for t in cv.turns for p in t.user)
        if has:
            pics.setdefault(grp, []).append(cv)
        elif grp not in texts:
            texts[grp] = cv
        else:
            more.setdefault(f"{grp} again", cv)
    # any prompt will do for the follow-ups; the long one comes from the set below
    chosen = list((texts | more).items())[:10]
    chats, prompts = [], []
    for grp, cv in chosen:
        ids, _, _ = encode_conversation(tok, cv, canonical=lambda i: True, prompt_only=True)
        ms = []
        for m in eval_set.messages(cv, lambda p: ""):
            ms.append(m | dict(content="".join(
                p["text"] for p in m["content"])) if isinstance(m["content"], list) else m)
        text = tok.decode(ids, keep_special=True)
        if "<|" not in "".join(m["content"] for m in ms):
            chats.append(
                dict(messages=ms,
                     args=dict(reasoning_effort=STRENGTHS[cv.strength]),
                     date="2026-08-15",
                     text=text,
                     ids=ids))
        prompts.append((grp, ids))
    cases["chat"] = chats
    short = prompts[0][1][-12:]
    lg, st = run.forward(short, layers=True)
    g.add("text.short.tokens", np.array(short, np.int32))
    g.add("text.short.embd", run.embed(short)[0])
    last = c["layers"] - 1
    g.add(f"text.short.layer.{last}",
          st[last])  # the others are in it, and the repository stays small
    g.add("text.short.norm", st["norm"])
    g.add("text.short.logits", lg)
    g.add("text.short.features", run.features(st))
    long = [t for _, ids in prompts for t in ids][:700]
    ll, lst = run.forward(long, layers=True)
    i32, vals = O.topk(ll)
    W = c["window"]
    sel = sorted({p for p in (0, 1, W - 1, W, 2 * W, len(long) - 1) if p < len(long)})
    g.add("text.long.tokens", np.array(long, np.int32))
    g.add("text.long.top32.ids", i32)
    g.add("text.long.top32.logits", vals)
    g.add("text.long.sel.pos", np.array(sel, np.int32))
    g.add("text.long.sel.logits", ll[sel])
    g.add("text.long.last_layer", lst[c["layers"] - 1][sel])
    cases["greedy"], new_of = [], {}
    for k, (name, ids) in enumerate(prompts):
        new, mg = greedy(ids, 96)
        new_of[name] = new
        cases["greedy"].append(
            dict(name=name,
                 prompt=ids,
                 tokens=new,
                 min_margin=min(mg),
                 text=tok.decode(new, keep_special=True),
                 margin_tensor=f"greedy.{k}.margin"))
        g.add(f"greedy.{k}.margin", np.array(mg))
    cases["sampling"] = []  # compared with the larger fixtures
    # ---- three pictures
    cases["images"], cases["image_prompts"], cases["smart_resize"], cases[
        "smart_resize_ties"] = [], [], [], []

    def speculative(ids, n, embeds):
        """the loop written out plainly, cut at the end of the turn"""
        x, ids, out, cyc = embeds, list(ids), [], []
        t = int(run.forward(embeds=x)[-1].argmax())
        ids.append(t)
        out.append(t)
        x = torch.cat([x, run.embed([t])], 1)
        while len(out) < n and out[-1] not in eog:
            _, s = run.forward(embeds=x, layers=True)
            p = len(ids) - 1
            dr = run.draft_block(run.features(s)[:p], ids[-1])[1][1:].argmax(-1).tolist()
            cut = next((i + 1 for i, t in enumerate(dr) if t in eog),
                       len(dr))  # drafts end with the first end token
            pick = run.forward(embeds=torch.cat([x, run.embed(dr)], 1))[p:].argmax(-1).tolist()
            k = 0
            while k < cut and dr[k] == pick[k]:
                k += 1
            cyc.append(dict(anchor_pos=p, anchor=ids[-1], drafts=dr, accepted=k))
            new = pick[:k + 1]
            if any(t in eog for t in new):
                new = new[:next(i for i, t in enumerate(new) if t in eog) + 1]
            ids += new
            out += new
            x = torch.cat([x, run.embed(new)], 1)
        return out[:n], cyc

    def one_picture(grp):
        """of a group the first conversation with one picture, whose grid is no tie"""
        name = grp.replace(" ", "-")
        for cv in pics[grp]:
            got = [p for t in cv.turns for p in t.user if not isinstance(p, str)]
            if len(got) == 1:
                file = f"{a.out}/images/{name}.png"
                got[0].image.save(file, optimize=True)
                if [n // 2 for n in O.preprocess(file)[2:]] == [got[0].gh, got[0].gw]:
                    return name, cv
                os.remove(file)
        return None

    for name, cv in itertools.islice(filter(None, map(one_picture, pics)), 3):
        ids, _, ps = encode_conversation(tok, cv, canonical=lambda i: True, prompt_only=True)
        at, p = ps[0]
        u8, pt, gh, gw = O.preprocess(f"{a.out}/images/{name}.png")
        keep = {}
        hk = model.model.vision_projection.register_forward_hook(
            lambda m, x, o: keep.__setitem__("projected", o))
        with torch.no_grad():
            e = model.model.get_image_features(
                torch.from_numpy(pt).to(dev), torch.tensor([[1, gh, gw]],
                                                           device=dev)).pooler_output[0]
        hk.remove()
        g.add(f"vision.{name}.resized", (u8.astype(np.int16) - 128).astype(np.int8))
        g.add(f"vision.{name}.projected", keep["projected"])
        g.add(f"vision.{name}.embeds", e)
        cases["images"].append(
            dict(name=name,
                 file=f"images/{name}.png",
                 mode="RGB",
                 height=p.image.height,
                 width=p.image.width,
                 resized=[gh * 14, gw * 14],
                 grid=[gh, gw],
                 tokens=gh * gw // 4))
        x = run.embed(ids).clone()
        x[0, at:at + p.cells] = e.to(x.dtype)
        L, ist = run.forward(embeds=x, layers=True)
        new, mg = greedy(ids, 64, embeds=x)
        j = len(cases["image_prompts"])
        i32, vals = O.topk(L)
        g.add(f"image_prompt.{j}.tokens", np.array(ids, np.int32))
        g.add(f"image_prompt.{j}.top32.ids", i32)
        g.add(f"image_prompt.{j}.top32.logits", vals)
        g.add(f"image_prompt.{j}.last_logits", L[-1])
        g.add(f"image_prompt.{j}.margin", np.array(mg))
        _, rows = run.draft_block(run.features(ist), new[0])
        i32, vals = O.topk(rows[1:])
        g.add(f"image_prompt.{j}.draft.top32.ids", i32)
        g.add(f"image_prompt.{j}.draft.top32.logits", vals)
        own, cyc = speculative(ids, 64, x)
        assert own == new, "speculation changed the text"
        cases["image_prompts"].append(
            dict(image=name,
                 question=cv.turns[-1].user[-1],
                 prompt=ids,
                 first_patch=at,
                 n_patch=p.cells,
                 tokens=new,
                 min_margin=min(mg),
                 cycles=cyc,
                 accepted=[z["accepted"] for z in cyc],
                 text=tok.decode(new, keep_special=True)))
    # ---- drafter
    cases["draft_blocks"], cases["dflash"] = [], []
    for nm, ids, s, l in (("short", short, st, lg), ("long", long, lst, ll)):
        f, anchor = run.features(s), int(l[-1].argmax())
        h, rows = run.draft_block(f, anchor)
        with torch.no_grad():
            enc = draft.encoder(f[None])[0]
        b = f"dflash.{nm}."
        g.add(b + "enc", enc if nm == "short" else enc[-8:])
        g.add(b + "hidden", h)
        i32, vals = O.topk(rows[1:])
        g.add(b + "top32.ids", i32)
        g.add(b + "top32.logits", vals)
        g.add(b + "full_rows", rows[[1, c["block"] - 1]])
        two = rows[1:].topk(2).values
        cases["draft_blocks"].append(
            dict(name=nm,
                 context_tokens=len(ids),
                 anchor=anchor,
                 anchor_pos=len(ids),
                 drafts=rows[1:].argmax(-1).tolist(),
                 min_margin=float((two[:, 0] - two[:, 1]).min())))
    for name, ids in prompts[:6]:
        own, cyc = speculative(ids, 96, run.embed(ids))
        assert own == new_of[name], "speculation changed the text"
        cases["dflash"].append(
            dict(name=name,
                 prompt=ids,
                 tokens=own,
                 cycles=cyc,
                 accepted=[z["accepted"] for z in cyc]))
    # ---- what reduced precision may cost (as in make_oracle.py)
    def q8(x):
        if x.shape[-1] % 32:
            return x
        y = x.reshape(*x.shape[:-1], -1, 32)
        sc = (y.abs().amax(-1, keepdim=True) / 127).half().to(y.dtype)
        sc = torch.where(sc == 0, torch.ones_like(sc), sc)
        return ((y / sc).round().clamp(-127, 127) * sc).reshape(x.shape)

    rnd = {
        "f16": lambda x: x.half().to(x.dtype), "bf16": lambda x: x.bfloat16().to(x.dtype), "q8": q8
    }
    import transformers.models.muse_glimmer.modeling_muse_glimmer as MM
    base = MM.eager_attention_forward

    def kl(p, q):
        lp, lq = p.log_softmax(-1), q.log_softmax(-1)
        return (lp.exp() * (lp - lq)).sum(-1)

    def noise(act, cache):
        hooks = [
            m.register_forward_pre_hook(lambda mod, ar: rnd[act](ar[0])) for m in [model.lm_head] +
            [z for z in run.lm.modules() if isinstance(z, torch.nn.Linear)]
        ] if act else []
        if cache:
            MM.eager_attention_forward = lambda mod, q_, k_, v_, *ar, **kw: base(
                mod, q_, rnd[cache](k_), rnd[cache](v_), *ar, **kw)
        try:
            y, y2 = run.forward(long), run.forward(short)
        finally:
            MM.eager_attention_forward = base
            for hk in hooks:
                hk.remove()
        k1 = torch.cat([kl(ll, y), kl(lg, y2)])
        return dict(kl_mean=float(k1.mean()),
                    kl_max=float(k1.max()),
                    top1_agree=float((y.argmax(-1) == ll.argmax(-1)).double().mean()),
                    max_logit_error=float((y - ll).abs().max()),
                    rms_logit_error=float((y - ll).pow(2).mean().sqrt()))

    lev = {
        f"activations_{x or 'exact'}_cache_{y or 'exact'}": noise(x, y)
        for x, y in ((None, "f16"), (None, "q8"), ("f16", None), ("f16", "f16"), ("bf16", None),
                     ("q8", None), ("q8", "f16"))
    }
    vlev, lin = {}, [model.model.vision_projection] + [
        z for z in list(model.model.vision_tower.modules()) +
        list(model.model.vision_adapter.modules()) if isinstance(z, torch.nn.Linear)
    ]
    u8, pt, gh, gw = O.preprocess(f"{a.out}/{cases['images'][-1]['file']}")
    look = lambda: model.model.get_image_features(
        torch.from_numpy(pt).to(dev), torch.tensor([[1, gh, gw]], device=dev)).pooler_output[0]
    with torch.no_grad():
        exact = look()
        for act in rnd:
            hooks = [
                m.register_forward_pre_hook(lambda mod, ar, act=act: rnd[act](ar[0])) for m in lin
            ]
            dd = (look() - exact).abs()
            for hk in hooks:
                hk.remove()
            vlev[f"activations_{act}"] = dict(embeds_max=float(dd.max()),
                                              embeds_rms=float(dd.pow(2).mean().sqrt()))
    cases["noise_levels"] = dict(text=lev, vision=vlev)
    model.float()
    f32 = run.forward(long)
    cases["tolerance"] = dict(exact_path=dict(logits_abs=max(
        2e-3, 20 * float((f32.double() - ll).abs().max())),
                                              hidden_abs=2e-3,
                                              embeds_abs=1e-3,
                                              draft_rows_abs=2e-2,
                                              greedy_exact=True,
                                              drafts_exact=True,
                                              accepted_exact=True),
                              reduced_path={
                                  k: dict(kl_mean=4 * x["kl_mean"] + 1e-6,
                                          kl_max=6 * x["kl_max"] + 1e-5,
                                          top1_agree=round(
                                              max(0.0, 1 - 2.5 * (1 - x["top1_agree"]) - 0.02), 4))
                                  for k, x in lev.items()
                              },
                              reduced_vision={
                                  k: dict(embeds_rms=3 * x["embeds_rms"],
                                          embeds_max=4 * x["embeds_max"])
                                  for k, x in vlev.items()
                              })
    cases["golden"] = g.doc
    g.w.write(f"{a.out}/golden.gguf")
    json.dump(cases,
              open(f"{a.out}/cases.json", "w", encoding="utf-8"),
              ensure_ascii=False,
              separators=(",", ":"))
    print("golden:", os.path.getsize(f"{a.out}/golden.gguf"), "bytes;",
          [(x["name"], x["text"][:60], round(x["min_margin"], 3)) for x in cases["greedy"]])
    print("accepted:", [x["accepted"] for x in cases["dflash"]],
          [x["accepted"] for x in cases["image_prompts"]])


if __name__ == "__main__":
    main()
