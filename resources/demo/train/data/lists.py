"""Lists, letters, finding things in a paragraph, and text in fixed forms (tables, JSON, Python)."""
import json
import re

from .words import CITY, COLOURS, FIRST, LAST, MONTHS, THING, WORD, Turn, frame, held, plural, spell

ORD = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]


def _asked(rng, wording, items):
    """The question about the items, which are put in for {l}: in a row, or a line each."""
    items = [str(x) for x in items]
    sep = rng.choice([", ", ", ", ", ", " ", "\n", "; "])
    if sep == "\n":
        if wording.endswith("{l}") and rng.random() < .7:
            wording = wording[:-3].rstrip() + "\n" * rng.choice([1, 1, 2]) + "{l}"
        alone = "\n{l}" in wording or wording.startswith("{l}\n")
        if alone and not items[0].isdigit():
            mark = rng.choice(["", "", "", "- ", "- ", "* ", "{n}. "])
            items = [mark.replace("{n}", str(i + 1)) + x for i, x in enumerate(items)]
    elif sep == ", " and rng.random() < .08:
        items = [f'"{x}"' for x in items]
    return wording.format(l=sep.join(items))


def _doubled(rng, items):
    """now and then with one of them twice"""
    items = list(items)
    if rng.random() < .1:
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
    return items


def _compared(row, sign):
    """a < b = b < c"""
    return str(row[0]) + "".join(f" {'=' if x == y else sign} {y}" for x, y in zip(row, row[1:]))


def _words_turn(rng, wording, items, answer, think, then):
    """A question about words. At the start of a line and behind a quotation mark a word has other
    tokens than behind a space. Answer and thinking copy such a word with the tokens it was asked
    with, the space being a token of its own: then the model need not know the word."""
    text = _asked(rng, wording, items)
    raw = [x for x in map(re.escape, items) if re.search(rf"(?<![ \w]){x}(?!\w)", text)]
    if raw:
        space = re.compile(rf" (?=(?:{'|'.join(raw)})(?!\w))")
        answer, think = (space.sub(spell(" "), t) for t in (answer, think))
    return Turn(text, answer, think, kind="lists", then=then)


def _follow_list(items, is_num):
    """follow-ups about a list that is on the table"""

    def make(rng, split, s):
        k = rng.randrange(5)
        j = ", ".join(map(str, items))
        enum = ", ".join(f"{i + 1} {x}" for i, x in enumerate(items))
        intro = f"The list is {j}."
        th = lambda low, more: low if s == 0 else intro if s == 1 else intro + " " + more + (
            " Check: the list was read to its end. Correct." if s == 3 else "")
        if k == 0:
            w = [
                "How many are there?", "How many items is that?", "And how many are they?",
                "Count them, please.", "How many items are in it?", "What is the number of items?"
            ]
            return Turn(frame(rng, w, split),
                        f"There are {len(items)} items.",
                        th(enum, enum + "."),
                        kind="follow-up",
                        then=[make])
        if k == 1:
            w = [
                "Now the other way round.", "Now in reverse order.", "Turn the order around.",
                "And backwards?", "Please reverse the order.", "Now from the end to the start."
            ]
            r = items[::-1]
            return Turn(frame(rng, w, split),
                        ", ".join(map(str, r)),
                        th("", "I write it from the end."),
                        kind="follow-up",
                        then=[_follow_list(r, is_num)])
        if k == 2:
            w = [
                "Which one is the last?", "What is the last one?", "And the last item?",
                "Which comes last?", "Name the last of them."
            ]
            return Turn(frame(rng, w, split),
                        f"The last item is {items[-1]}.",
                        th("", f"The last of the {len(items)} is {items[-1]}."),
                        kind="follow-up",
                        then=[make])
        if k == 3:
            w = [
                "Which one is the first?", "What is the first one?", "And the first item?",
                "Which comes first?", "Name the first of them."
            ]
            return Turn(frame(rng, w, split),
                        f"The first item is {items[0]}.",
                        th("", f"The first of them is {items[0]}."),
                        kind="follow-up",
                        then=[make])
        i = rng.randrange(min(len(items), 5))
        w = [
            "What is the {o} one?", "Which one is the {o}?", "And the {o} item?",
            "Name the {o} of them.", "Which item is on place {n}?"
        ]
        return Turn(frame(rng, w, split).format(o=ORD[i], n=i + 1),
                    f"The {ORD[i]} item is {items[i]}.",
                    th("", f"Counting: {', '.join(f'{x + 1} {items[x]}' for x in range(i + 1))}."),
                    kind="follow-up",
                    then=[make])

    return make


def sort_numbers(rng, split, s):
    while True:
        n = rng.randint(3, 8)
        top = rng.choice([20, 100, 100, 1000])
        v = rng.sample(range(1, top), n)
        if held("sort", *v) == (split == "test"):
            break
    v = _doubled(rng, v)
    n = len(v)
    up = rng.random() < .6
    r = sorted(v, reverse=not up)
    w = ([
        "Sort these numbers: {l}", "Sort {l}", "Put these numbers in order: {l}",
        "Sort from small to large: {l}", "Sort ascending: {l}",
        "Please sort {l} in ascending order.", "Arrange from smallest to largest: {l}",
        "Order these numbers: {l}", "Bring these numbers into order: {l}",
        "Can you sort these numbers for me? {l}"
    ] if up else [
        "Sort from large to small: {l}", "Sort descending: {l}",
        "Sort these numbers in descending order: {l}", "Put the largest first: {l}",
        "Arrange from largest to smallest: {l}", "Please sort {l} from high to low.",
        "Sort these numbers, the largest first: {l}", "Largest to smallest, please: {l}"
    ])
    a = ", ".join(map(str, r))
    if s == 0:
        think = ""
    elif s == 1:
        think = f"There are {n} numbers. The {'smallest' if up else 'largest'} is {r[0]}."
    else:
        think = (f"There are {n} numbers. I always take the {'smallest' if up else 'largest'} "
                 f"one that is left: " + ", then ".join(map(str, r)) + ".")
        if s == 3:
            think += f"\nCheck: {_compared(r, '<' if up else '>')}; {n} numbers. Correct."
    return Turn(_asked(rng, frame(rng, w, split), v),
                a,
                think,
                kind="lists",
                then=[_follow_list(r, True)])


def sort_words(rng, split, s):
    n = rng.randint(3, 6)
    pool = rng.choice([FIRST, THING, WORD, CITY])
    v = pool.sample(rng, split, n)
    if len({x[:2].lower() for x in v}) < n:  # the first two letters decide
        return sort_words(rng, split, s)
    v = _doubled(rng, v)
    n = len(v)
    r = sorted(v, key=str.lower)
    w = [
        "Sort these words: {l}", "Sort alphabetically: {l}",
        "Put these words in alphabetical order: {l}", "Sort {l} from A to Z.",
        "Sort from A to Z: {l}", "Please sort these by letter: {l}",
        "Alphabetical order, please: {l}", "Arrange these words alphabetically: {l}",
        "Bring these words into alphabetical order: {l}"
    ]
    first = ", ".join(f"{x} {x[:2].lower()}" for x in v)
    order = ", ".join(f"{x[:2].lower()} {x}" for x in r)
    think = [
        f"{first}; {order}",
        f"First letters: {first}. In order: {order}.",
        f"I look at the first letters: {first}.\nIn order: {order}.",
    ][min(s, 2)]
    if s == 3:
        think += f"\nCheck: {_compared([x[:2].lower() for x in r], '<')}; {n} words. Correct."
    return _words_turn(rng, frame(rng, w, split), v, ", ".join(r), think, [_follow_list(r, False)])


def count_items(rng, split, s):
    v = rng.choice([FIRST, THING, WORD, CITY]).sample(rng, split, rng.randint(2, 9))
    v = _doubled(rng, v)
    n = len(v)
    w = [
        "How many items are in this list: {l}", "Count the items: {l}",
        "How many words are there: {l}", "How many are these? {l}", "Count these: {l}",
        "How many things are listed here? {l}", "What is the length of this list: {l}",
        "Tell me how many items these are: {l}"
    ]
    e = ", ".join(f"{i + 1} {x}" for i, x in enumerate(v))
    think = (e if s == 0 else "I count: " + e + "." if s == 1 else "I number the items: " + e +
             f". The last number is {n}.")
    if s == 3:
        think += f"\nCheck from the end: " + ", ".join(
            f"{x} {i + 1}" for i, x in reversed(list(enumerate(v)))) + ". Correct."
    return _words_turn(rng, frame(rng, w, split), v, f"There are {n} items.", think,
                       [_follow_list(v, False)])


def list_number(rng, split, s):
    """largest, smallest, sum of a list"""
    k = rng.choice(["largest", "smallest", "sum"])
    while True:
        n = rng.randint(3, 6)
        v = rng.sample(
            range(1,
                  rng.choice([20, 100, 1000]) if k != "sum" else rng.choice([10, 20, 60])), n)
        if held("ln", *v) == (split == "test"):
            break
    if k == "sum":
        w = [
            "What is the sum of {l}?", "Add these numbers: {l}", "Sum up {l}", "Sum: {l}",
            "Please add up {l}", "What is the total of {l}?", "Give me the total: {l}"
        ]
        tot, st = v[0], []
        for x in v[1:]:
            st.append(f"{tot} + {x} = {tot + x}")
            tot += x
        think = "; ".join(st) if s == 0 else "Running total: " + "; ".join(
            st) + "." if s == 1 else "I keep a running total of " + f"{n} numbers." + "".join(
                f"\nStep {i + 1}: {x}." for i, x in enumerate(st))
        if s == 3:
            back, bs = tot, []
            for x in reversed(v[1:]):
                bs.append(f"{back} - {x} = {back - x}")
                back -= x
            think += "\nCheck: " + "; ".join(bs) + ". Correct."
        return Turn(_asked(rng, frame(rng, w, split), v),
                    f"The sum is {tot}.",
                    think,
                    kind="lists")
    r = max(v) if k == "largest" else min(v)
    w = [[
        "What is the largest of {l}?", "Which number is the largest: {l}",
        "Find the largest number: {l}", "Maximum of {l}", "What is the maximum of {l}?",
        "The biggest one of {l}?", "Give me the highest number: {l}"
    ],
         [
             "What is the smallest of {l}?", "Which number is the smallest: {l}",
             "Find the smallest number: {l}", "Minimum of {l}", "What is the minimum of {l}?",
             "The least one of {l}?", "Give me the lowest number: {l}"
         ]][k == "smallest"]
    run, cur = [], None
    for x in v:
        cur = x if cur is None else (max if k == "largest" else min)(cur, x)
        run.append(f"{x} best {cur}")
    think = ("" if s == 0 else f"There are {n} numbers." if s == 1 else "I go through the "
             "numbers: " + ", ".join(run) + ".")
    if s == 3:
        think += "\nCheck: sorted they are " + ", ".join(map(str, sorted(v))) + ". Correct."
    return Turn(_asked(rng, frame(rng, w, split), v),
                f"The {k} number is {r}.",
                think,
                kind="lists")


def reverse_list(rng, split, s):
    v = rng.choice([FIRST, THING, WORD, CITY]).sample(rng, split, rng.randint(3, 6))
    v = _doubled(rng, v)
    n = len(v)
    w = [
        "Reverse this list: {l}", "Reverse the order: {l}", "Write this list backwards: {l}",
        "Turn this list around: {l}", "Put this list in reverse order: {l}",
        "List these from last to first: {l}"
    ]
    r = v[::-1]
    think = ("" if s == 0 else f"The last item is {v[-1]}." if s == 1 else f"There are {n} "
             f"items. The last one is {v[-1]}, the first one is {v[0]}. I write them from the end.")
    if s == 3:
        think += "\nCheck: " + ", ".join(f"{i + 1} {x}" for i, x in enumerate(r)) + ". Correct."
    return _words_turn(rng, frame(rng, w, split), v, ", ".join(r), think, [_follow_list(r, False)])


def nth(rng, split, s):
    n = rng.randint(3, 7)
    v = rng.choice([FIRST, THING, WORD, CITY]).sample(rng, split, n)
    i = rng.randrange(n)
    o = ORD[i]
    w = [
        "What is the {o} item of {l}?", "Which is the {o} word: {l}", "Give me the {o} item: {l}",
        "The {o} of these: {l}", "Name the {o} entry of this list: {l}", "Find the {o} one in {l}"
    ]
    e = ", ".join(f"{x + 1} {v[x]}" for x in range(i + 1))
    think = "" if s == 0 else e if s == 1 else f"I count to the {o} item: {e}." + (
        f"\nCheck: the list has {n} items, and {v[i]} is number {i + 1}. Correct." if s == 3 else ""
    )
    return _words_turn(rng, frame(rng, w, split).replace("{o}", o), v, f"The {o} item is {v[i]}.",
                       think, [_follow_list(v, False)])


# ------------------------------------------------------------------------------- letters
def _letters(w):
    return spell(" ".join(w))


def _follow_word(word):

    def make(rng, split, s):
        k = rng.randrange(3)
        if k == 0:
            w = [
                "Now in capital letters.", "And in capitals?", "In upper case, please.",
                "Write it in capital letters.", "And with capital letters?"
            ]
            r = word.upper()
        elif k == 1 and len(word) < 12 and " " not in word:
            w = [
                "Now backwards.", "And backwards?", "Turn it around.", "Reverse it, please.",
                "Now from the end."
            ]
            r = word[::-1]
            t = _letters(word) if s == 0 else f"The letters are {_letters(word)}." + (
                "" if s == 1 else f" From the end: {_letters(r)}." +
                (" Check: the number of letters is the same. Correct." if s == 3 else ""))
            return Turn(frame(rng, w, split), spell(r), t, kind="follow-up", then=[_follow_word(r)])
        else:
            w = [
                "How many letters does it have?", "How many letters is that?",
                "And how many letters?", "Count its letters.", "What is the number of letters?"
            ]
            t = ", ".join(
                f"{spell(c)} {i + 1}" for i, c in enumerate(x for x in word if x.isalpha()))
            t = t if s == 0 else f"I count the letters: {t}." + (
                " The last number counts." if s > 1 else "") + (
                    " Check: every letter has one number. Correct." if s == 3 else "")
            return Turn(frame(rng, w, split),
                        f"It has {sum(c.isalpha() for c in word)} letters.",
                        t,
                        kind="follow-up",
                        then=[make])
        t = ("" if s == 0 else "Every letter becomes a capital." if s == 1 else f"The text is "
             f"{spell(word)}. Every letter becomes a capital." +
             (" Check: the number of characters stays the same. Correct." if s == 3 else ""))
        return Turn(frame(rng, w, split), spell(r), t, kind="follow-up", then=[_follow_word(r)])

    return make


def reverse_word(rng, split, s):
    word = WORD.pick(rng, split)
    if rng.random() < .25:
        word = word.capitalize()
    w = [
        "Reverse the word {w}.", "Write {w} backwards.", "Spell {w} backwards.", "Reverse \"{w}\"",
        "{w} backwards", "Turn the letters of {w} around.", "Please write the word {w} in reverse.",
        "What is {w} spelled backwards?", "Write the word {w} from back to front."
    ]
    r = word[::-1]
    f, b = _letters(word), _letters(r)
    think = (f if s == 0 else f"The letters are {f}." if s == 1 else f"The word is {word}. Its "
             f"letters are {f}.\nFrom the end: {b}.")
    if s == 3:
        think += (f"\nCheck: {len(word)} letters before and {len(word)} letters after; the first "
                  f"letter was {spell(word[0])} and is now the last one. Correct.")
    return Turn(frame(rng, w, split).format(w=word),
                spell(r),
                think, {"exact": r},
                kind="letters",
                then=[_follow_word(r)])


def case(rng, split, s):
    words = WORD.sample(rng, split, rng.randint(1, 4))
    up = rng.random()
    src = " ".join(words)
    if up < .5:
        w = [
            "Write in capital letters: {t}", "Upper case: {t}", "Make this upper case: {t}",
            "{t} in capital letters", "Convert to upper case: {t}", "Please write {t} in capitals.",
            "Put this in capitals: {t}", "Write \"{t}\" in upper case."
        ]
        r, rule = src.upper(), "Every letter becomes a capital."
    elif up < .75:
        src = rng.choice([src.upper(), src.title()])
        w = [
            "Write in small letters: {t}", "Lower case: {t}", "Make this lower case: {t}",
            "{t} in small letters", "Convert to lower case: {t}",
            "Please write {t} in small letters.", "Write \"{t}\" in lower case."
        ]
        r, rule = src.lower(), "Every letter becomes small."
    else:
        w = [
            "Capitalise each word: {t}", "Title case: {t}", "Write each word with a capital: {t}",
            "Make the first letters capital: {t}", "Start each word with a capital letter: {t}",
            "Put \"{t}\" in title case."
        ]
        r, rule = src.title(), "The first letter of each word becomes a capital."
    think = ("" if s == 0 else rule if s == 1 else f"{rule} There are {len(words)} words: " +
             ", ".join(f"{i + 1} {spell(x)}" for i, x in enumerate(src.split())) + ".")
    if s == 3:
        think += "\nCheck: " + ", ".join(spell(x) for x in r.split()) + ". Correct."
    return Turn(frame(rng, w, split).format(t=src),
                spell(r),
                think, {"exact": r},
                kind="letters",
                then=[_follow_word(r)])


def count_letters(rng, split, s):
    word = WORD.pick(rng, split)
    if rng.random() < .5:
        c = rng.choice(word) if rng.random() < .85 else rng.choice("aeiourst")
        w = [
            "How many times does {c} occur in {w}?", "How many {c} are in {w}?",
            "Count the letter {c} in {w}.", "How often is {c} in the word {w}?",
            "How many times is the letter {c} in {w}?", "The number of {c} in {w}?"
        ]
        n, seen = 0, []
        for x in word:
            n += x == c
            seen.append(spell(x) + (f" {n}" if x == c else ""))
        t = ", ".join(seen)
        a = f"The letter {spell(c)} occurs {n} time{'s' * (n != 1)} in {word}."
        q = frame(rng, w, split).format(c=c, w=word)
    else:
        w = [
            "How many letters does {w} have?", "How many letters are in {w}?",
            "Count the letters of {w}.", "How long is the word {w}?",
            "What is the number of letters in {w}?", "Number of letters in {w}?"
        ]
        t = ", ".join(f"{spell(x)} {i + 1}" for i, x in enumerate(word))
        a = f"The word {word} has {len(word)} letters."
        q = frame(rng, w, split).format(w=word)
    think = (t if s == 0 else f"Letter by letter: {t}." if s == 1 else f"I go through {word} "
             f"letter by letter: {t}. The last number counts." +
             (f"\nCheck: the letters are {_letters(word)}. Correct." if s == 3 else ""))
    return Turn(q, a, think, kind="letters")


def spell_word(rng, split, s):
    word = WORD.pick(rng, split)
    w = [
        "Spell the word {w}.", "Spell {w}.", "How do you spell {w}?",
        "Write the letters of {w} one by one.", "Please spell {w} for me.",
        "Give me the letters of {w}."
    ]
    t = "" if s < 2 else f"The word is {word} and has {len(word)} letters." + (
        "\nCheck: each letter is written once. Correct." if s == 3 else "")
    return Turn(frame(rng, w, split).format(w=word), spell("-".join(word)), t, kind="letters")


# ------------------------------------------------------------------------------- finding things
def paragraph(rng, split):
    """a small text with people, places, numbers and dates, and what is in it"""
    people, cities, nums, mails, dates = [], [], [], [], []
    parts = []
    for _ in range(rng.randint(2, 4)):
        k = rng.randrange(8)
        n, l = FIRST.pick(rng, split), LAST.pick(rng, split)
        c = CITY.pick(rng, split)
        x, t = rng.randint(2, 950), plural(THING.pick(rng, split))
        d = f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(2020, 2030)}"
        if k == 0:
            parts.append(f"{n} {l} lives in {c} and sells {x} {t} a year.")
            people.append(f"{n} {l}")
            cities.append(c)
            nums.append(x)
        elif k == 1:
            parts.append(f"On {d} {n} {l} moved to {c}.")
            people.append(f"{n} {l}")
            cities.append(c)
            dates.append(d)
        elif k == 2:
            parts.append(f"The order of {x} {t} came from {n} {l}.")
            people.append(f"{n} {l}")
            nums.append(x)
        elif k == 3:
            m = f"{n.lower()}.{l.lower()}@{rng.choice(['mail', 'post', 'work', 'home'])}.example"
            parts.append(f"You can write to {n} {l} at {m} for questions.")
            people.append(f"{n} {l}")
            mails.append(m)
        elif k == 4:
            parts.append(f"The office in {c} has {x} {t}.")
            cities.append(c)
            nums.append(x)
        elif k == 5:
            parts.append(f"Invoice {x} is due on {d}.")
            nums.append(x)
            dates.append(d)
        elif k == 6:
            parts.append(f"{n} {l} paid {x} euros for the {t}.")
            people.append(f"{n} {l}")
            nums.append(x)
        else:
            parts.append(f"The meeting with {n} {l} is in {c} on {d}.")
            people.append(f"{n} {l}")
            cities.append(c)
            dates.append(d)
    return " ".join(parts), dict(names=people,
                                 cities=cities,
                                 numbers=nums,
                                 mails=mails,
                                 dates=dates)


_FIND = {
    "names": [
        "Which people are named in this text? {p}", "Extract the names: {p}",
        "List all names in this text: {p}", "Who is mentioned here? {p}",
        "Find the names in this paragraph. {p}", "Give me the names of the people: {p}"
    ], "cities": [
        "Which cities are named in this text? {p}", "Extract the cities: {p}",
        "List all cities in this text: {p}", "Find the cities in this paragraph. {p}",
        "Give me the towns named here: {p}"
    ], "dates": [
        "Which dates are in this text? {p}", "Extract the dates: {p}",
        "List all dates in this text: {p}", "Find the dates in this paragraph. {p}",
        "Give me every date named here: {p}"
    ], "mails": [
        "Which mail addresses are in this text? {p}", "Extract the mail address: {p}",
        "List all e-mail addresses in this text: {p}", "Find the e-mail address. {p}",
        "Give me the mail address named here: {p}"
    ]
}


def find(rng, split, s):
    while True:
        text, got = paragraph(rng, split)
        k = rng.choice([k for k in _FIND if got[k]] or [None])
        if k:
            break
    v = got[k]
    a = "\n".join(f"- {x}" for x in v)
    q = frame(rng, _FIND[k], split).format(p=text)
    if rng.random() < .3:
        q = frame(rng, _FIND[k], split).format(p="\n\n" + text)
    w = {"names": "people", "cities": "cities", "dates": "dates", "mails": "mail addresses"}[k]
    think = ("" if s == 0 else f"I look for {w}." if s == 1 else f"I look for {w}, sentence by "
             f"sentence. I find " + ", ".join(map(str, v)) + f". That makes {len(v)}.")
    if s == 3:
        think += "\nCheck: " + "; ".join(
            f"{i + 1} {x}" for i, x in enumerate(v)) + ". All of them are in the text. Correct."
    f = [_follow_list(v, False)] if len(v) > 1 else []
    return Turn(q, a, think, kind="extraction", then=f)


# ------------------------------------------------------------------------------- fixed forms
def _rows(rng, split):
    k = rng.randrange(3)
    n = rng.randint(2, 4)
    if k == 0:
        return ["Name", "Age"], [[x, rng.randint(6, 90)] for x in FIRST.sample(rng, split, n)]
    if k == 1:
        return ["City", "People"], [[x, rng.randint(20, 980)] for x in CITY.sample(rng, split, n)]
    return ["Item", "Price"], [[x, rng.randint(1, 99)] for x in THING.sample(rng, split, n)]


def table(rng, split, s):
    head, rows = _rows(rng, split)
    data = rng.choice([", ", "; ",
                       "\n"]).join(f"{a}{rng.choice([' ', ': ', ' = '])}{b}" for a, b in rows)
    w = [
        "Make a table with {h}: {d}", "Make a Markdown table ({h}): {d}",
        "Write this as a table with {h}: {d}", "Create a table with the columns {h} from {d}",
        "Please turn this into a table with {h}: {d}",
        "Put this into a Markdown table with {h}: {d}", "Show as a table with the columns {h}: {d}"
    ]
    a = f"| {head[0]} | {head[1]} |\n| --- | --- |\n" + "\n".join(f"| {x} | {y} |" for x, y in rows)
    think = ("" if s == 0 else f"The table has {len(rows)} rows." if s == 1 else f"The table has "
             f"the columns {head[0]} and {head[1]} and {len(rows)} rows: " +
             ", ".join(f"{x} {y}" for x, y in rows) + ".")
    if s == 3:
        think += ("\nCheck: one line for the head, one line of dashes, then one line for each "
                  "row. Correct.")
    return Turn(frame(rng, w, split).format(h=f"{head[0]} and {head[1]}", d=data),
                a,
                think,
                kind="forms")


def to_json(rng, split, s):
    n, l, c, age = FIRST.pick(rng, split), LAST.pick(rng, split), CITY.pick(rng,
                                                                            split), rng.randint(
                                                                                6, 90)
    k = rng.randrange(3)
    if k == 0:
        obj, text = {"name": n, "age": age}, rng.choice(
            [f"{n} is {age} years old", f"name {n}, age {age}", f"{n}, {age} years"])
    elif k == 1:
        obj, text = {"name": n, "city": c}, rng.choice(
            [f"{n} lives in {c}", f"name {n}, city {c}", f"{n} from {c}"])
    else:
        obj, text = {"name": n, "age": age, "city": c}, rng.choice([
            f"{n} is {age} years old and lives in {c}", f"name {n}, age {age}, city {c}",
            f"{n}, {age}, from {c}"
        ])
    w = [
        "Write as JSON: {t}", "Make JSON from this: {t}", "Turn this into JSON: {t}",
        "{t}. As JSON, please.", "Convert to JSON: {t}", "Give me a JSON object for: {t}",
        "Express this in JSON: {t}"
    ]
    keys = ", ".join(obj)
    think = ("" if s == 0 else f"The keys are {keys}." if s == 1 else f"The keys are {keys}. The "
             f"values are " + ", ".join(map(str, obj.values())) +
             ". Text stands in quotes, a number does not.")
    if s == 3:
        think += (f"\nCheck: {len(obj)} keys and {len(obj)} values, with a comma between the "
                  f"pairs. Correct.")
    return Turn(frame(rng, w, split).format(t=text),
                "```json\n" + json.dumps(obj, indent=2) + "\n```",
                think,
                kind="forms")


FUNCS = [  # what it does (several wordings), signature, body
    ([
        "adds two numbers", "returns the sum of two numbers", "sums two numbers",
        "computes a plus b"
    ], "add(a, b)", "return a + b"),
    ([
        "subtracts two numbers", "returns the difference of two numbers", "takes b away from a",
        "computes a minus b"
    ], "subtract(a, b)", "return a - b"),
    ([
        "multiplies two numbers", "returns the product of two numbers", "computes a times b",
        "gives the product of a and b"
    ], "multiply(a, b)", "return a * b"),
    ([
        "divides two numbers", "returns a divided by b", "computes the quotient of two numbers",
        "gives the quotient of a and b"
    ], "divide(a, b)", "return a / b"),
    ([
        "squares a number", "returns the square of a number", "computes the square",
        "multiplies a number by itself"
    ], "square(n)", "return n * n"),
    ([
        "doubles a number", "returns twice a number", "computes two times a number",
        "gives the double of a number"
    ], "double(n)", "return 2 * n"),
    ([
        "checks if a number is even", "tells whether a number is even",
        "returns True for even numbers", "tests for even numbers"
    ], "is_even(n)", "return n % 2 == 0"),
    ([
        "checks if a number is odd", "tells whether a number is odd",
        "returns True for odd numbers", "tests for odd numbers"
    ], "is_odd(n)", "return n % 2 == 1"),
    ([
        "reverses a string", "returns a string backwards", "turns a text around",
        "writes a text from the end"
    ], "reverse(text)", "return text[::-1]"),
    ([
        "returns the length of a list", "counts the items of a list", "tells how long a list is",
        "gives the number of items"
    ], "count(items)", "return len(items)"),
    ([
        "returns the largest number of a list", "finds the maximum of a list",
        "gives the biggest number", "returns the highest value"
    ], "largest(numbers)", "return max(numbers)"),
    ([
        "returns the smallest number of a list", "finds the minimum of a list",
        "gives the least number", "returns the lowest value"
    ], "smallest(numbers)", "return min(numbers)"),
    ([
        "sums a list of numbers", "adds all numbers of a list", "returns the total of a list",
        "computes the sum of a list"
    ], "total(numbers)", "return sum(numbers)"),
    ([
        "computes the average of a list", "returns the mean of a list",
        "finds the average of numbers", "gives the mean value"
    ], "average(numbers)", "return sum(numbers) / len(numbers)"),
    ([
        "makes a text upper case", "returns a text in capital letters",
        "turns a text into capitals", "writes a text in upper case"
    ], "shout(text)", "return text.upper()"),
    ([
        "makes a text lower case", "returns a text in small letters",
        "turns a text into small letters", "writes a text in lower case"
    ], "whisper(text)", "return text.lower()"),
    (["sorts a list", "returns a sorted list", "puts a list in order",
      "brings a list into order"], "in_order(items)", "return sorted(items)"),
    ([
        "returns the first item of a list", "gives the first element", "finds the first item",
        "takes the first entry of a list"
    ], "first(items)", "return items[0]"),
    ([
        "returns the last item of a list", "gives the last element", "finds the last item",
        "takes the last entry of a list"
    ], "last(items)", "return items[-1]"),
    ([
        "computes the area of a rectangle", "returns the area of a rectangle",
        "finds the area of a rectangle", "gives width times height"
    ], "area(width, height)", "return width * height"),
    ([
        "computes the area of a circle", "returns the area of a circle",
        "finds the area of a circle", "gives the surface of a circle"
    ], "circle_area(radius)", "return 3.14159 * radius ** 2"),
    ([
        "counts the words of a text", "returns the number of words",
        "tells how many words a text has", "gives the word count"
    ], "count_words(text)", "return len(text.split())"),
    ([
        "converts Celsius to Fahrenheit", "turns Celsius into Fahrenheit",
        "computes Fahrenheit from Celsius", "changes degrees Celsius to Fahrenheit"
    ], "to_fahrenheit(c)", "return c * 9 / 5 + 32"),
    ([
        "joins words with spaces", "puts words together with spaces",
        "makes one text of many words", "connects words by spaces"
    ], "join_words(words)", "return \" \".join(words)"),
    ([
        "computes the factorial of a number", "returns n factorial", "finds the factorial",
        "gives the factorial of n"
    ], "factorial(n)",
     "result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result"),
    ([
        "checks if a word is a palindrome", "tells whether a text is a palindrome",
        "tests for palindromes", "returns True for palindromes"
    ], "is_palindrome(text)", "return text == text[::-1]"),
    ([
        "removes duplicates from a list", "returns a list without duplicates", "drops double items",
        "keeps each item only once"
    ], "unique(items)", "return list(dict.fromkeys(items))"),
    ([
        "returns the larger of two numbers", "picks the bigger of two numbers",
        "gives the larger number", "finds the greater of two numbers"
    ], "larger(a, b)", "return a if a > b else b"),
    ([
        "prints the numbers from 1 to n", "counts from 1 to n", "writes the numbers up to n",
        "shows the numbers from 1 to n"
    ], "count_to(n)", "for i in range(1, n + 1):\n        print(i)"),
    ([
        "says hello to a name", "greets a person", "returns a greeting for a name",
        "makes a greeting"
    ], "greet(name)", "return \"Hello, \" + name"),
]


def python(rng, split, s):
    what, sig, body = rng.choice(FUNCS)
    if rng.random() < .3 and "n" in sig[sig.index("("):] and sig.endswith("(n)"):
        v = rng.choice(["x", "k", "number"])
        import re
        sig, body = (re.sub(r"\bn\b", v, t) for t in (sig, body))
        extra = f" Call the argument {v}."
    else:
        extra = ""
    w = [
        "Write a Python function that {w}.", "Python function that {w}",
        "I need a Python function that {w}.", "Please write a function in Python that {w}.",
        "Give me a Python function which {w}.", "Can you write Python code that {w}?",
        "Code a Python function that {w}.", "Show me a function in Python that {w}."
    ]
    q = frame(rng, w, split).format(w=rng.choice(what if split == "train" else what[:3])) + extra
    args = sig[sig.index("(") + 1:-1]
    think = ("" if s == 0 else f"The function is {sig}." if s == 1 else f"The function gets "
             f"{args}. Its name is {sig.split('(')[0]}. The work is done by one block: "
             f"{body.split(chr(10))[0]}.")
    if s == 3:
        think += ("\nCheck: the code starts with def, the block is indented by four spaces, and "
                  "the fence is closed. Correct.")
    return Turn(q, f"```python\ndef {sig}:\n    {body}\n```", think, kind="forms")


TASKS = [(sort_numbers, 3), (sort_words, 4.5), (count_items, 1.5), (list_number, 3.5),
         (reverse_list, 1.6), (nth, 1.2), (reverse_word, 3), (case, 2.2), (count_letters, 2),
         (spell_word, 1.6), (find, 3.5), (table, 1.6), (to_json, 1.6), (python, 2)]
