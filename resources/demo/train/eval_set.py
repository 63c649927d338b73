"""The evaluation set: drawn from the held-out half of everything.

    python3 eval_set.py --out resources/demo            # writes eval.json and eval/*.png
"""
import argparse
import json
import os
import random
import re

from data import conversation as C
from data import talk
from data.words import EVALUATION, plain

# group -> topic, kinds that count, share
PLAN = [("help", "help", ("help", ), 60),
        ("arithmetic", "numbers", ("arithmetic", "units", "dates"), 50),
        ("lists", "lists", ("lists", "letters", "extraction"), 44),
        ("forms", "lists", ("forms", ), 12), ("text", "pictures", ("text", ), 40),
        ("shapes", "pictures", ("shapes", ), 30), ("windows", "pictures", ("windows", ), 20),
        ("charts", "pictures", ("charts", ), 16), ("tables", "pictures", ("tables", ), 16),
        ("two pictures", "two", ("two pictures", ), 8), ("follow-ups", None, ("follow-up", ), 40),
        ("style", "style", ("style", ), 8), ("talk", "talk", ("talk", ), 6),
        ("limits", "outside", ("limits", ), 6), ("robust", None, ("robust", ), 8)]


def make(seed, times=1.0, wording="new"):
    """-> list of (group, conversation); the last turn is the question that is judged. Strengths
    take turns."""
    EVALUATION["wording"] = wording
    rng, out = random.Random(f"eval/{seed}"), []
    for group, topic, kinds, n in PLAN:
        for i in range(max(1, round(n * times))):
            s = i % 4 if i % 5 else 2  # a bit more of "high", the usual strength
            while True:
                if group == "follow-ups":
                    c = C.conversation(
                        rng, "test",
                        rng.choice(["numbers", "lists", "pictures", "pictures", "two", "remember"]),
                        s, rng.choice([2, 2, 3]))
                else:
                    c = C.conversation(rng, "test", topic or
                                       rng.choice(["foreign", "empty", "markers", "long"]), s, 1)
                if c.turns[-1].kind in kinds:
                    break
            out.append((group, c))
    return out


def messages(conv, picture):
    """the conversation as messages; `picture` stores a picture and returns its name"""
    out = [dict(role="system", content=conv.system)]
    for i, t in enumerate(conv.turns):
        out.append(
            dict(role="user",
                 content=[
                     dict(type="text", text=p) if isinstance(p, str) else dict(type="image",
                                                                               path=picture(p))
                     for p in t.user
                 ]))
        if i < len(conv.turns) - 1:
            a = dict(role="assistant", content=plain(t.answer))
            if t.think:
                a["reasoning_content"] = plain(t.think)
            out.append(a)
    return out


def right(check, answer):
    answer = answer.strip()
    if "exact" in check:
        return answer == check["exact"].strip()
    return all(re.sub(r"\s+", " ", w).lower() in answer.lower() for w in check["contains"])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", required=True)
    ap.add_argument("--seed", default="fixed", help="another set of the same kinds")
    a = ap.parse_args()
    os.makedirs(f"{a.out}/eval", exist_ok=True)
    items = []
    dressed = "dressed" if a.seed == "fixed" else a.seed + " dressed"
    for n, (wording, group,
            c) in enumerate([("new", *x)
                             for x in make(a.seed)] + [("dressed", *x)
                                                       for x in make(dressed, 0.6, "dressed")]):
        names = []

        def picture(p):
            names.append(f"eval/{n:03d}{'abcdefgh'[len(names)]}.png")
            p.image.save(f"{a.out}/{names[-1]}", optimize=True)
            return names[-1]

        t = c.turns[-1]
        items.append(
            dict(id=n,
                 wording=wording,
                 group=group,
                 kind=t.kind,
                 strength=C.STRENGTHS[c.strength],
                 messages=messages(c, picture),
                 expect=t.check,
                 reference=plain(t.answer)))
    # one item a line: a diff of the file stays readable
    with open(f"{a.out}/eval.json", "w", encoding="utf-8") as f:
        f.write('{"about": "see train/README.md, section Evaluation", "sampling": "greedy", '
                '"max_tokens": 600, "items": [\n' +
                ",\n".join(json.dumps(i, ensure_ascii=False) for i in items) + "\n]}\n")
    print(len(items), "items")


if __name__ == "__main__":
    main()
