"""Compares the networks of model.py and decode.py with a folder of reference values
(tests/fixtures/oracle/tiny-f32).

    python3 check_model.py ../../../tests/fixtures/oracle/tiny-f32
"""
import json
import sys

import torch
from PIL import Image

import convert
from data.draw import Picture
from decode import Runner, picture_rows
from oracle import G
from model import CFG, draft_hidden, draft_mask, embed, logits, masks, text_hidden


def config(path):
    t, v, d = (G.Reader(f"{path}/{n}.gguf").kv for n in ("target", "mmproj", "dflash"))
    A, V, D = "muse-glimmer.", "clip.vision.", "dflash."
    r = G.Reader(f"{path}/mmproj.gguf")
    return CFG | dict(vocab=len(t["tokenizer.ggml.tokens"]),
                      width=t[A + "embedding_length"],
                      layers=t[A + "block_count"],
                      heads=t[A + "attention.head_count"],
                      kv=t[A + "attention.head_count_kv"],
                      hd=t[A + "attention.key_length"],
                      ffn=t[A + "feed_forward_length"],
                      window=t[A + "attention.sliding_window"],
                      theta=t[A + "rope.freq_base"],
                      logit_scale=t[A + "logit_scale"],
                      cap=t[A + "final_logit_softcapping"],
                      qk_scale=float(
                          G.Reader(f"{path}/target.gguf").tensor("blk.0.attn_q_norm.weight")[0]),
                      vwidth=v[V + "embedding_length"],
                      vlayers=v[V + "block_count"],
                      vheads=v[V + "attention.head_count"],
                      grid=round(r.info["v.position_embd.weight"][0][1]**.5),
                      dlayers=d[D + "block_count"],
                      dheads=d[D + "attention.head_count"],
                      dkv=d[D + "attention.head_count_kv"],
                      dhd=d[D + "attention.key_length"],
                      dwindow=d[D + "attention.sliding_window"],
                      block=d[D + "block_size"],
                      taps=d[D + "target_layers"],
                      mask=d["tokenizer.ggml.mask_token_id"])


def main():
    path = sys.argv[1]
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    c, cs, g = config(path), json.load(open(f"{path}/cases.json",
                                            encoding="utf-8")), G.Reader(f"{path}/golden.gguf")
    T = lambda n: torch.from_numpy(g.tensor(n)).to(dev)
    w = {
        n: t.to(dev)
        for n, t in (convert.read(f"{path}/target.gguf") |
                     convert.read(f"{path}/mmproj.gguf")).items()
    }
    d = {n: t.to(dev) for n, t in convert.read(f"{path}/dflash.gguf").items()}
    say = lambda n, x, y: print(f"{n:40s} {(x - y).abs().max():.2e} of {y.abs().max():.2f}")
    ids = T("text.long.tokens").long()[None]
    n = ids.shape[1]
    r = Runner(w, c, 1, n + 32, dev, d)
    h, f = r.step(embed(w, c, ids), torch.zeros(1, dtype=torch.long, device=dev), feats=True)
    sel = T("text.long.sel.pos").long()
    say("cached, long prompt, logits", logits(w, c, h)[0, sel], T("text.long.sel.logits"))
    # the same with packed documents: two copies in one row
    L = 512
    pad = torch.zeros(1, L, dtype=torch.long, device=dev)
    pad[0, :n], pad[0, n:2 * n] = ids, ids
    doc = torch.zeros(1, L, dtype=torch.int32, device=dev)
    doc[0, :n], doc[0, n:2 * n] = 1, 2
    m = masks(doc, doc, doc, c["window"])
    h2, f2 = text_hidden(w, c, embed(w, c, pad), m[0], m[1], taps=c["taps"])
    say("packed, second copy, logits", logits(w, c, h2)[0, n + sel], T("text.long.sel.logits"))
    say("features", f2[0, :n], f[0])
    # drafter
    r.remember(f, torch.zeros(1, dtype=torch.long, device=dev))
    rec = cs["draft_blocks"][1]
    got = None
    CFG_mask = c["mask"]
    pos = torch.tensor([[n]], device=dev)
    noise = w["token_embd.weight"][torch.tensor([[rec["anchor"]] + [CFG_mask] * (c["block"] - 1)],
                                                device=dev)]
    q = pos[..., None].view(1, 1) + torch.arange(c["block"], device=dev)[None]
    doc[0, :2 * n] = 1
    dm = draft_mask(doc, torch.ones(1, 1, dtype=torch.int32, device=dev), pos, L, c["block"],
                    c["dwindow"])
    hd = draft_hidden(d, c, f2, noise, q, dm)
    say("drafter, packed form, hidden", hd[0], T("dflash.long.hidden"))
    print("drafts equal:", (hd[0, 1:] @ w["output.weight"].T).argmax(-1).tolist() == rec["drafts"])
    saved, c["vocab"] = c["vocab"], CFG_mask + 1
    got = r.draft(torch.tensor([rec["anchor"]], device=dev), torch.tensor([n],
                                                                          device=dev))[0].tolist()
    c["vocab"] = saved
    print("drafts equal, cached form:", got == rec["drafts"])
    for im in cs["images"]:
        p = Picture(Image.open(f"{path}/{im['file']}").convert("RGB"), [])
        if [p.gh * 28, p.gw * 28] == im["resized"]:
            say(f"picture {im['name']}", picture_rows(w, c, p, dev),
                T(f"vision.{im['name']}.embeds"))


if __name__ == "__main__":
    main()
