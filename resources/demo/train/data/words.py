"""Words, names and the split between training and evaluation.

Everything a task draws from goes through `pick` or `held`, so that the evaluation set is made of
wordings, names, words and numbers that training never sees.
"""
import itertools
import os
import re
import zlib

DICTIONARY = os.environ.get("GLINT_WORDS",
                            "/usr/share/dict/american-english-small")  # Debian: wamerican-small


def held(*key):
    """True for the tenth of all items that only the evaluation may use."""
    return zlib.crc32("\x1f".join(map(str, key)).encode()) % 10 == 0


# Words that may stand for each other in a question. The model is small and learns wordings by heart
# where it can; a question that never comes twice in the same words makes it look at what matters.
_SAME = """what which|which what|tell show give|give tell show|show give tell|picture image photo
pictures images photos|see find notice spot|count number|number count amount|write put print
shape figure form thing|shapes figures forms things|sort order arrange
largest biggest highest greatest|smallest lowest least|biggest largest|highest largest top
lowest smallest|make create build produce|create make|value number amount|colour color
please kindly|convert change turn|turn change convert|window dialog box|button key
title heading name|heading title|text writing words|say read tell|read say|list show name
name tell list|calculate compute work out|compute calculate|chat conversation
conversation chat|delete remove erase|remove delete|start begin|begin start|hide close
change set adjust alter|set change|use try|many much|does do|do can|can could may|could can
want need like|need want|explain describe|describe explain|press hit use|happens occurs
mean say|program app tool|computer machine PC|model assistant|answer reply response
answers replies|message text note|send submit|make get|get have|there here|drawn shown
shown drawn|written printed shown|is was|are were|row line|rows lines entries|column field
columns fields headings|bar column|bars columns|highest tallest|letters characters|word term
words terms|items things entries|item thing entry|total sum|sum total|result answer value
function routine|people persons|cities towns places|dates days|names people|find spot get
extract pull take|backwards reversed|reverse flip turn|capital big upper|capitals caps
small lower little|number figure|I we|my our|me us|the this that|this that the|these those"""
SAME = {k: v for k, *v in (x.split() for x in _SAME.replace("\n", "|").split("|"))}
_BEFORE = ("Please |Hello. |Hi, |Now |And |Tell me: |A question: |Next: |Okay, |Could you help? |"
            "One more: |For my work: |Hey. |Sorry, |Well, |I wonder: |Can you tell me: |"
            "Please tell me: |Quick question: |So: |Good. |Then |Also |Just |I ask you: |Help me. |"
            "I have a question. |Good morning. |Let me ask: |Do this: |Be so kind: |"
            "Here is my question: |Hello Glint, |Dear Glint, |Hi there. |Right. |Good evening. |"
            "New question: |Another thing: |Another question. |My task: |Here is a task. |"
            "It is me again. |Excuse me, |Pardon, |Look: |Hm. |Hmm, |Fine, |Thanks, next: |"
            "I am stuck. |I need help: |Help: |Task: |Question: |Q: |Not sure: |For school: |"
            "For a friend: |My boss asks: |I am curious: |Just checking: |By the way, |"
            "One more time: |As said: |Now this: |Try this: |Can you do this? |Can you help me? |"
            "Would you help? |Please answer: |Answer me: |Say, |You there, |Computer, |Assistant, |"
            "If you can: |When you have time: |Let us go on. |Moving on: |Let us see. |This one: |"
            "To start: |Now to something new. |I want this: |My wish: |What I want: |OK so |ok "
            "|yo, |"
            "hey |pls |btw |so, |um, |eh, ").split("|")
_AFTER = (" Please.| please| Thanks.| Thank you.| for me| now| ok?|?|!|.| Thanks in advance.|"
          " if you can| I need it.| Can you?| Please tell me.| again|, please| then|"
          " It is for my work.| I am not sure.| Please help me.| I need it today.|"
          " Thank you very much.| It is important.| Take your time.| I must know.| I am curious.|"
          " My boss wants it.| My wife wants it.| My teacher asks.| I forgot.|"
          " I cannot do it alone.| Be quick.| Do not hurry.| That is my question.| Nothing more.|"
          " I hope you can help.| Can you help?| Do you know?| Do it well.| right?|, right?| ...|"
          " :)|??|!!| pls| thx| thank you| thanks| today| quickly| exactly| again please|"
          " I would be glad.| We need it.| You can do it.| Sorry to ask.| A short answer is fine.|"
          " It is late.| I was asked.| Just to be safe.| I must be certain.| I am unsure.|"
          " I was not sure about it.| I need certainty.").split("|")
_more, _usable = {}, {}


def more_wordings():
    """first wording of a list -> further wordings and patterns of wordings, for training only"""
    if not _more:
        for name in ("wordings.txt", "patterns.txt"):
            key, parts = None, {}
            for line in open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8"):
                line = line.rstrip("\n").replace("\\n", "\n")
                if line.startswith("#") or not line:
                    continue
                if line.startswith("~ "):
                    _, k, v = line.split(" ", 2)
                    parts[f"<{k}>"] = f"[{v}]"
                    continue
                if line.startswith("= "):
                    key = line[2:]
                    continue
                for k, v in parts.items():
                    line = line.replace(k, v)
                _more.setdefault(key, []).extend(line.split("|"))
    return _more


def variants(t):
    """how many wordings a pattern stands for: "[a/b/]" is one of its parts, and a part may be
    empty"""
    n = 1
    for part in re.findall(r"\[([^\]]*)\]", t):
        n *= part.count("/") + 1
    return n


def expand(rng, t):
    """one wording of a pattern"""
    if "[" not in t:
        return t
    t = re.sub(r"\[([^\]]*)\]", lambda m: rng.choice(m[1].split("/")), t)
    t = re.sub(r" +([?.,!]|$)", r"\1", re.sub(r"  +", " ", t)).lstrip(" ")
    return t[0].upper() + t[1:] if rng.random() < .75 else t


class Near:
    """Knows the wordings that the evaluation takes from one list. `same` is true for a wording
    that equals one of them but for marks and case, or, where it has three words or more, in all
    but one word (another, one more or one less)."""

    def __init__(self, held_out):
        tests = [t for t in map(self.words, held_out) if t]
        self.full = set(tests)
        long = [t for t in tests if len(t) > 2]
        self.long = set(long)
        self.less = {t[:i] + t[i + 1:] for t in long for i in range(len(t))}
        self.other = {t[:i] + ("*", ) + t[i + 1:] for t in long for i in range(len(t))}

    @staticmethod
    def words(t):
        return tuple(re.findall(r"\{\w+\}|\w+(?:'\w+)?|[^\w\s.,:;?!\"']", t.lower()))

    def same(self, t):
        w = self.words(t)
        return w in self.full or w in self.less or any(w[:i] + w[i + 1:] in self.long or w[:i] +
                                                       ("*", ) + w[i + 1:] in self.other
                                                       for i in range(len(w)))


def vary(rng, t, near=None):
    """one wording, said a little differently: other words, missing words, a wrong letter,
    something before or behind"""
    if rng.random() < .25:
        return t
    before = t
    w = t.split(" ")
    free = lambda x: "{" not in x and "\n" not in x and '"' not in x
    if rng.random() < .4:
        for i, x in enumerate(w):
            k = x.lower().strip("?.,:")
            if free(x) and k in SAME and rng.random() < .35:
                y = rng.choice(SAME[k])
                w[i] = (y.capitalize() if x[0].isupper() else y) + x[len(k):]
    if rng.random() < .12 and len(w) > 3:
        w = [x for x in w if not free(x) or rng.random() > .22] or w
    if rng.random() < .03 and len(w) > 4:
        i = rng.randrange(len(w))
        if free(w[i]):
            w[i] = DICT.pick(rng, "train")
    if rng.random() < .05:
        i = rng.randrange(len(w))
        if free(w[i]) and len(w[i]) > 4:
            j = rng.randrange(1, len(w[i]) - 2)
            w[i] = w[i][:j] + rng.choice([w[i][j + 1] + w[i][j] + w[i][j + 2:], w[i][j + 1:]])
    t = " ".join(w)
    if near and t != before and near.same(t):  # never by chance what the evaluation asks
        t = before
    if rng.random() < .12:
        t = " ".join(x.lower() if free(x) else x for x in t.split(" "))
    r = rng.random()
    if r < .22:
        t = rng.choice(_BEFORE) + (t[0].lower() +
                                   t[1:] if t and rng.random() < .6 and not t.startswith(
                                       ("{", "I ")) else t)
        if r < .05 and not t.endswith("}"):
            t += rng.choice(_AFTER)
    elif r < .40:
        t = t.rstrip("?.") + rng.choice(_AFTER) if rng.random() < .5 else t + rng.choice(_AFTER)
    elif r < .48:
        t = t.rstrip("?.")
    return before if near and Near.words(t) in near.full else t


# How the evaluation asks: "new" takes sentences that training never had; "dressed" takes known
# sentences with words before or behind them that training never had. Numbers, names, words,
# pictures and layouts are new in both.
EVALUATION = {"wording": "new"}
_DRESS_BEFORE = [
    "My question is: ", "Could I ask this: ", "Here I am again. ", "May I ask: ",
    "Something else: ", "Listen: ", "This is what I need: ", "Tell me, please: ", "One thing: ",
    "Back to work: "
]
_DRESS_AFTER = [
    " Many thanks in advance.", " That would help me.", " I want to be sure.", " Let me know.",
    " It is urgent.", " My friend asks.", " What do you say?", " That is all.", " I wait."
]


def dress(rng, t):
    # words behind a list or a text to be changed would be part of it
    before = rng.random() < .5 or t.endswith("}")
    return rng.choice(_DRESS_BEFORE) + t if before else t + rng.choice(_DRESS_AFTER)


def held_out(frames):
    """where the part of a list begins that is kept for the evaluation: the last fifth, at least
    one"""
    return len(frames) - max(1, len(frames) // 5)


def usable(frames, more=()):
    """the wordings of a list that training may use, with their weights, and what knows the
    others"""
    key = (frames[0], len(frames), frames[-1])
    if key not in _usable:
        cut = held_out(frames)
        near = Near(frames[cut:])
        extra = list(more) + more_wordings().get(frames[0], [])
        ok = list(dict.fromkeys(frames[:cut] + [t for t in extra if not near.same(t)]))
        _usable[key] = (ok, list(itertools.accumulate(min(variants(t), 40)**.5 for t in ok)), near)
    return _usable[key]


def on_own_line(rng, t):
    """What a question is about, now and then on a line of its own: "Spell this word:", and below it
    {w}."""
    m = re.fullmatch(r"(.+) (\{[lpwt]\})[.?]?", t)
    if m and rng.random() < (.3 if m[1].endswith(":") else .05):
        return m[1] + "\n" + m[2]
    return t


def frame(rng, frames, split, free=True):
    """One wording. The last fifth of every list (at least one) is kept for the evaluation;
    training adds the wordings of wordings.txt and patterns.txt and varies what it draws. `free`
    is off where the words themselves matter."""
    cut = held_out(frames)
    if split == "test" and EVALUATION["wording"] == "dressed" and free:
        return dress(rng, rng.choice(frames[:cut]))
    if split == "test":
        return rng.choice(frames[cut:])
    if split == "known":
        return rng.choice(frames[:cut])
    ok, weights, near = usable(frames)
    for _ in range(20):
        t = expand(rng, rng.choices(ok, cum_weights=weights)[0])
        if near.same(t) and t not in frames[:cut]:
            continue
        return on_own_line(rng, vary(rng, t, near)) if free else t
    raise RuntimeError(f"no wording left for {frames[0]}")


_ONSET = ("b c d f g h j k l m n p q r s t v w x y z bl br ch cl cr dr fl gr kr kn ph pl pr qu "
          "rh sch sh sl sp st str th tr ts wh zh".split() + [""] * 9)
_CORE = (
    "a e i o u a e i o u y aa ae ai au ea ee ei eo ia ie io iu oa oe oi oo ou ua ue ui uu".split())
_CODA = [
    ""
] * 22 + "b ck d f g h k l ll m mb n nd ng nn nt p r rd rk rs rt s ss st t th tt v w x z".split()


def invented(rng):
    """a name that nobody has: training copies it letter by letter, as it must copy unseen names"""
    while True:
        w = "".join(
            rng.choice(_ONSET) + rng.choice(_CORE) + rng.choice(_CODA)
            for _ in range(rng.choice([1, 2, 2, 3])))
        if 3 <= len(w) <= 10:
            return w


def _drawable(w):
    """whether training may show this made-up word: not one of the evaluation's, and harmless"""
    return not held("dict", w.lower()) and not any(r in w.lower() for r in RUDE)


def blend(rng, a, b):
    """the beginning of one word and the end of another: looks like both and is neither, so that
    training punishes going on with the wrong one while copying"""
    for _ in range(20):
        w = a[:rng.randint(2, max(2, len(a) - 2))] + b[rng.randint(1, max(1, len(b) - 2)):].lower()
        if _drawable(w):
            return w
    return invented(rng)


_pieces, _single = [], []


def learn_pieces(tokens):
    """Takes the pieces of words from a byte-level vocabulary. Some are whole words that only the
    evaluation may use: without pieced() training would never show how such a token is copied or
    spelled, and no question with it could be answered."""
    words = {t.lstrip("Ġ") for t in tokens}
    _pieces[:] = sorted(w for w in words if len(w) > 1 and w.isascii() and w.isalpha() and
                        w[1:].islower())
    train = set(DICT.train)
    _single[:] = [w for w in _pieces if w in train]


def single(rng):
    """A word that the vocabulary has whole. They are the common words, one in thirty of a
    dictionary and most of what people ask about; the model must learn the letters of each."""
    return rng.choice(_single) if _single else invented(rng)


def pieced(rng):
    """a word that nobody has, of two or three pieces of the vocabulary"""
    while _pieces:
        w = rng.choice(_pieces) + "".join(
            rng.choice(_pieces).lower() for _ in range(rng.choice([1, 1, 2])))
        if len(w) <= 12 and _drawable(w):
            return w
    return invented(rng)


class Pool:
    """A list divided by `held`; each half is drawn from in its own split only. In training
    `wild` of the draws are others: invented, taken from the dictionary, blended of its words,
    put together from pieces, or common words. So the model learns to copy a name and not to
    remember it."""

    def __init__(self, tag, items, wild=0.0, capital=True):
        items = list(dict.fromkeys(items))
        self.train = [x for x in items if not held(tag, x)]
        self.test = [x for x in items if held(tag, x)] or items[:1]
        self.all, self.wild, self.capital = items, wild, capital

    def pick(self, rng, split):
        if split == "test":
            return rng.choice(self.test)
        if self.wild and rng.random() < self.wild:
            known = lambda r: DICT.pick(r, split)
            blended = lambda r: blend(r, known(r), known(r))
            w = rng.choice([known, invented, blended, pieced, pieced, single, single])(rng)
            return w.capitalize() if self.capital else w
        return rng.choice(self.train)

    def sample(self, rng, split, n):
        if self.wild and split != "test":
            out = []
            while len(out) < n:
                x = self.pick(rng, split)
                if len(out) > 1 and rng.random() < .12:  # one that is made of two others
                    x = blend(rng, *rng.sample(out, 2))
                if x not in out:
                    out.append(x)
            return out
        src = self.test if split == "test" else self.train
        if len(src) < n:  # a small pool: fill the evaluation up with known items
            src = self.all
        return rng.sample(src, n)


def _dictionary():
    try:
        with open(DICTIONARY, encoding="utf-8") as f:
            words = [w.strip() for w in f]
    except OSError as e:
        raise SystemExit(f"{DICTIONARY}: {e}. Install the Debian package wamerican-small "
                         "or set GLINT_WORDS to a list with one word a line.")
    return [
        w for w in words
        if 3 <= len(w) <= 10 and w.isascii() and w.isalpha() and w.islower() and not any(
            r in w for r in RUDE)
    ]


# the list is a general one: leave out what nobody wants to meet in a demonstration
RUDE = """
fuck shit cunt dick cock piss whore slut rape rapi anal anus bitch bastard nigg nazi damn hell
porn sex tit boob penis vagin castrat kill murder suicid genocid drug coke heroin fag queer dyke
spic kike turd crap poop fart arse ass bugger wank homo negro tramp slave lynch torture terror
bomb gun corpse dead death die dying blood sadis incest pimp prostit orgas erotic nude naked
lust viol abuse molest pervert tumor cancer idiot moron stupid retard cripple gay lesb hate hatr
scum bimbo hooker snot puke vomit feces rectum scrot testic masturb jew arab gyps""".split()

DICT = Pool("dict", _dictionary())
WORD = Pool("dict", DICT.all, wild=.75, capital=False)  # where words are copied, not read

FIRST = Pool("first",
             """
Anna Ben Clara David Emma Felix Greta Henry Ida Jonas Karin Leo Mia Noah Olga Paul Rosa Sam Tina
Uwe Vera Walter Yara Zoe Alice Bruno Cora Daniel Elena Frank Gina Hugo Iris Jack Kate Lena Max
Nora Oscar Petra Quinn Rita Simon Tom Una Victor Wanda Xenia Yusuf Amir Bella Carlos Dora Erik
Fatima George Hanna Ivan Julia Kofi Laura Marco Nadia Omar Priya Rafael Sofia Thomas Ursula
Valentin William Aisha Boris Chloe Diego Eva Finn Hana Isaac Jana Kenji Lucy Mateo Nina Otto
Paula Ravi Sara Tariq Viola Wei Adam Berta Colin Diana Edgar Flora Gustav Helen Igor Joan Klaus
Linda Martin Nelly""".split(),
             wild=.6,
             capital=True)
LAST = Pool("last",
            """
Adler Becker Carter Duarte Evans Fischer Garcia Hansen Ivanov Jensen Keller Lopez Meyer Nakamura
Olsen Patel Quirk Rossi Schmidt Tanaka Ueda Vogel Weber Young Ziegler Arnold Brandt Cohen Dietz
Eriksen Fuchs Gruber Haas Irving Jacobs Kowalski Lang Moreau Novak Ortiz Peters Reuter Silva
Turner Urban Varga Wagner Yilmaz Zimmer Baker Cooper Mason Parker""".split(),
            wild=.6,
            capital=True)
CITY = Pool(
    "city",
    """Berlin Paris London Madrid Rome Vienna Prague Lisbon Oslo Dublin Athens Warsaw Zurich Hamburg
Munich Lyon Milan Porto Bergen Cork Graz Krakow Geneva Bremen Leipzig Seville Turin Malmo
Tampere Riga Vilnius Tallinn Basel Ghent Utrecht""".split(),
    wild=.6,
    capital=True)
THING = Pool("thing",
             """
apple pear plum cherry lemon orange melon banana carrot potato onion tomato bean pepper book pen
pencil cup plate spoon fork knife glass bottle box bag basket chair table lamp clock key coin
stamp ticket card ball bike car boat train brick nail screw candle flower tree stone shell
button shirt sock shoe hat glove scarf coat egg bread cake cookie nut""".split(),
             wild=.6,
             capital=False)
COLOURS = ["red", "blue", "green", "yellow", "orange", "purple", "black", "pink"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December"
]
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def plural(w):
    if w.endswith(("s", "x", "sh", "ch")):
        return w + "es"
    if w == "knife":
        return "knives"
    if w.endswith("y") and w[-2] not in "aeiou":
        return w[:-1] + "ies"
    if w in ("potato", "tomato"):
        return w + "es"
    return w + "s"


# Marks around text that is written letter by letter (one token for each character). Reading a
# picture, spelling and changing case become a question of characters and not of word pieces.
SPELL_ON, SPELL_OFF = "\x02", "\x03"


def spell(s):
    return SPELL_ON + s + SPELL_OFF


def plain(s):
    return s.replace(SPELL_ON, "").replace(SPELL_OFF, "")


class Turn:
    """One question and its answer. `user` is a list of strings and pictures; `check` tells how an
    answer is judged:
    exact = the whole answer, contains = all of these, ignoring case. `then` makes follow-up
    turns: functions (rng, split, strength) -> Turn."""

    def __init__(self, user, answer, think="", check=None, kind="", then=()):
        self.user = user if isinstance(user, list) else [user]
        self.answer, self.think, self.kind, self.then = answer, think, kind, list(then)
        self.check = check or {"exact": plain(answer)}
