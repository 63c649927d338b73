"""Fails if training asks what the evaluation asks.

    python3 check_wordings.py [--draws 20000]

1. No wording of a list, written out or drawn, equals one that the list keeps for the evaluation,
   but for marks and case; and what wordings.txt, patterns.txt, questions.txt and the random
   variations add stays more than one word away from them.
2. No question of eval.json comes out of the training generator, and what stands around a
   "dressed" question never does.
"""
import argparse
import json
import os
import random
import sys

import data.help
import data.lists
import data.numbers
import data.pictures
import data.talk
from data import conversation, words
from data.words import Near
from oracle import G

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = (data.help, data.lists, data.numbers, data.pictures, data.talk)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--draws", type=int, default=20000)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    rng, faults, lists = random.Random(a.seed), [], {}
    take = words.frame

    def noted(rng, frames, split, free=True):
        lists.setdefault((frames[0], len(frames), frames[-1]), (list(frames), free))
        return take(rng, frames, split, free)

    for m in MODULES:
        m.frame = noted
    # training puts words together from the pieces of the vocabulary
    target = G.Reader(os.path.join(HERE, os.pardir, "demo-target.gguf"))
    words.learn_pieces(target.kv["tokenizer.ggml.tokens"])
    path = os.path.join(HERE, os.pardir, "eval.json")
    asked = {}
    for item in json.load(open(path, encoding="utf-8"))["items"]:
        body = item["messages"][-1]["content"]
        text = body if isinstance(body, str) else " ".join(p["text"] for p in body if "text" in p)
        asked.setdefault(Near.words(text), (item["wording"], text))
    around = [t.strip() for t in words._DRESS_BEFORE + words._DRESS_AFTER]
    turns = 0
    for _ in range(a.draws):
        for turn in conversation.conversation(rng, "train").turns:
            turns += 1
            text = " ".join(p for p in turn.user if isinstance(p, str))
            hit = asked.get(Near.words(text))
            if hit and Near.words(text):
                faults.append(f"a training question is one of eval.json ({hit[0]}): {text}")
            faults += [
                f"words of the evaluation stand around a training question: {text}" for t in around
                if t in text
            ]
    drawn = 0
    for frames, free in lists.values():
        cut = words.held_out(frames)
        near = Near(frames[cut:])
        faults += [
            f"'{t}' is kept for the evaluation" for t in frames[:cut]
            if Near.words(t) in near.full and Near.words(t)
        ]
        for t in words.more_wordings().get(frames[0], []):
            for _ in range(min(300, 3 * words.variants(t))):
                drawn += 1
                if Near.words(words.expand(rng, t)) in near.full and words.variants(t) == 1:
                    faults.append(f"'{t}' is kept for the evaluation")
                    break
        ok, _, _ = words.usable(frames)
        for _ in range(2000):
            drawn += 1
            t = words.expand(rng, rng.choice(ok))
            if near.same(t) and t not in frames[:cut]:
                continue  # frame() draws again
            v = words.vary(rng, t, near) if free else t
            if Near.words(v) in near.full and Near.words(v):
                faults.append(f"'{v}' is kept for the evaluation")
    questions = 0
    for head, _, _, ask, more in data.help.topics():
        for kind in ask.keys() | more.keys():
            known, near = data.help.naming(ask.get(kind, []))
            faults += [
                f"{head}: '{t}' is kept for the evaluation" for t in known
                if Near.words(t) in near.full
            ]
        for _ in range(400):
            questions += 1
            q = data.help.train_question(rng, ask, more)
            if Near.words(q) in asked and asked[Near.words(q)][0] == "new":
                faults.append(f"{head}: a training question is one of eval.json: {q}")
    unused = set(words.more_wordings()) - {f[0] for f, _ in lists.values()}
    faults += [f"wordings for a list that there is not: '{u}'" for u in sorted(unused)]
    for f in sorted(set(faults)):
        print(f)
    print(f"{len(asked)} evaluation questions, {turns} training turns, {len(lists)} lists with "
          f"{drawn} wordings, {questions} questions about Glint: "
          f"{len(set(faults))} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
