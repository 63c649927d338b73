"""Words, names and the split between training and evaluation.

Everything a task draws from goes through `pick` or `held`, so that the evaluation set is made of
wordings, names, words and numbers that training never sees.
"""
import os
import zlib

DICTIONARY = os.environ.get("GLINT_WORDS", "/usr/share/dict/american-english-small")   # Debian: wamerican-small


def held(*key):
    """True for the tenth of all items that only the evaluation may use."""
    return zlib.crc32("\x1f".join(map(str, key)).encode()) % 10 == 0


def frame(rng, frames, split):
    """One wording. The last fifth of every list (at least one) is kept for the evaluation."""
    cut = len(frames) - max(1, len(frames) // 5)
    return rng.choice(frames[cut:] if split == "test" else frames[:cut])


class Pool:
    """A list divided by `held`; each half is drawn from in its own split only."""

    def __init__(self, tag, items):
        items = list(dict.fromkeys(items))
        self.train = [x for x in items if not held(tag, x)]
        self.test = [x for x in items if held(tag, x)] or items[:1]
        self.all = items

    def pick(self, rng, split):
        return rng.choice(self.test if split == "test" else self.train)

    def sample(self, rng, split, n):
        src = self.test if split == "test" else self.train
        if len(src) < n:                       # a small pool: fill the evaluation up with known items
            src = self.all
        return rng.sample(src, n)


def _dictionary():
    try:
        with open(DICTIONARY, encoding="utf-8") as f:
            words = [w.strip() for w in f]
    except OSError as e:
        raise SystemExit(f"{DICTIONARY}: {e}. Install the Debian package wamerican-small "
                         "or set GLINT_WORDS to a list with one word a line.")
    return [w for w in words if 3 <= len(w) <= 10 and w.isascii() and w.isalpha() and w.islower() and not any(r in w for r in RUDE)]


# the list is a general one: leave out what nobody wants to meet in a demonstration
RUDE = """fuck shit cunt dick cock piss whore slut rape rapi anal anus bitch bastard nigg nazi damn hell porn sex tit boob penis vagin castrat kill murder
suicid genocid drug coke heroin fag queer dyke spic kike turd crap poop fart arse ass bugger wank homo negro tramp slave lynch torture terror bomb
gun corpse dead death die dying blood sadis incest pimp prostit orgas erotic nude naked lust viol abuse molest pervert tumor cancer idiot moron
stupid retard cripple gay lesb hate hatr scum bimbo hooker snot puke vomit feces rectum scrot testic masturb jew arab gyps""".split()


DICT = Pool("dict", _dictionary())

FIRST = Pool("first", """Anna Ben Clara David Emma Felix Greta Henry Ida Jonas Karin Leo Mia Noah Olga Paul Rosa Sam Tina Uwe Vera
Walter Yara Zoe Alice Bruno Cora Daniel Elena Frank Gina Hugo Iris Jack Kate Lena Max Nora Oscar Petra Quinn Rita Simon Tom
Una Victor Wanda Xenia Yusuf Amir Bella Carlos Dora Erik Fatima George Hanna Ivan Julia Kofi Laura Marco Nadia Omar Priya
Rafael Sofia Thomas Ursula Valentin William Aisha Boris Chloe Diego Eva Finn Hana Isaac Jana Kenji Lucy Mateo Nina Otto
Paula Ravi Sara Tariq Viola Wei Adam Berta Colin Diana Edgar Flora Gustav Helen Igor Joan Klaus Linda Martin Nelly""".split())
LAST = Pool("last", """Adler Becker Carter Duarte Evans Fischer Garcia Hansen Ivanov Jensen Keller Lopez Meyer Nakamura Olsen Patel Quirk
Rossi Schmidt Tanaka Ueda Vogel Weber Young Ziegler Arnold Brandt Cohen Dietz Eriksen Fuchs Gruber Haas Irving Jacobs
Kowalski Lang Moreau Novak Ortiz Peters Reuter Silva Turner Urban Varga Wagner Yilmaz Zimmer Baker Cooper Mason Parker""".split())
CITY = Pool("city", """Berlin Paris London Madrid Rome Vienna Prague Lisbon Oslo Dublin Athens Warsaw Zurich Hamburg Munich Lyon Milan
Porto Bergen Cork Graz Krakow Geneva Bremen Leipzig Seville Turin Malmo Tampere Riga Vilnius Tallinn Basel Ghent Utrecht""".split())
THING = Pool("thing", """apple pear plum cherry lemon orange melon banana carrot potato onion tomato bean pepper book pen pencil cup plate
spoon fork knife glass bottle box bag basket chair table lamp clock key coin stamp ticket card ball bike car boat train
brick nail screw candle flower tree stone shell button shirt sock shoe hat glove scarf coat egg bread cake cookie nut""".split())
COLOURS = ["red", "blue", "green", "yellow", "orange", "purple", "black", "pink"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]
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


# Marks around text that is written letter by letter (one token for each character). Reading a picture,
# spelling and changing case become a question of characters and not of word pieces.
SPELL_ON, SPELL_OFF = "\x02", "\x03"


def spell(s):
    return SPELL_ON + s + SPELL_OFF


def plain(s):
    return s.replace(SPELL_ON, "").replace(SPELL_OFF, "")


class Turn:
    """One question and its answer. `user` is a list of strings and pictures; `check` tells how an answer is judged:
    exact = the whole answer, contains = all of these, ignoring case. `then` makes follow-up turns: functions
    (rng, split, strength) -> Turn."""

    def __init__(self, user, answer, think="", check=None, kind="", then=()):
        self.user = user if isinstance(user, list) else [user]
        self.answer, self.think, self.kind, self.then = answer, think, kind, list(then)
        self.check = check or {"exact": plain(answer)}
