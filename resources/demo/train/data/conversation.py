"""Whole conversations: system text, thinking strength, one to five turns."""
import datetime

from . import help, lists, numbers, pictures, talk
from .words import plain, spell

STRENGTHS = ["low", "medium", "high", "xhigh"]
DEFAULT = "You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04.\nCurrent date: {d}."
# what a single question is about, and how often
MIX = [("help", 24), ("numbers", 17), ("lists", 34), ("pictures", 46), ("two", 4.5), ("talk", 4),
       ("outside", 4), ("foreign", .9), ("empty", .6), ("markers", .8), ("long", .25),
       ("remember", 1.8), ("style", 5), ("today", .8)]


class Conversation:

    def __init__(self, system, strength, turns):
        self.system, self.strength, self.turns = system, strength, turns

    def system_text(self):
        return (f"{self.system}\n\nReasoning strength: {STRENGTHS[self.strength]}.\n\n# Valid "
                f"recipients: \"self\", \"user\".")


def weighted(rng, tasks):
    return rng.choices([t for t, _ in tasks], [w for _, w in tasks])[0]


def any_topic(rng, split):
    """training has more lists, for copying words is what fails most; the evaluation keeps the
    shares that it was drawn with"""
    more = 1.35 if split == "train" else 1
    return weighted(rng, [(t, w * more if t == "lists" else w) for t, w in MIX])


def random_date(rng):
    return (datetime.date(2026, 8, 1) + datetime.timedelta(days=rng.randrange(1500))).isoformat()


def single(rng, split, s, topic, date):
    if topic == "help":
        return help.ask(rng, split, s)
    if topic == "numbers":
        return weighted(rng, numbers.TASKS)(rng, split, s)
    if topic == "lists":
        return weighted(rng, lists.TASKS)(rng, split, s)
    if topic == "pictures":
        return pictures.one(rng, split, s)
    if topic == "two":
        return pictures.two(rng, split, s)
    if topic == "today":
        return numbers.today(rng, split, s, date)
    return {
        "talk": talk.small_talk, "outside": talk.outside, "foreign": talk.foreign,
        "empty": talk.empty, "markers": talk.markers, "long": talk.long_text,
        "remember": talk.remember
    }[topic](rng, split, s)


def styled(rng, split, s):
    """a system text that changes the form of the answer"""
    w, change, check = rng.choice(talk.STYLES)
    system = talk.frame(rng, w, split, False)
    if rng.random() < .3:
        system = rng.choice(["You are a helpful assistant. ", "You are Glint. ", "Be brief. "
                             ]) + system

    def turn():
        while True:
            t = single(rng, split, s, rng.choice(["numbers", "lists", "talk", "help"]), None)
            t.answer = t.answer.replace(spell(" "), " ")  # changed, it has other tokens anyway
            if "\n" not in t.answer and "\"" not in t.answer and "\x02" not in t.answer and len(
                    t.answer) < 90 and "°" not in t.answer:
                break
        plain_answer = plain(t.answer)
        t.answer, t.check, t.kind, t.then = change(
            t.answer), {"exact": check(plain_answer)}, "style", []
        return t

    return system, turn


def conversation(rng, split="train", topic=None, strength=None, turns=None):
    s = strength if strength is not None else rng.choices(range(4), [24, 22, 32, 22])[0]
    date = random_date(rng)
    n = turns or rng.choices([1, 2, 3, 4, 5], [40, 30, 15, 10, 5])[0]
    topic = topic or any_topic(rng, split)
    system = DEFAULT.format(d=date)
    if topic == "style":
        system, make = styled(rng, split, s)
        return Conversation(system, s, [make() for _ in range(min(n, 3))])
    if topic != "today" and rng.random() < .2:
        system = rng.choice(talk.PLAIN_SYSTEM) if rng.random() < .7 else DEFAULT.format(
            d=date).rsplit("\n", 1)[0]
        date = None
    out = [single(rng, split, s, topic, date)]
    waiting = list(out[0].then)
    while len(out) < n:
        t = None
        if waiting and rng.random() < .7:
            f = waiting.pop(0)
            t = f(rng, split, s)
            if t:
                waiting = list(t.then) + waiting[:2]
        if t is None:
            other = any_topic(rng, split)
            if other in ("style", "long") or other == "today" and not date:
                other = "help"
            t = single(rng, split, s, other, date)
            # a new subject ends the follow-ups that mean "the last result"; the memory questions
            # may come later
            waiting = list(t.then) + ([f for f in waiting if f.__name__ == "recall"])
        out.append(t)
    return Conversation(system, s, out)
