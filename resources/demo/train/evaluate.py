"""Runs the evaluation and prints a table.

    python3 evaluate.py --work work --gguf resources/demo [--times 3] [--drafts] [--half]
    python3 evaluate.py --work work --gguf resources/demo --wording dressed
"""
import argparse
import json
import os
import statistics

import torch

import checkpoint
import convert
import eval_set
from chat_format import EOM, MESSAGE, START, Tok, encode_conversation
from data.conversation import STRENGTHS
from decode import dflash, generate
from model import CFG


def split_reply(tok, ids):
    """generated ids -> (thinking, answer)"""
    text = tok.decode(ids, keep_special=True)
    think = answer = ""
    for part in text.split(START):
        head, _, body = part.partition(MESSAGE)
        body = body.replace(EOM, "")
        if "to=self" in head:
            think += body
        else:
            answer += body
    return think, answer


def load(gguf, dev, dtype=torch.float32, draft=True):
    w = convert.read(f"{gguf}/demo-target.gguf") | convert.read(f"{gguf}/demo-mmproj.gguf")
    d = convert.read(f"{gguf}/demo-dflash.gguf") if draft else None
    to = lambda x: {n: t.to(dev, dtype) for n, t in x.items()}
    return to(w), to(d) if d else None


def table(items, got, tok):
    groups, think = {}, {s: [] for s in range(4)}
    wrong = []
    for (g, c), ids in zip(items, got):
        t, a = split_reply(tok, ids)
        ok = eval_set.right(c.turns[-1].check, a)
        r = groups.setdefault(g, [0, 0, [0] * 4, [0] * 4])
        r[0] += ok
        r[1] += 1
        r[2][c.strength] += ok
        r[3][c.strength] += 1
        n = next((i for i, x in enumerate(ids) if x == tok.id[EOM]), 0)
        think[c.strength].append(max(0, n - 3) if n else 0)
        if not ok:
            wrong.append((g, c, t, a))
    return groups, think, wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--work", required=True)
    ap.add_argument("--gguf", required=True)
    ap.add_argument("--times", type=float, default=1)
    ap.add_argument("--seed", default="fixed")
    ap.add_argument("--wording", choices=["new", "dressed"], default="new")
    ap.add_argument("--drafts", action="store_true")
    ap.add_argument("--half", action="store_true", help="compare with the weights before rounding")
    ap.add_argument("--wrong", type=int, default=12, help="how many wrong answers to show")
    ap.add_argument("--json")
    a = ap.parse_args()
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    tok, c, res = Tok(f"{a.work}/tokenizer.json"), CFG, {}
    w, d = load(a.gguf, dev, draft=a.drafts)
    items = eval_set.make(a.seed, a.times, a.wording)
    enc = []
    for g, conv in items:
        ids, _, pics = encode_conversation(tok, conv, canonical=lambda i: True, prompt_only=True)
        enc.append((ids, pics))
    got = generate(w, c, enc, tok.eog, dev, max_new=600)
    groups, think, wrong = table(items, got, tok)
    print(f"{'group':14s} right  of    %     low  medium  high  xhigh")
    for g, (r, n, rs, ns) in groups.items():
        print(f"{g:14s} {r:5d} {n:4d} {100 * r / n:6.1f}   " +
              "  ".join(f"{100 * x / max(1, y):5.0f}" for x, y in zip(rs, ns)))
    med = [statistics.median(think[s]) for s in range(4)]
    print("thinking tokens, median:", dict(zip(STRENGTHS, med)))
    res.update(groups={g: [r, n] for g, (r, n, _, _) in groups.items()}, think=med)
    for g, conv, t, ans in wrong[::max(1,
                                       len(wrong) // max(1, a.wrong))][:a.wrong] if a.wrong else []:
        print("WRONG", g, STRENGTHS[conv.strength], "| Q",
              [x if isinstance(x, str) else "<pic>" for x in conv.turns[-1].user], "| T", t[-160:],
              "| A", ans[:160], "| WANT", conv.turns[-1].check)
    if a.half:
        m = convert.prepare(
            torch.load(f"{a.work}/target.full.pt", map_location="cpu")["master"] if os.path.
            exists(f"{a.work}/target.full.pt") else checkpoint.load_small(f"{a.work}/target"))
        wh = {n: t.to(dev).bfloat16().float() for n, t in m.items()}
        gh = generate(wh, c, enc, tok.eog, dev, max_new=600)
        same = sum(split_reply(tok, x)[1] == split_reply(tok, y)[1] for x, y in zip(got, gh))
        print(f"answers equal to the 16-bit ones: {same} of {len(got)} = "
              f"{100 * same / len(got):.1f} %")
        res["same"] = [same, len(got)]
    if a.drafts:
        for temp in (0.0, 1.0):
            sel = [e for e, (g, cv) in zip(enc, items) if cv.strength == 2]
            outs, rounds, n = dflash(w, d, c, sel, tok.eog, dev, max_new=600, temperature=temp)
            print(f"temperature {temp}: tau {sum(n) / max(1, sum(rounds)):.2f} over {len(sel)} "
                  f"items, {sum(n)} tokens")
            res[f"tau{temp:.0f}"] = sum(n) / max(1, sum(rounds))
            by = {}
            for (g, _), r, k in zip([x for x in items if x[1].strength == 2], rounds, n):
                by.setdefault(g, [0, 0])
                by[g][0] += k
                by[g][1] += r
            print("   " + ", ".join(f"{g} {k / max(1, r):.1f}" for g, (k, r) in by.items()))
            if not temp:
                plain = [got[i] for i, (g, cv) in enumerate(items) if cv.strength == 2]
                print(f"   equal to plain greedy: {sum(x == y for x, y in zip(outs, plain))} of "
                      f"{len(plain)}")
    if a.json:
        json.dump(res, open(a.json, "w"))


if __name__ == "__main__":
    main()
