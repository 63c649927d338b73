"""Arithmetic, units and dates, with the thinking written out so that a small model can learn it:
digit by digit, the last digit first, one token for each digit.

Strength s: 0 low, 1 medium, 2 high, 3 xhigh.
"""
import datetime

from .words import FIRST, MONTH_DAYS, MONTHS, THING, Turn, WEEKDAYS, frame, held, plural


# ----------------------------------------------------------------------- one operation, written out
def add_steps(a, b):
    out, carry = [], 0
    while True:
        x, y = a % 10, b % 10
        t = x + y + carry
        out.append(f"{x}+{y}" + (f"+{carry}" if carry else "") + f"={t}")
        carry, a, b = t // 10, a // 10, b // 10
        if not a and not b:
            return "; ".join(out)


def sub_steps(a, b):
    """a >= b; a borrowed ten is written as such"""
    out, borrow = [], 0
    while True:
        x, y = a % 10, b % 10
        need = x - y - borrow < 0
        t = x - y - borrow + (10 if need else 0)
        out.append(f"{x + (10 if need else 0)}-{y}" + (f"-{borrow}" if borrow else "") + f"={t}")
        borrow, a, b = int(need), a // 10, b // 10
        if not a and not b:
            return "; ".join(out)


def mul_steps(a, d):
    out, carry = [], 0
    while True:
        x = a % 10
        t = x * d + carry
        out.append(f"{x}×{d}" + (f"+{carry}" if carry else "") + f"={t}")
        carry, a = t // 10, a // 10
        if not a:
            return "; ".join(out)


def div_steps(a, d):
    """long division from the first digit on: what is brought down, its quotient digit and its
    rest"""
    out, rest = [], 0
    for ch in str(a):
        cur = rest * 10 + int(ch)
        rest = cur % d
        out.append(f"{cur}÷{d}={cur // d} rest {rest}")
    return "; ".join(out)


OPS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "×": lambda a, b: a * b,
    "÷": lambda a, b: a // b
}


def work(a, op, b, s):
    """the thinking for one operation, ending in "a op b = c" """
    c = OPS[op](a, b)
    eq = f"{a} {op} {b} = {c}"
    if op == "+":
        return eq if s < 2 else f"{a} {op} {b}: {add_steps(a, b)}; so {eq}"
    if op == "-":
        if a < b:
            return (f"{b} - {a} = {b - a}; so {eq}" if s < 2 else f"{b} is larger: "
                    f"{sub_steps(b, a)}; so {eq}")
        return eq if s < 2 else f"{a} {op} {b}: {sub_steps(a, b)}; so {eq}"
    if op == "×":
        big, d = (a, b) if a >= b else (b, a)
        if d < 10:
            if big < 100 and s < 2:
                return eq
            return f"{big} × {d}: {mul_steps(big, d)}; so {eq}"
        t, u = d // 10 * 10, d % 10
        p = big * (d // 10)
        if s < 2:
            m = f"{big} × {d // 10} = {p}"
        else:
            m = f"{big} × {d // 10}: {mul_steps(big, d // 10)}; so {p}"
        if not u:
            return f"{m}; so {eq}"
        if s < 2:
            return f"{m}; {big} × {u} = {big * u}; {p}0 + {big * u} = {c}; so {eq}"
        return (f"{m}, times ten {p}0; {big} × {u}: {mul_steps(big, u)}; so {big * u}; "
                f"{p}0 + {big * u}: {add_steps(p * 10, big * u)}; so {eq}")
    if a < 100 and c < 13 and s < 2:
        return eq
    return f"{a} ÷ {b}: {div_steps(a, b)}; so {eq}"


INVERSE = {"+": "-", "-": "+", "÷": "×"}


def check_line(a, op, b, s):
    """what xhigh adds: the opposite operation"""
    c = OPS[op](a, b)
    if op in INVERSE and c >= 0:
        return f"\nCheck: {work(c, INVERSE[op], b, 2)}. Correct."
    return f"\nCheck: {work(a, op, b, 1)}. Correct."


def chain_think(steps, s, intro):
    """steps: list of (a, op, b)"""
    if s == 0:
        return "; ".join(work(*x, 0) for x in steps)
    if s == 1:
        return intro + " " + "; ".join(work(*x, 1) for x in steps) + "."
    t = intro + "".join(f"\nStep {i + 1}: {work(*x, 2)}." for i, x in enumerate(steps))
    if s == 3:
        t += check_line(*steps[-1], 3)
    return t


# ------------------------------------------------------------------------------- the questions
WORDING = {
    "+": [
        "{a} + {b}", "What is {a} + {b}?", "{a}+{b}=?", "Calculate {a} + {b}.",
        "What is {a} plus {b}?", "Add {a} and {b}.", "How much is {a} plus {b}?",
        "Please add {a} and {b}.", "{a} plus {b}", "Compute {a} + {b}", "Can you add {a} and {b}?",
        "what's {a}+{b}", "Work out {a} + {b}.", "sum of {a} and {b}",
        "What is the sum of {a} and {b}?", "Please tell me {a} plus {b}.",
        "How much do {a} and {b} make?", "I need the sum of {a} and {b}.", "{a} + {b} please"
    ], "-": [
        "{a} - {b}", "What is {a} - {b}?", "{a}-{b}=?", "Calculate {a} - {b}.",
        "What is {a} minus {b}?", "Subtract {b} from {a}.", "How much is {a} minus {b}?",
        "Please subtract {b} from {a}.", "{a} minus {b}", "Compute {a} - {b}",
        "Can you take {b} away from {a}?", "what's {a}-{b}", "Work out {a} - {b}.",
        "What is the difference between {a} and {b}?", "Please tell me {a} minus {b}.",
        "How much is left of {a} after taking away {b}?", "{a} - {b} please"
    ], "×": [
        "{a} × {b}", "What is {a} × {b}?", "{a}*{b}=?", "Calculate {a} * {b}.",
        "What is {a} times {b}?", "Multiply {a} by {b}.", "How much is {a} times {b}?",
        "Please multiply {a} and {b}.", "{a} times {b}", "Compute {a} x {b}", "{a} * {b}",
        "Can you multiply {a} by {b}?", "what's {a}x{b}", "Work out {a} × {b}.",
        "What is the product of {a} and {b}?", "Please tell me {a} times {b}.",
        "I need the product of {a} and {b}.", "{a} × {b} please"
    ], "÷": [
        "{a} ÷ {b}", "What is {a} ÷ {b}?", "{a}/{b}=?", "Calculate {a} / {b}.",
        "What is {a} divided by {b}?", "Divide {a} by {b}.", "How much is {a} divided by {b}?",
        "Please divide {a} by {b}.", "{a} divided by {b}", "Compute {a} / {b}", "{a} / {b}",
        "Can you divide {a} by {b}?", "what's {a}/{b}", "Work out {a} ÷ {b}.",
        "Please tell me {a} divided by {b}.", "Split {a} into {b} equal parts.", "{a} ÷ {b} please"
    ],
}
NAME = {"+": "an addition", "-": "a subtraction", "×": "a multiplication", "÷": "a division"}


def operands(rng, op):
    d = lambda n: rng.randint(10**(n - 1) if n > 1 else 0, 10**n - 1)
    if op in "+-":
        n = rng.choice([1, 2, 2, 3, 3, 3, 4])
        m = rng.choice([max(1, n - 1), n, n])
        a, b = d(n), d(m)
        if rng.random() < .06:
            a = rng.choice([1, 1, 2, 5]) * 10**rng.randint(2, 4)
        if op == "-" and a < b and rng.random() < 0.85:
            a, b = b, a
        return a, b
    if op == "×":
        r = rng.random()
        a, b = (d(1), d(1)) if r < .2 else (d(2), rng.randint(2, 9)) if r < .45 else (
            d(3), rng.randint(2, 9)) if r < .6 else (d(2), d(2)) if r < .85 else (
                d(3), d(2)) if r < .95 else (d(4), rng.randint(2, 9))
        return (a, b) if rng.random() < .8 else (b, a)
    b = rng.randint(2, 12)
    q = d(rng.choice([1, 2, 2, 3]))
    return q * b, b


def numbers_for(rng, split, op):
    while True:
        a, b = operands(rng, op)
        # tiny sums and table products cannot be held out: they are the alphabet of the rest
        if a < 20 and b < 20 and op != "÷" or op == "÷" and a < 50:
            if split != "test":
                return a, b
            continue
        if held("calc", op, a, b) == (split == "test"):
            return a, b


def on_result(value):
    """follow-ups that go on with the last result"""

    def make(rng, split, s):
        op = rng.choice("++--×")
        k = rng.randint(2, 9) if op == "×" else rng.randint(2, 60)
        if op == "-" and k > value >= 0:
            op = "+"
        if value < 0 and op in "×+-":
            return None
        words = {
            "+": [
                "Now add {k}.", "Add {k} to that.", "Plus {k}?", "And {k} more?",
                "Add another {k}, please.", "And now add {k}."
            ], "-": [
                "Now subtract {k}.", "Subtract {k} from that.", "Minus {k}?", "Take {k} away.",
                "And {k} less?", "And now take away {k}."
            ], "×": [
                "Multiply that by {k}.", "Now times {k}.", "Times {k}?",
                "Now multiply the result by {k}.", "And that times {k}?"
            ]
        }[op]
        if op == "×" and k == 2 and rng.random() < .7:
            words = [
                "Double it.", "Double that.", "Now double the result.", "And twice that?",
                "Now twice as much."
            ]
        c = OPS[op](value, k)
        intro = f"The last result was {value}."
        return Turn(
            frame(rng, words, split).format(k=k),
            f"{value} {op} {k} = {c}",
            "" if s == 0 and not (op == "×" and value > 99) else chain_think([(value, op,
                                                                               k)], s, intro),
            kind="follow-up",
            then=[on_result(c)])

    return make


def calculate(rng, split, s):
    op = rng.choice("++--××÷")
    a, b = numbers_for(rng, split, op)
    if op == "÷" and split == "train" and rng.random() < .04:
        return Turn(frame(rng, WORDING[op], split).format(a=a, b=0),
                    "No number can be divided by zero.",
                    "" if s == 0 else "This is a division by zero.",
                    kind="arithmetic")
    c = OPS[op](a, b)
    easy = a < 11 and b < 11
    q = frame(rng, WORDING[op], split).format(a=a, b=b)
    hard = op == "×" and (max(a, b) > 99 or min(a, b) > 9) or op == "÷" and (a > 99 or c > 12)
    if s == 0:
        think = work(a, op, b, 0) if hard else ""
    elif easy:
        think = "" if s < 3 else f"This is easy: {a} {op} {b} = {c}."
    else:
        think = chain_think([(a, op, b)], s, f"This is {NAME[op]}.")
    return Turn(q, f"{a} {op} {b} = {c}", think, kind="arithmetic", then=[on_result(c)])


def divide_rest(rng, split, s):
    while True:
        b = rng.randint(2, 12)
        a = rng.randint(b + 1, 900)
        if a % b and held("rest", a, b) == (split == "test"):
            break
    # training also asks as if nothing remained
    plainly = split == "train" and rng.random() < .4
    q = frame(rng, WORDING["÷"] if plainly else [
        "What is the remainder of {a} divided by {b}?", "{a} divided by {b} with remainder",
        "Divide {a} by {b} and give the remainder.", "What is {a} mod {b}?",
        "{a} / {b}, what remains?", "How much remains when {a} is divided by {b}?"
    ], split).format(a=a, b=b)
    t = f"{a} ÷ {b}: {div_steps(a, b)}"
    think = (
        t if s == 0 else "This is a division with a rest. " + t + "." if s < 3 else
        f"This is a division with a rest. {t}.\nCheck: {work(a // b, '×', b, 1)}; {a // b * b} + "
        f"{a % b} = {a}. Correct.")
    if s == 2:
        think += f" The quotient is {a // b} and the rest is {a % b}."
    return Turn(q, f"{a} ÷ {b} = {a // b} remainder {a % b}", think, kind="arithmetic")


def chain(rng, split, s):
    """two operations with the usual order, or with brackets"""
    while True:
        form = rng.randrange(6)
        a, b, c = rng.randint(2, 99), rng.randint(2, 40), rng.randint(2, 9)
        if form == 0:
            text, st = f"{a} + {b} × {c}", [(b, "×", c), (a, "+", b * c)]
        elif form == 1:
            text, st = f"({a} + {b}) × {c}", [(a, "+", b), (a + b, "×", c)]
        elif form == 2:
            a += b * c
            text, st = f"{a} - {b} × {c}", [(b, "×", c), (a, "-", b * c)]
        elif form == 3:
            c = rng.randint(2, 99)
            text, st = f"{a} + {b} + {c}", [(a, "+", b), (a + b, "+", c)]
        elif form == 4:
            a, c = a + b, rng.randint(2, 99)
            text, st = f"{a} - {b} + {c}", [(a, "-", b), (a - b, "+", c)]
        else:
            a = b + rng.randint(1, 60)
            text, st = f"({a} - {b}) × {c}", [(a, "-", b), (a - b, "×", c)]
        if held("chain", text) == (split == "test"):
            break
    r = OPS[st[-1][1]](st[-1][0], st[-1][2])
    shown = rng.choice([text, text.replace("×", "*"), text.replace("×", "x")])
    if split == "train" and rng.random() < .25:
        shown = shown.replace(" ", "")
    q = frame(rng, [
        "{t}", "What is {t}?", "Calculate {t}.", "{t} = ?", "Compute {t}", "How much is {t}?",
        "Please work out {t}.", "Solve {t}.", "Please calculate {t} for me.",
        "I need the value of {t}."
    ], split).format(t=shown)
    intro = ("First the brackets." if "(" in text else
             "Multiplication comes first." if "×" in text else "From left to right.")
    return Turn(q,
                f"{text} = {r}",
                chain_think(st, s, intro),
                kind="arithmetic",
                then=[on_result(r)])


def percent(rng, split, s):
    while True:
        p, base = rng.choice([5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80,
                              90]), rng.randint(1, 60) * 20
        if held("pct", p, base) == (split == "test"):
            break
    r = p * base // 100
    q = frame(rng, [
        "What is {p}% of {b}?", "{p} % of {b}", "How much is {p} percent of {b}?",
        "Calculate {p}% of {b}.", "{p} percent of {b}?", "Please work out {p}% of {b}.",
        "I need {p}% of {b}."
    ], split).format(p=p, b=base)
    st = [(base, "÷", 10)] if p == 10 else [(base, "÷", 2)] if p == 50 else None
    if st is None:
        # one per cent may not be whole, a twentieth always is: the base is a multiple of 20
        st = [(base, "÷", 20)] if p == 5 else [(base, "÷", 20), (base // 20, "×", p // 5)]
    t = chain_think([st[0]] if len(st) == 1 else st, s, f"{p}% is {p // 5} times a twentieth."
                    if len(st) == 2 else f"{p}% is one part of {100 // p}.")
    return Turn(q, f"{p}% of {base} = {r}", t, kind="arithmetic", then=[on_result(r)])


STORIES = [
    ("{N} has {a} {t} and buys {b} bags with {c} {t} each. How many {t} does {N} have now?",
     lambda a, b, c, d: [(b, "×", c), (a, "+", b * c)], "{N} has {r} {t}."),
    ("{N} has {a} {t}. {M} gives {N} {b} more, and then {N} loses {c}. How many {t} are left?",
     lambda a, b, c, d: [(a, "+", b), (a + b, "-", c)], "{r} {t} are left."),
    ("A box holds {b} {t}. How many {t} are in {c} boxes?", lambda a, b, c, d: [(b, "×", c)],
     "There are {r} {t}."),
    ("One {u} costs {c} euros. How much do {b} {t} cost?", lambda a, b, c, d: [(b, "×", c)],
     "They cost {r} euros."),
    ("{N} buys {b} {t} for {c} euros each and pays with {big} euros. How much money does {N} get "
     "back?", lambda a, b, c, d: [(b, "×", c),
                               ((b * c // 100 + 1) * 100, "-", b * c)], "{N} gets {r} euros back."),
    ("{N} reads {b} pages a day. How many pages does {N} read in {c} days?",
     lambda a, b, c, d: [(b, "×", c)], "{N} reads {r} pages."),
    ("There are {a} {t} on the table. {N} takes {c} and {M} puts {b} there. How many {t} are on "
     "the table?", lambda a, b, c, d: [(a, "-", c), (a - c, "+", b)], "There are {r} {t}."),
    ("{N} shares {prod} {t} equally among {c} friends. How many {t} does each friend get?",
     lambda a, b, c, d: [(b * c, "÷", c)], "Each friend gets {r} {t}."),
    ("{N} is {a} years old. {M} is {c} years older. How old is {M}?", lambda a, b, c, d: [(a, "+", c)],
     "{M} is {r} years old."),
    ("A train has {c} cars with {b} seats each. {a} seats are taken. How many seats are free?",
     lambda a, b, c, d: [(b, "×", c), (b * c, "-", a)], "{r} seats are free."),
    ("{N} has {a} {t} and {M} has {b} {t}. How many {t} do they have together?",
     lambda a, b, c, d: [(a, "+", b)], "Together they have {r} {t}."),
]
# For training only: further ways in which people tell them. d: 200 to 999.
MORE_STORIES = [
    ("{N} had {d} {t} and gave away {a}. How many are left?", lambda a, b, c, d: [(d, "-", a)],
     "{r} {t} are left."),
    ("{N} has {c} red {t} and {b} blue {t}. How many {t} is that?", lambda a, b, c, d:
     [(c, "+", b)], "That is {r} {t}."),
    ("{N} found {a} {t} in the morning and {b} in the evening. How many in all?", lambda a, b, c, d:
     [(a, "+", b)], "{N} found {r} {t}."),
    ("A shop had {d} {t} and sold {a} of them. How many {t} remain?", lambda a, b, c, d:
     [(d, "-", a)], "{r} {t} remain."),
    ("There were {d} people in the hall. {a} went home and {b} came. How many are there now?",
     lambda a, b, c, d: [(d, "-", a), (d - a, "+", b)], "There are {r} people."),
    ("{N} puts {c} euros aside every week. How much is that after {b} weeks?", lambda a, b, c, d:
     [(b, "×", c)], "That is {r} euros."),
    ("{c} {t} cost {prod} euros together. What is the price of one {u}?", lambda a, b, c, d:
     [(b * c, "÷", c)], "One {u} costs {r} euros."),
    ("{N} packs {prod} {t} in boxes of {c}. How many boxes are needed?", lambda a, b, c, d:
     [(b * c, "÷", c)], "{r} boxes are needed."),
    ("A book has {d} pages, and {N} has read {a} of them. How many pages are left?",
     lambda a, b, c, d: [(d, "-", a)], "{r} pages are left."),
    ("{N} is {a} years old, and {M} is {c} years younger. How old is {M}?", lambda a, b, c, d:
     [(a, "-", c)], "{M} is {r} years old."),
    ("{N} wants {a} {t} and has only {c}. How many are missing?", lambda a, b, c, d:
     [(a, "-", c)], "{r} {t} are missing."),
    ("{N} paid {a} euros for one {u} and {b} euros for another. How much was that?",
     lambda a, b, c, d: [(a, "+", b)], "That was {r} euros."),
    ("A bus drives {a} km in an hour. How far does it drive in {c} hours?", lambda a, b, c, d:
     [(a, "×", c)], "It drives {r} km."),
    ("{N} took {c} of {d} {t}, and {M} took {a}. How many are left?", lambda a, b, c, d:
     [(d, "-", c), (d - c, "-", a)], "{r} {t} are left."),
]
_TWIST = [
    "{q}", "{q}", "{q}", "Please solve this: {q}", "Here is a small problem. {q}",
    "A question: {q}", "Can you work this out? {q}"
]


def story(rng, split, s):
    while True:
        more = split == "train" and rng.random() < .5
        text, steps, ans = rng.choice(MORE_STORIES if more else STORIES)
        a, b, c = rng.randint(10, 99), rng.randint(2, 40), rng.randint(2, 9)
        d = rng.randint(200, 999) if more else 0
        st = steps(a, b, c, d)
        r = OPS[st[-1][1]](st[-1][0], st[-1][2])
        if text.startswith("A train") and b * c < a or more and r < 2:
            continue
        if held("story", text[:12], a, b, c) == (split == "test"):
            break
    t = THING.pick(rng, split)
    N, M = FIRST.sample(rng, split, 2)
    f = dict(N=N,
             M=M,
             a=a,
             b=b,
             c=c,
             d=d,
             t=plural(t),
             u=t,
             r=r,
             big=(b * c // 100 + 1) * 100,
             prod=b * c)
    q = frame(rng, _TWIST, split).format(q=text.format(**f))
    think = chain_think(st, s, "I write down what is known." if s > 1 else "Step by step.")
    return Turn(q, ans.format(**f), think, kind="arithmetic")


def compare(rng, split, s):
    while True:
        n = rng.choice([2, 3, 3, 4])
        a, b = rng.randint(10**(n - 1), 10**n - 1), rng.randint(10**(n - 1), 10**n - 1)
        if a != b and held("cmp", a, b) == (split == "test"):
            break
    big = rng.random() < .5
    q = frame(rng, [
        "Which is {w}, {a} or {b}?", "Which number is {w}: {a} or {b}?",
        "{a} or {b}, which is {w}?", "What is {w}, {a} or {b}?",
        "Tell me which one is {w}: {a} or {b}."
    ], split).format(w="larger" if big else "smaller", a=a, b=b)
    r = max(a, b) if big else min(a, b)
    i = next(i for i in range(n) if str(a)[i] != str(b)[i])
    think = (
        "" if s == 0 else f"Compare {a} and {b}." if s == 1 else
        f"Compare {a} and {b} from the left. Digit {i + 1} differs: {str(a)[i]} and {str(b)[i]}." +
        (f" Check: {max(a, b)} > {min(a, b)}." if s == 3 else ""))
    return Turn(q, f"{r} is {'larger' if big else 'smaller'}.", think, kind="arithmetic")


# ------------------------------------------------------------------------------- units
UNITS = [  # from, to, factor
    ("kilometres", "metres", 1000), ("metres", "centimetres", 100),
    ("centimetres", "millimetres", 10), ("kilograms", "grams", 1000), ("tonnes", "kilograms", 1000),
    ("litres", "millilitres", 1000), ("hours", "minutes", 60), ("minutes", "seconds", 60),
    ("days", "hours", 24), ("weeks", "days", 7), ("years", "months", 12), ("feet", "inches", 12),
    ("yards", "feet", 3), ("dozens", "pieces", 12), ("megabytes", "kilobytes", 1000),
    ("gigabytes", "megabytes", 1000), ("metres", "millimetres", 1000), ("euros", "cents", 100)
]
SHORT = {
    "kilometres": "km", "metres": "m", "centimetres": "cm", "millimetres": "mm", "kilograms": "kg",
    "grams": "g", "litres": "l", "millilitres": "ml", "megabytes": "MB", "kilobytes": "kB",
    "gigabytes": "GB"
}


def units(rng, split, s):
    if rng.random() < .12:
        return celsius(rng, split, s)
    while True:
        u, v, k = rng.choice(UNITS)
        n = rng.randint(2, 60)
        if held("unit", u, v, n) == (split == "test"):
            break
    back = rng.random() < .35
    n0, u0, v0 = (n * k, v, u) if back else (n, u, v)
    r = n if back else n * k
    a, b = (SHORT.get(u0, u0), SHORT.get(v0, v0)) if rng.random() < .3 else (u0, v0)
    q = frame(rng, [
        "Convert {n} {a} to {b}.", "How many {b} are {n} {a}?", "{n} {a} in {b}",
        "What is {n} {a} in {b}?", "How many {b} are in {n} {a}?", "Change {n} {a} into {b}.",
        "Please convert {n} {a} into {b}.", "Give me {n} {a} in {b}.",
        "I have {n} {a}. How many {b} is that?"
    ], split).format(n=n0, a=a, b=b)
    one = {"feet": "foot", "dozens": "dozen", "inches": "inch"}.get(u, u[:-1])
    fact = f"1 {one} is {k} {v}"
    if k in (10, 100, 1000):
        calc = f"{n0} {'÷' if back else '×'} {k} = {r}"
        t = [
            calc, f"{fact}. {calc}.",
            f"{fact}, so I {'divide by' if back else 'multiply by'} {k}. That "
            f"{'removes' if back else 'adds'} {len(str(k)) - 1} zero{'s' if k > 10 else ''}: "
            f"{calc}."
        ]
        think = t[min(
            s, 2)] + (f"\nCheck: {r} {'×' if back else '÷'} {k} = {n0}. Correct." if s == 3 else "")
    else:
        think = chain_think([(n0, "÷" if back else "×", k)], s, fact + ".")
    return Turn(q, f"{n0} {u0} = {r} {v0}", think, kind="units")


def celsius(rng, split, s):
    while True:
        c = rng.randint(0, 40) * 5
        if (c // 5 % 8 == 3) == (split == "test"):
            break
    q = frame(rng, [
        "Convert {c} °C to °F.", "What is {c} degrees Celsius in Fahrenheit?",
        "{c} °C in Fahrenheit", "How warm is {c} Celsius in Fahrenheit?",
        "Please give me {c} degrees Celsius in Fahrenheit."
    ], split).format(c=c)
    st = [(c, "÷", 5), (c // 5, "×", 9), (c // 5 * 9, "+", 32)]
    return Turn(q,
                f"{c} °C = {c // 5 * 9 + 32} °F",
                chain_think(st, s, "Divide by 5, times 9, plus 32."),
                kind="units")


# ------------------------------------------------------------------------------- dates
def weekday(rng, split, s):
    while True:
        d, n = rng.randrange(7), rng.randint(1, 30)
        if held("wd", d, n) == (split == "test"):
            break
    q = frame(rng, [
        "Today is {d}. What day is it in {n} days?",
        "If today is {d}, what day will it be in {n} days?",
        "It is {d}. Which weekday is it {n} days later?", "Which weekday comes {n} days after {d}?",
        "{d} plus {n} days, which weekday is that?", "What day of the week is {n} days after {d}?"
    ], split).format(d=WEEKDAYS[d], n=n)
    r = n % 7
    path = ", ".join(WEEKDAYS[(d + i) % 7] for i in range(1, r + 1))
    core = f"{n} = {n // 7} × 7 + {r}; {WEEKDAYS[d]}" + (f" + {r}: {path}" if r else " again")
    think = (
        core if s == 0 else f"A week has 7 days. {core}." if s == 1 else
        f"A week has 7 days, so only the rest counts.\nStep 1: {n} = {n // 7} × 7 + {r}.\nStep "
        f"2: {WEEKDAYS[d]}" + (f" + {r}: {path}." if r else " again."))
    if s == 3:
        think += f"\nCheck: {n // 7 * 7} + {r} = {n}. Correct."
    return Turn(q, f"It is {WEEKDAYS[(d + n) % 7]}.", think, kind="dates")


def month_days(y, m):
    return 29 if m == 2 and y % 4 == 0 and (y % 100 or y % 400 == 0) else MONTH_DAYS[m - 1]


def date_after(rng, split, s):
    while True:
        y, m, n = rng.randint(2020, 2032), rng.randint(1, 12), rng.randint(2, 28)
        d = rng.randint(1, month_days(y, m))
        if held("da", y, m, d, n) == (split == "test"):
            break
    q = frame(rng, [
        "What date is {n} days after {t}?", "Which date is {n} days after {t}?",
        "{t} plus {n} days", "Add {n} days to {t}.", "Today is {t}. What is the date in {n} days?",
        "What is the date {n} days later than {t}?"
    ], split).format(n=n, t=f"{y}-{m:02d}-{d:02d}")
    L = month_days(y, m)
    e = d + n
    t = f"{d} + {n} = {e}"
    if e > L:
        m2, y2 = (m + 1, y) if m < 12 else (1, y + 1)
        t += f"; {MONTHS[m - 1]} has {L} days; {e} - {L} = {e - L}; the month is {MONTHS[m2 - 1]}"
        if y2 != y:
            t += f" {y2}"
        e -= L
    else:
        m2, y2 = m, y
        t += f"; {MONTHS[m - 1]} has {L} days; the month stays {MONTHS[m - 1]}"
    think = (t if s == 0 else f"Add the days. {t}." if s == 1 else "I add the days and look at "
             "the length of the month.\nStep 1: " + t.replace("; ", ".\nStep 2: ", 1) + ".")
    if s == 3:
        think += (f"\nCheck: the month {m2:02d} has {month_days(y2, m2)} days and {e} is one of "
                  f"them. Correct.")
    return Turn(q, f"{y2}-{m2:02d}-{e:02d}", think, kind="dates")


def days_between(rng, split, s):
    while True:
        m = rng.randint(1, 12)
        a, b = sorted(rng.sample(range(1, MONTH_DAYS[m - 1] + 1), 2))
        if held("db", m, a, b) == (split == "test"):
            break
    q = frame(rng, [
        "How many days are between {a} {m} and {b} {m}?",
        "How many days are there from {a} {m} to {b} {m}?", "Days from {m} {a} to {m} {b}?",
        "How many days lie between {m} {a} and {m} {b}?", "Count the days from {a} {m} to {b} {m}."
    ], split).format(a=a, b=b, m=MONTHS[m - 1])
    return Turn(q,
                f"{b - a} days" if b - a > 1 else "1 day",
                chain_think([(b, "-", a)], s, "Both days are in the same month."),
                kind="dates")


def leap(rng, split, s):
    while True:
        y = rng.randint(1890, 2110)
        if held("leap", y) == (split == "test"):
            break
    yes = month_days(y, 2) == 29
    q = frame(rng, [
        "Is {y} a leap year?", "Was {y} a leap year?", "Is the year {y} a leap year?",
        "Does {y} have 366 days?", "How many days has February {y}?"
    ][:5], split).format(y=y)
    r4 = y % 100 % 4
    core = f"{y % 100:02d} ÷ 4 leaves {r4}"
    if y % 100 == 0:
        core = f"{y} ends in 00; {y // 100} ÷ 4 leaves {y // 100 % 4}"
    think = (core if s == 0 else f"Look at the last two digits: {core}." if s == 1 else
             f"A leap year can be divided by 4; a full century only by 400.\n{core}, so it "
             f"{'is one' if yes else 'is none'}." +
             ("\nCheck: the rule for centuries was used where "
              "it is needed. Correct." if s == 3 else ""))
    return Turn(q,
                f"Yes, {y} is a leap year and February has 29 days."
                if yes else f"No, {y} is not a leap year and February has 28 days.",
                think,
                kind="dates")


def month_length(rng, split, s):
    m = rng.randrange(12)
    q = frame(rng, [
        "How many days does {m} have?", "How many days are in {m}?", "How long is {m}?",
        "{m}, how many days?", "Number of days in {m}?"
    ], split).format(m=MONTHS[m])
    return Turn(q,
                f"{MONTHS[m]} has {MONTH_DAYS[m]} days."
                if m != 1 else "February has 28 days, and 29 in a leap year.",
                "" if s < 2 else f"{MONTHS[m]} is month {m + 1}.",
                kind="dates")


def today(rng, split, s, date):
    """asks for the date in the system block; needs it"""
    k = rng.randrange(3)
    d = datetime.date.fromisoformat(date)
    e = d + datetime.timedelta(days=[0, 1, -1][k])
    q = frame(
        rng, [[
            "What is the date today?", "What date is it?", "Which date is today?",
            "What day is it today?", "Today's date?", "Tell me today's date."
        ],
              [
                  "What date is tomorrow?", "What is tomorrow's date?", "Which date is tomorrow?",
                  "The date of tomorrow?", "Tell me tomorrow's date."
              ],
              [
                  "What date was yesterday?", "What was yesterday's date?",
                  "Which date was yesterday?", "The date of yesterday?", "Tell me yesterday's date."
              ]][k], split)
    word = ["Today is", "Tomorrow is", "Yesterday was"][k]
    think = ("" if s == 0 and k == 0 else f"Today is {d}" +
             ("" if s == 0 else ".") if s < 2 else f"The system text says that today is {d}." +
             (f" I go one day {'forward' if k == 1 else 'back'}; the month has "
              f"{month_days(d.year, d.month)} days." if k else "") +
             (" Check: the date is in the "
              "system text. Correct." if s == 3 else ""))
    return Turn(q, f"{word} {e}.", think, kind="dates")


TASKS = [(calculate, 9), (chain, 4), (story, 4), (percent, 1.5), (divide_rest, 1.5), (compare, .7),
         (units, 4), (weekday, 1.5), (date_after, 2), (days_between, 1), (leap, .7),
         (month_length, .3)]
