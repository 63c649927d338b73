"""Writes the three GGUF files and reads them back.

    python3 convert.py --work work --out resources/demo
"""
import argparse
import os

import numpy as np
import torch

import checkpoint
import quant
from oracle import G
from chat_format import BOS, EOS, EOT, MASK, PAD, SPECIALS, Tok
from data.draw import CELL, MAX_CELLS
from model import CFG, full_layer

NAME = "Glint Demo"
TEMPLATE = (
    r"""{%- set strength = reasoning_effort if reasoning_effort is defined and reasoning_effort else 'high' -%}
{%- macro body(c) -%}{%- if c is string -%}{{- c -}}{%- else -%}{%- for p in c -%}{%- if p.type == 'text' -%}{{- p.text -}}{%- else -%}{{- '<|patch|>' -}}{%- endif -%}{%- endfor -%}{%- endif -%}{%- endmacro -%}
{{- '<|begin_of_text|><|start|>system<|message|>' -}}
{%- if messages and messages[0].role == 'system' -%}{{- body(messages[0].content) -}}{%- set turns = messages[1:] -%}
{%- else -%}{{- 'You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04.\nCurrent date: ' + strftime_now('%Y-%m-%d') + '.' -}}{%- set turns = messages -%}{%- endif -%}
{{- '\n\nReasoning strength: ' + strength + '.\n\n# Valid recipients: "self", "user".<|eot|>' -}}
{%- for m in turns -%}
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content is defined and m.reasoning_content -%}{{- '<|start|>assistant to=self<|message|>' + m.reasoning_content + '<|eom|>' -}}{%- endif -%}
{{- '<|start|>assistant to=user<|message|>' + body(m.content) + '<|eot|>' -}}
{%- else -%}{{- '<|start|>' + m.role + '<|message|>' + body(m.content) + '<|eot|>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant' -}}{%- endif -%}""")


def tokenizer_keys(w, tok, mask=False):
    w.s("tokenizer.ggml.model", "gpt2")
    w.s("tokenizer.ggml.pre", "llama4")
    w.arr("tokenizer.ggml.tokens", G.V_STR, tok.tokens)
    w.arr("tokenizer.ggml.token_type", G.V_I32, [3 if t in SPECIALS else 1 for t in tok.tokens])
    w.arr("tokenizer.ggml.merges", G.V_STR, tok.merges)
    for k, t in (("bos", BOS), ("eos", EOS), ("padding", PAD),
                 ("eot", EOT)) + ((("mask", MASK), ) if mask else ()):
        w.u32(f"tokenizer.ggml.{k}_token_id", tok.id[t])
    w.bool("tokenizer.ggml.add_bos_token", True)
    w.bool("tokenizer.ggml.add_sep_token", False)
    w.s("tokenizer.chat_template", TEMPLATE)


def common(w, arch, layers, ffn, heads, kv, hd, window, pattern):
    c = CFG
    w.u32(arch + ".block_count", layers)
    w.u32(arch + ".context_length", c["context"])
    w.u32(arch + ".embedding_length", c["width"])
    w.u32(arch + ".feed_forward_length", ffn)
    w.u32(arch + ".attention.head_count", heads)
    w.u32(arch + ".attention.head_count_kv", kv)
    w.f32(arch + ".rope.freq_base", c["theta"])
    w.f32(arch + ".attention.layer_norm_rms_epsilon", c["eps"])
    w.u32(arch + ".attention.key_length", hd)
    w.u32(arch + ".attention.value_length", hd)
    w.u32(arch + ".attention.sliding_window", window)
    w.arr(arch + ".attention.sliding_window_pattern", G.V_BOOL, pattern)


def put(w, name, t, file, half=False):
    a = t.detach().float().cpu().numpy()
    k = quant.kind(name, file)
    if half and k != "F32":
        k = "F16"
    if name == "v.patch_embd.weight":
        a = a.reshape(-1, 3, 14, 14)
    return torch.from_numpy(np.ascontiguousarray(w.add(name, a, G.BY_NAME[k]))).reshape(t.shape)


def prepare(m):
    """rows of the embedding table get RMS 1 (the model norms them anyway; the drafter takes them
    raw)"""
    e = m["token_embd.weight"].float()
    return m | {"token_embd.weight": e / e.pow(2).mean(-1, keepdim=True).sqrt()}


def target(path, m, tok, half=False):
    c, A = CFG, "muse-glimmer"
    w = G.Writer(A)
    w.s("general.type", "model")
    w.s("general.name", NAME)
    w.s("general.size_label", "17M")
    common(w, A, c["layers"], c["ffn"], c["heads"], c["kv"], c["hd"], c["window"],
           [not full_layer(i) for i in range(c["layers"])])
    w.u32("general.file_type", 1 if half else 15)
    w.f32(A + ".final_logit_softcapping", c["cap"])
    w.f32(A + ".logit_scale", c["logit_scale"])
    tokenizer_keys(w, tok)
    w.u32("general.quantization_version", 2)
    back = {}
    for n in ["token_embd.weight"] + [n for n in m if n.startswith("blk.")
                                      ] + ["output_norm.weight", "output.weight"]:
        back[n] = put(w, n, m[n], "target", half)
        if n.endswith("attn_q.weight"):
            w.add(n.replace("attn_q", "attn_q_norm"), np.full(c["hd"], c["qk_scale"], np.float32))
            w.add(n.replace("attn_q", "attn_k_norm"), np.ones(c["hd"], np.float32))
    w.write(path)
    return back


def mmproj(path, m, half=False):
    c = CFG
    w = G.Writer("clip")
    w.s("general.type", "mmproj")
    w.s("general.name", NAME)
    w.s("general.size_label", "5M")
    w.u32("general.file_type", 1 if half else 15)
    w.bool("clip.has_vision_encoder", True)
    for k, v in (("projection_dim", c["width"]), ("image_size", c["grid"] * 28), ("patch_size", 14),
                 ("embedding_length", c["vwidth"]), ("feed_forward_length", c["vffn"]),
                 ("block_count", c["vlayers"]), ("attention.head_count", c["vheads"])):
        w.u32("clip.vision." + k, v)
    w.arr("clip.vision.image_mean", G.V_F32, [0.5] * 3)
    w.arr("clip.vision.image_std", G.V_F32, [0.5] * 3)
    w.s("clip.projector_type", "muse-glimmer")
    w.f32("clip.vision.attention.layer_norm_epsilon", c["eps"])
    w.u32("clip.vision.spatial_merge_size", 2)
    w.u32("clip.vision.image_max_pixels", MAX_CELLS * CELL * CELL)
    w.u32("general.quantization_version", 2)
    back = {n: put(w, n, t, "mmproj", half) for n, t in m.items() if n.startswith(("v.", "mm."))}
    w.write(path)
    return back


def dflash(path, m, tok, half=False):
    c, A = CFG, "dflash"
    w = G.Writer(A)
    w.s("general.type", "model")
    w.s("general.name", NAME)
    w.s("general.size_label", "4M")
    common(w, A, c["dlayers"], c["dffn"], c["dheads"], c["dkv"], c["dhd"], c["dwindow"],
           [True] * c["dlayers"])
    w.u32("general.file_type", 1 if half else 15)
    w.u32(A + ".block_size", c["block"])
    w.arr(A + ".target_layers", G.V_I32, c["taps"])
    tokenizer_keys(w, tok, mask=True)
    w.u32("general.quantization_version", 2)
    back = {n: put(w, n, t, "dflash", half) for n, t in m.items()}
    w.write(path)
    return back


def read(path):
    """all weights of a file as float32"""
    r = G.Reader(path)
    out = {}
    for n in r.info:
        a = torch.from_numpy(np.ascontiguousarray(r.tensor(n))).float()
        if n.endswith(("attn_q_norm.weight",
                       "attn_k_norm.weight")) and r.kv["general.architecture"] == "muse-glimmer":
            continue
        out[n] = a.reshape(a.shape[0], -1) if n == "v.patch_embd.weight" else a
    return out


def start(places, files):
    """weights to begin with: each place is a folder with the files or the stem of a small
    checkpoint; a later one wins"""
    w = {}
    for p in places:
        if os.path.isdir(p):
            for f in files:
                w |= read(f"{p}/demo-{f}.gguf")
        else:
            w |= checkpoint.load_small(p)
    return w


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--parts", default="target,mmproj,dflash")
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    tok = Tok(f"{a.work}/tokenizer.json")
    parts = a.parts.split(",")
    if "target" in parts or "mmproj" in parts:
        full = f"{a.work}/target.full.pt"
        m = torch.load(full, map_location="cpu")["master"] if os.path.exists(
            full) else checkpoint.load_small(f"{a.work}/target")
        m = prepare(m)
        if "target" in parts:
            target(f"{a.out}/demo-target.gguf",
                   {n: t
                    for n, t in m.items() if not n.startswith(("v.", "mm.", "glyph"))}, tok)
        if "mmproj" in parts:
            mmproj(f"{a.out}/demo-mmproj.gguf", m)
    if "dflash" in parts:
        full = f"{a.work}/dflash.full.pt"
        dflash(
            f"{a.out}/demo-dflash.gguf",
            torch.load(full, map_location="cpu")["master"]
            if os.path.exists(full) else checkpoint.load_small(f"{a.work}/dflash"), tok)
    for f in sorted(os.listdir(a.out)):
        if f.endswith(".gguf"):
            print(f"{f:20s} {os.path.getsize(f'{a.out}/{f}') / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
