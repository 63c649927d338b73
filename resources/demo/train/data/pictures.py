"""Questions about pictures: shapes, text, windows, bar charts, tables; one or two pictures in a
message.

A scene draws one picture and can then be asked any number of questions about it, which is how
the follow-up turns come about.
"""
from .draw import KINDS, RGB, background, colour, font, ink, lum, noise, shape, Canvas
from .words import CITY, DICT, FIRST, LAST, THING, Turn, frame, held, plain, single, spell

HAS = "\nCheck: I looked at the picture again. Correct."


class Scene:
    pic = None
    questions = ()

    def first(self, rng, split, s):
        t = self.ask(rng, split, s)
        t.user = [self.pic] + t.user
        return t

    def ask(self, rng, split, s):
        while True:
            t = rng.choice(self.questions)(rng, split, s)
            if t:
                break
        t.kind = self.kind
        t.then = [lambda r, sp, st: self._again(r, sp, st)] * 2
        return t

    def _again(self, rng, split, s):
        t = self.ask(rng, split, s)
        t.kind = "follow-up"
        return t


# ------------------------------------------------------------------------------- shapes
def an(w):
    return ("an " if w[0] in "aeiou" else "a ") + w


def join(v):
    return v[0] if len(v) == 1 else ", ".join(v[:-1]) + " and " + v[-1]


class Shapes(Scene):
    kind = "shapes"

    def __init__(self, rng, split):
        rows, cols = rng.choice([(1, 1), (1, 2), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 2),
                                 (2, 3), (3, 2)])
        cw, ch = rng.randint(52, 84), rng.randint(52, 84)
        w, h = cols * cw + rng.randint(0, 30), rows * ch + rng.randint(0, 30)
        dark = rng.random() < .15
        ground = colour(rng, 25, 60) if dark else rng.choice([(255, 255, 255), (255, 255, 255),
                                                              colour(rng, 232, 255),
                                                              colour(rng, 205, 245)])
        c = Canvas(w, h, ground)
        self.rows, self.cols = rows, cols
        keep = 1.0 if rows * cols <= 2 or rng.random() < .5 else .75
        self.items = []  # (row, col, colour, kind)
        names = [x for x in RGB if not (dark and x in ("black", "purple", "blue"))]
        while not self.items or held("shapes", self.items) != (split == "test"):
            few = rng.sample(names, rng.randint(1, min(4,
                                                       len(names)))) if rng.random() < .4 else names
            kinds = rng.sample(KINDS, rng.randint(1, 3)) if rng.random() < .4 else KINDS
            self.items = [(r, q, rng.choice(few), rng.choice(kinds)) for r in range(rows)
                          for q in range(cols) if rng.random() < keep]
        ox, oy = (w - cols * cw) / 2, (h - rows * ch) / 2
        line = (60, 60, 60) if rng.random() < .2 and not dark else None
        for r, q, col, kd in self.items:
            rad = rng.uniform(.26, .40) * min(cw, ch)
            x, y = ox + (q + .5) * cw + rng.uniform(-4, 4), oy + (r + .5) * ch + rng.uniform(-4, 4)
            fill = tuple(min(255, max(0, v + rng.randint(-12, 12))) for v in RGB[col])
            shape(c.d, kd, x, y, rad, fill, line)
        self.pic = c.done(rng, split)
        self.names = [f"{x[2]} {x[3]}" for x in self.items]
        self.questions = [
            self.how_many, self.how_many, self.kind_count, self.colour_count, self.colour_of,
            self.colour_of, self.kind_of, self.kind_of, self.describe, self.describe, self.there,
            self.place, self.place
        ]

    def think(self, s, low="", end=""):
        """`end` leads from what is seen to the answer"""
        n = len(self.items)
        if s == 0:
            return low
        if s == 1:
            return "I see " + ", ".join(self.names) + "." + end
        t = "I look row by row, from left to right: " + ", ".join(
            f"{i + 1} {x}" for i, x in enumerate(self.names)) + f". That makes {n}." + end
        return t + (HAS.replace("again.", "again and found " + join([an(x) for x in self.names]) +
                                ".") if s == 3 else "")

    def counted(self, s, what, hits):
        """thinking that goes through the shapes of one kind or colour"""
        low = ", ".join(f"{i + 1} {x}" for i, x in enumerate(hits)) or "none"
        return self.think(
            s, low, f" The {what}: {low}."
            if s == 1 else f"\nThe {what} among them: {low}. So there are {len(hits)}.")

    def how_many(self, rng, split, s):
        w = [
            "How many shapes are there?", "How many shapes do you see?", "Count the shapes.",
            "How many figures are in the picture?", "What is the number of shapes?",
            "How many things are drawn here?"
        ]
        n = len(self.items)
        return Turn(frame(rng, w, split),
                    f"There {'is' if n == 1 else 'are'} {n} shape{'s' * (n != 1)}.",
                    self.think(s, ", ".join(str(i + 1) for i in range(n)) if n > 3 else ""))

    def kind_count(self, rng, split, s):
        k = rng.choice([x[3] for x in self.items] + [rng.choice(KINDS)])
        n = sum(x[3] == k for x in self.items)
        w = [
            "How many {k} are there?", "How many {k} do you see?", "Count the {k}.",
            "How many {k} are in the picture?", "What is the number of {k}?"
        ]
        pl = k + ("es" if k == "cross" else "s")
        return Turn(
            frame(rng, w, split).format(k=pl),
            f"There {'is' if n == 1 else 'are'} {n} {k if n == 1 else pl}.",
            self.counted(s, pl, [x[2] for x in self.items if x[3] == k]))

    def colour_count(self, rng, split, s):
        k = rng.choice([x[2] for x in self.items] + [rng.choice(list(RGB))])
        n = sum(x[2] == k for x in self.items)
        w = [
            "How many {k} shapes are there?", "How many {k} shapes do you see?",
            "Count the {k} shapes.", "How many shapes are {k}?", "What is the number of {k} shapes?"
        ]
        return Turn(
            frame(rng, w, split).format(k=k),
            f"There {'is' if n == 1 else 'are'} {n} {k} shape{'s' * (n != 1)}.",
            self.counted(s, f"{k} ones", [x[3] for x in self.items if x[2] == k]))

    def colour_of(self, rng, split, s):
        one = [x for x in self.items if sum(y[3] == x[3] for y in self.items) == 1]
        if not one:
            return None
        x = rng.choice(one)
        w = [
            "What colour is the {k}?", "Which colour does the {k} have?",
            "What is the colour of the {k}?", "The {k}, which colour is it?",
            "Name the colour of the {k}.", "What color is the {k}?",
            "In which colour is the {k} drawn?"
        ]
        return Turn(frame(rng, w, split).format(k=x[3]), f"The {x[3]} is {x[2]}.", self.think(s))

    def kind_of(self, rng, split, s):
        one = [x for x in self.items if sum(y[2] == x[2] for y in self.items) == 1]
        if not one:
            return None
        x = rng.choice(one)
        w = [
            "Which shape is {k}?", "What shape is {k}?", "What is the {k} shape?",
            "What kind of shape is the {k} one?", "Name the {k} shape.", "Which figure is {k}?"
        ]
        return Turn(
            frame(rng, w, split).format(k=x[2]), f"The {x[2]} shape is {an(x[3])}.", self.think(s))

    def describe(self, rng, split, s):
        w = [
            "What is in this picture?", "Describe the picture.", "What do you see?",
            "What does the picture show?", "What is this?", "Which shapes are in the picture?",
            "Tell me what you see.", "List the shapes in the picture.",
            "Please name everything in this picture."
        ]
        return Turn(frame(rng, w, split), "I see " + join([an(x) for x in self.names]) + ".",
                    self.think(s))

    def there(self, rng, split, s):
        if rng.random() < .5:
            r, q, c, k = rng.choice(self.items)
        else:
            c, k = rng.choice(list(RGB)), rng.choice(KINDS)
        yes = any(x[2] == c and x[3] == k for x in self.items)
        w = [
            "Is there a {c} {k}?", "Do you see a {c} {k}?", "Is a {c} {k} in the picture?",
            "Can you see a {c} {k}?", "Does the picture show a {c} {k}?"
        ]
        return (Turn(
            frame(rng, w, split).format(c=c, k=k).replace(" a orange", " an orange"),
            f"{'Yes' if yes else 'No'}, there is "
            f"{'' if yes else 'no ' }{an(c + ' ' + k) if yes else c + ' ' + k}.", self.think(s)))

    def place(self, rng, split, s):
        at = {(x[0], x[1]): x for x in self.items}
        R, C = self.rows - 1, self.cols - 1
        if len(at) < 2:
            return None
        opts = ([("on the left", (0, 0)),
                 ("on the right",
                  (0, C))] if R == 0 else [("at the top", (0, 0)),
                                           ("at the bottom",
                                            (R, 0))] if C == 0 else [("at the top left", (0, 0)),
                                                                     ("at the top right", (0, C)),
                                                                     ("at the bottom left", (R, 0)),
                                                                     ("at the bottom right", (R,
                                                                                              C))])
        opts = [(t, at[p]) for t, p in opts if p in at]
        if not opts:
            return None
        t, x = rng.choice(opts)
        w = [
            "What is {t}?", "Which shape is {t}?", "What do you see {t}?", "What shape is {t}?",
            "Tell me what is {t}.", "What stands {t}?"
        ]
        return Turn(
            frame(rng, w, split).format(t=t), f"{t[0].upper() + t[1:]} is {an(x[2] + ' ' + x[3])}.",
            self.think(s))


# ------------------------------------------------------------------------------- text
def snippet(rng, split, limit=24):
    """something to read: words, codes, numbers; new in each split"""
    while True:
        k = rng.randrange(12)
        if k < 2 and split == "train":  # as people write
            t = " ".join(
                rng.choice([
                    DICT.pick(rng, split), DICT.pick(rng, split), single(rng),
                    str(rng.randint(1, 99)), f"{rng.randint(1, 12)}:{rng.randint(0, 59):02d}"
                ]) for _ in range(rng.randint(2, 4)))
            t = rng.choice([t, t.capitalize(), t[0].upper() + t[1:]])
        elif k < 5:
            t = " ".join(DICT.sample(rng, split, rng.choice([1, 1, 2, 2, 3, 4])))
            t = rng.choice([t, t, t.capitalize(), t.title(), t.upper()])
        elif k < 6:
            t = f"{FIRST.pick(rng, split)} {LAST.pick(rng, split)}"
        elif k < 8:
            t = "".join(
                rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(rng.randint(3, 8)))
            if rng.random() < .5:
                i = rng.randint(1, len(t) - 1)
                t = t[:i] + rng.choice("-/.:") + t[i:]
        elif k < 9:
            t = str(rng.randint(0, 10**rng.randint(1, 7)))
        elif k < 10:
            t = rng.choice([
                f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}",
                f"{rng.randint(1, 99)}.{rng.randint(0, 99):02d} EUR",
                f"{rng.randint(2020, 2031)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
                f"Room {rng.randint(1, 500)}", f"Gate {rng.choice('ABCDEF')}{rng.randint(1, 60)}",
                f"{rng.randint(1, 100)} %"
            ])
        elif k < 11:
            t = DICT.pick(rng, split).capitalize() + " " + DICT.pick(rng, split) + rng.choice(
                ["!", "?", ".", " " + str(rng.randint(1, 99))])
        else:
            t = (f"{DICT.pick(rng, split)}{rng.choice(['.txt', '.png', '.pdf', '_', '@'])}"
                 f"{rng.choice(['', DICT.pick(rng, split)[:5]])}")
        if 1 <= len(t) <= limit and (split == "train" or len(t) > 2) and (k < 6 or k > 9 or held(
                "snip", t) == (split == "test")):
            return t


class Text(Scene):
    kind = "text"

    def __init__(self, rng, split, limit=None):
        limit = limit or 24
        self.text = snippet(rng, split, limit)
        f = font(rng, 14, 30)
        words = self.text.split(" ")
        self.lines = [self.text]
        if len(words) > 1 and (f.getlength(self.text) > 230 or rng.random() < .2):
            i = max(1, len(words) // 2)
            self.lines = [" ".join(words[:i]), " ".join(words[i:])]
        if max(f.getlength(x) for x in self.lines) > 330:
            f = font(rng, 14, 18)
        tw = int(max(f.getlength(x) for x in self.lines))
        lh = int(f.size * rng.uniform(1.2, 1.5))
        w, h = max(28, tw + rng.randint(8, 50)), max(28, lh * len(self.lines) + rng.randint(4, 30))
        c, ground = background(rng, w, h)
        col = ink(rng, ground, 120)
        x, y = rng.randint(3, max(3, w - tw - 3)), rng.randint(2, max(2, h - lh * len(self.lines)))
        for i, line in enumerate(self.lines):
            c.text(x, y + i * lh, line, f, col)
        self.pic = c.done(rng, split)
        self.questions = [self.read] * 6 + [self.words, self.capitals]

    def think(self, s):
        if s == 0:
            return ""
        if s == 1:
            return "I read the text in the picture."
        n = len(self.lines)
        t = (f"The picture shows {'one line' if n == 1 else 'two lines'} of text. I read: "
             f"{spell(self.text)}")
        return t + (f"\nCheck: I read it again: {spell(self.text)}\nCorrect." if s == 3 else "")

    def read(self, rng, split, s):
        w = [
            "Read the text.", "What does it say?", "What is written here?", "Read this, please.",
            "What does the picture say?", "Which text is in the picture?",
            "What is written in the picture?", "Please read the text in this picture.",
            "What text do you see?", "Tell me what it says.", "Copy the text from the picture.",
            "Can you read this?", "What can you read here?", "Give me the text of this picture.",
            "Which words are written there?"
        ]
        return Turn(frame(rng, w, split), f'The text says: "{spell(self.text)}"', self.think(s))

    def words(self, rng, split, s):
        n = len(self.text.split(" "))
        w = [
            "How many words are in the picture?", "How many words does it have?",
            "Count the words in the picture.", "How many words do you see?",
            "What is the number of words in the picture?"
        ]
        return Turn(frame(rng, w, split), f"It has {n} word{'s' * (n != 1)}.", self.think(s))

    def capitals(self, rng, split, s):
        w = [
            "Write the text in capital letters.", "Give me the text in capitals.",
            "The text in upper case, please.", "What is the text in capital letters?",
            "Read it and write it in capitals."
        ]
        return Turn(frame(rng, w, split), spell(self.text.upper()), self.think(s))


# ------------------------------------------------------------------------------- windows
BUTTONS = [
    "OK", "Cancel", "Retry", "Close", "Yes", "No", "Save", "Open", "Help", "Ignore", "Next", "Back",
    "Apply", "Abort", "Continue", "Delete", "Send", "Stop", "Start", "Print", "Copy", "Later",
    "Accept", "Skip", "Finish", "Install"
]


class Dialog(Scene):
    kind = "windows"

    def __init__(self, rng, split):
        while True:
            side, mid, theme, bar = rng.choice("lmr"), rng.random() < .4, rng.randrange(
                5), rng.random() < .85
            if held("layout", side, mid, theme, bar) == (split == "test"):
                break
        f = font(rng, 13, 16, plain=True)
        self.title = rng.choice([
            DICT.pick(rng, split).capitalize(), "Error", "Warning", "Update", "Settings", "Message",
            "Save File", "Setup", " ".join(DICT.sample(rng, split, 2)).title()
        ])
        wd = DICT.pick(rng, split)
        msgs = [[f"File {wd} not found."], [f"The {wd} is full."], [f"Save {wd}.txt?"],
                [f"Cannot open {wd}."], [f"{wd.capitalize()} is ready."], [f"No {wd} was found."],
                [f"Delete {wd}?"], [f"The {wd} is", "not available."],
                ["Please restart", f"the {wd}."], [f"Update {rng.randint(1, 99)} is", "ready."]]
        self.msg = rng.choice(msgs)
        self.code = None
        if rng.random() < .5:
            self.code = rng.choice([
                f"{rng.randint(10, 9999)}", f"E-{rng.randint(10, 999)}",
                f"0x{rng.getrandbits(16):04X}", f"{rng.choice('ABCDEFG')}{rng.randint(100, 999)}"
            ])
        n = rng.choice([1, 1, 2, 2, 3])
        self.buttons = [
            b if rng.random() < .8 else DICT.pick(rng, split).capitalize()[:9]
            for b in rng.sample(BUTTONS, n)
        ]
        lh = f.size + rng.randint(5, 9)
        lines = self.msg + ([rng.choice(["Error code: ", "Code: ", "Error "]) +
                             self.code] if self.code else [])
        bw = [int(f.getlength(b)) + rng.randint(14, 26) for b in self.buttons]
        w = max([int(f.getlength(x)) + 36 for x in lines] +
                [sum(bw) + 8 * n + 24, int(f.getlength(self.title)) + 60]) + rng.randint(0, 30)
        th = lh + 6 if bar else 0
        h = th + lh * len(lines) + lh + 38 + rng.randint(0, 12)
        body, head = [((240, 240, 240), (50, 90, 160)), ((255, 255, 255), (225, 225, 225)),
                      ((45, 45, 48), (30, 30, 30)), ((236, 233, 216), (10, 80, 200)),
                      ((250, 250, 250), (90, 40, 110))][theme]
        fg, hfg = ((0, 0, 0) if lum(body) > 128 else
                   (240, 240, 240)), ((0, 0, 0) if lum(head) > 128 else (255, 255, 255))
        c = Canvas(w, h, body)
        c.d.rectangle([0, 0, w - 1, h - 1], outline=tuple(int(x * .7) for x in body))
        if bar:
            c.d.rectangle([0, 0, w - 1, th], fill=head)
            c.text(w / 2 if mid else 8, th / 2, self.title, f, hfg, "mm" if mid else "lm")
            if not mid:
                x, y = w - 14, th / 2
                c.d.line([x - 4, y - 4, x + 4, y + 4], fill=hfg)
                c.d.line([x - 4, y + 4, x + 4, y - 4], fill=hfg)
        else:
            self.title = None
        y = th + 10
        for x in lines:
            c.text(14, y, x, f, fg)
            y += lh
        tot = sum(bw) + 8 * (n - 1)
        x = 12 if side == "l" else (w - tot) // 2 if side == "m" else w - tot - 12
        y = h - lh - 16
        bf = tuple(
            min(255, v + 15) for v in body) if lum(body) < 128 else rng.choice([(225, 225, 225),
                                                                                (255, 255, 255),
                                                                                (210, 225, 245)])
        for b, q in zip(self.buttons, bw):
            c.d.rounded_rectangle([x, y, x + q, y + lh + 6],
                                  radius=rng.choice([0, 3, 5]),
                                  fill=bf,
                                  outline=(120, 120, 120))
            c.text(x + q / 2, y + lh / 2 + 3, b, f, fg, "mm")
            x += q + 8
        self.pic = c.done(rng, split)
        self.questions = [self.button, self.button, self.message] + (
            [self.error] * 2 if self.code else []) + ([self.head] if self.title else [])

    def think(self, s, what):
        if s == 0:
            return ""
        if s == 1:
            return "I look at the window."
        t = ("The picture shows a window." +
             (f" Its title is {spell(self.title)}." if self.title else " It has no title.") +
             f" The message is {spell(' '.join(self.msg))}" +
             (f" The code is {spell(self.code)}." if self.code else "") +
             f" The buttons are {', '.join(spell(b) for b in self.buttons)}.")
        return t + (f"\nCheck: the question is about the {what}. I looked at it again. Correct."
                    if s == 3 else "")

    def button(self, rng, split, s):
        n = len(self.buttons)
        if n == 1:
            w = [
                "What does the button say?", "What is written on the button?",
                "Which button is there?", "Read the button.", "What is the name of the button?",
                "Which text is on the button?"
            ]
            a = f"The button says {spell(self.buttons[0])}."
        else:
            w = [
                "Which buttons are there?", "What do the buttons say?", "Name the buttons.",
                "What are the buttons?", "List the buttons of the window.",
                "Which buttons can I press?"
            ]
            a = f"The buttons are {join([spell(b) for b in self.buttons])}."
        return Turn(frame(rng, w, split), a, self.think(s, "buttons"))

    def message(self, rng, split, s):
        w = [
            "What does the message say?", "Read the message.", "What is the message?",
            "What does the window say?", "Which message is shown?", "What does the dialog tell me?"
        ]
        return Turn(frame(rng, w, split), f'The message says: "{spell(" ".join(self.msg))}"',
                    self.think(s, "message"))

    def error(self, rng, split, s):
        w = [
            "What is the error code?", "Which error code is shown?", "Which code is it?",
            "Read the error code.", "Tell me the error code.", "Which code do you see?",
            "Which number does the error have?"
        ]
        return Turn(frame(rng, w, split), f"The error code is {spell(self.code)}.",
                    self.think(s, "code"))

    def head(self, rng, split, s):
        w = [
            "What is the title of the window?", "Which title does the window have?",
            "Read the title.", "What does the title bar say?", "What is the window called?",
            "Tell me the title of the dialog."
        ]
        return Turn(frame(rng, w, split), f"The title is {spell(self.title)}.",
                    self.think(s, "title"))


# ------------------------------------------------------------------------------- bar charts
SHORT_DAYS, SHORT_MONTHS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
]


class Chart(Scene):
    kind = "charts"

    def __init__(self, rng, split):
        n = rng.randint(3, 6)
        k = rng.randrange(5)
        if k < 2:
            src = [SHORT_DAYS, SHORT_MONTHS][k]
            i = rng.randrange(len(src) - n + 1)
            self.labels = src[i:i + n]
        elif k == 2:
            self.labels = list("ABCDEFGH"[:n])
        elif k == 3:
            self.labels = [x[:5] for x in FIRST.sample(rng, split, n)]
        else:
            self.labels = [x[:5].capitalize() for x in DICT.sample(rng, split, n)]
        if len(set(self.labels)) < n:
            self.labels = list("PQRSTUVW"[:n])
        while True:
            self.values = rng.sample(range(1, rng.choice([20, 100, 100])), n)
            if held("chart", *self.values) == (split == "test"):
                break
        self.title = rng.choice(
            [None, None,
             DICT.pick(rng, split).capitalize(), "Sales", "Visitors", "Rain", "Points"])
        f = font(rng, 13, 15, plain=True)
        ground = rng.choice([(255, 255, 255), (255, 255, 255), (245, 245, 240), (235, 240, 250),
                             (40, 42, 48)])
        fg = (0, 0, 0) if lum(ground) > 128 else (235, 235, 235)
        one = rng.random() < .6
        cols = [colour(rng, 40, 210) for _ in range(n)] if not one else [colour(rng, 40, 210)] * n
        top = f.size + 10 if self.title else 4
        if rng.random() < .7:  # upright
            sw = max(max(int(f.getlength(x)) for x in self.labels) + 8, rng.randint(30, 42))
            ph = rng.randint(70, 115)
            w, h = sw * n + 24, top + ph + 2 * f.size + 18
            c = Canvas(w, h, ground)
            base = top + ph + f.size + 6
            for i, (lb, v) in enumerate(zip(self.labels, self.values)):
                x, bh = 12 + i * sw, max(2, int(ph * v / max(self.values)))
                c.d.rectangle([x + 5, base - bh, x + sw - 5, base], fill=cols[i])
                c.text(x + sw / 2, base - bh - 2, str(v), f, fg, "mb")
                c.text(x + sw / 2, base + 4, lb, f, fg, "ma")
            c.d.line([8, base, w - 8, base], fill=fg)
        else:  # lying
            lw = max(int(f.getlength(x)) for x in self.labels) + 14
            rh, pw = f.size + rng.randint(8, 14), rng.randint(90, 140)
            w, h = lw + pw + 40, top + rh * n + 10
            c = Canvas(w, h, ground)
            for i, (lb, v) in enumerate(zip(self.labels, self.values)):
                y, bw = top + i * rh, max(2, int(pw * v / max(self.values)))
                c.d.rectangle([lw, y + 4, lw + bw, y + rh - 3], fill=cols[i])
                c.text(lw - 5, y + rh / 2, lb, f, fg, "rm")
                c.text(lw + bw + 4, y + rh / 2, str(v), f, fg, "lm")
            c.d.line([lw, top, lw, h - 6], fill=fg)
        if self.title:
            c.text(w / 2, 4, self.title, f, fg, "ma")
        self.pic = c.done(rng, split)
        self.questions = [self.value] * 4 + [self.top, self.low, self.bars
                                             ] + ([self.head] if self.title else [])

    def think(self, s, best=None, until=None):
        """`best` is max or min: then the best bar so far is carried along, with its label. `until`
        is the bar that is asked for: low strength reads no further."""
        pairs = [f"{spell(a)} {b}" for a, b in zip(self.labels, self.values)]
        run = [
            pairs[self.values.index(best(self.values[:i + 1]))] for i in range(len(self.values))
        ] if best else []
        if s == 0:
            return ", ".join(run or pairs[:0 if until is None else until + 1])
        bars = ", ".join(pairs)
        far = (f" The {'largest' if best is max else 'smallest'} so far: {', '.join(run)}."
               if best else "")
        if s == 1:
            return f"The bars are {bars}." + far
        t = f"The picture is a bar chart with {len(self.values)} bars." + (
            f" Its title is {spell(self.title)}."
            if self.title else "") + f" I read them in order: {bars}." + far
        return t + ("\nCheck: the largest is " + str(max(self.values)) + " and the smallest is " +
                    str(min(self.values)) + ". Correct." if s == 3 else "")

    def value(self, rng, split, s):
        i = rng.randrange(len(self.values))
        w = [
            "What is the value of {l}?", "How much is {l}?", "Which value does {l} have?",
            "Read the value of {l}.", "What is the number for {l}?", "Tell me the value of {l}.",
            "How high is the bar {l}?"
        ]
        return Turn(
            frame(rng, w, split).format(l=self.labels[i]),
            f"The value of {spell(self.labels[i])} is {self.values[i]}.",
            self.think(s, until=i))

    def top(self, rng, split, s):
        i = self.values.index(max(self.values))
        w = [
            "Which bar is the highest?", "Which bar is the largest?", "What has the highest value?",
            "Which one is the biggest?", "Where is the maximum?",
            "Which label has the largest value?"
        ]
        return Turn(frame(rng, w, split),
                    f"The highest is {spell(self.labels[i])} with {self.values[i]}.",
                    self.think(s, max))

    def low(self, rng, split, s):
        i = self.values.index(min(self.values))
        w = [
            "Which bar is the lowest?", "Which bar is the smallest?", "What has the lowest value?",
            "Which one is the least?", "Where is the minimum?",
            "Which label has the smallest value?"
        ]
        return Turn(frame(rng, w, split),
                    f"The lowest is {spell(self.labels[i])} with {self.values[i]}.",
                    self.think(s, min))

    def bars(self, rng, split, s):
        w = [
            "How many bars are there?", "How many bars does the chart have?", "Count the bars.",
            "How many bars do you see?", "What is the number of bars?"
        ]
        return Turn(frame(rng, w, split), f"There are {len(self.values)} bars.", self.think(s))

    def head(self, rng, split, s):
        w = [
            "What is the title of the chart?", "Which title does the chart have?",
            "Read the title of the chart.", "What does the heading say?", "How is the chart called?"
        ]
        return Turn(frame(rng, w, split), f"The title is {spell(self.title)}.", self.think(s))


# ------------------------------------------------------------------------------- tables
class Table(Scene):
    kind = "tables"

    def __init__(self, rng, split):
        n = rng.randint(2, 4)
        k = rng.randrange(3)
        self.keys = [x[:9] for x in [FIRST, CITY, THING][k].sample(rng, split, n)]
        if k == 2:
            self.keys = [x.capitalize() for x in self.keys]
        cols = rng.sample([["Age", "Points", "Team", "Room"], ["People", "Code", "Hotels", "Zone"],
                           ["Price", "Stock", "Number", "Size"]][k], rng.choice([1, 2, 2]))
        self.head = [["Name", "City", "Item"][k]] + cols
        while True:
            self.data = [[
                rng.randint(1, 99) if c not in ("Code", "Team",
                                                "Zone") else rng.choice("ABCDEFGH") +
                str(rng.randint(1, 9)) for c in cols
            ] for _ in range(n)]
            nums = [i for i, c in enumerate(cols) if isinstance(self.data[0][i], int)]
            if all(len({r[i]
                        for r in self.data}) == n
                   for i in nums) and held("table", self.data) == (split == "test"):
                break
        f = font(rng, 13, 16, plain=True)
        cells = [self.head] + [[a] + [str(x) for x in r] for a, r in zip(self.keys, self.data)]
        cw = [
            max(int(f.getlength(r[i])) for r in cells) + rng.randint(14, 28)
            for i in range(len(self.head))
        ]
        rh = f.size + rng.randint(8, 13)
        pad = rng.randint(2, 10)
        w, h = sum(cw) + 2 * pad, rh * (n + 1) + 2 * pad
        ground = rng.choice([(255, 255, 255), (255, 255, 255), (248, 248, 242), (235, 242, 250),
                             (38, 40, 46)])
        fg = (0, 0, 0) if lum(ground) > 128 else (235, 235, 235)
        style = rng.randrange(4)  # full grid, lines only, head only, stripes
        c = Canvas(w, h, ground)
        line = tuple(int(.6 * a + .4 * b) for a, b in zip(ground, fg))
        if style != 1:
            c.d.rectangle([pad, pad, w - pad, pad + rh],
                          fill=tuple(int(.85 * a + .15 * b) for a, b in zip(ground, fg)))
        for r in range(n + 2):
            y = pad + r * rh
            if style == 3 and r > 1 and r <= n and r % 2 == 0:
                c.d.rectangle([pad, y, w - pad, y + rh],
                              fill=tuple(int(.94 * a + .06 * b) for a, b in zip(ground, fg)))
            if style in (0, 1) or r in (0, 1, n + 1) and style == 2:
                c.d.line([pad, y, w - pad, y], fill=line)
        if style == 0:
            x = pad
            for q in cw + [0]:
                c.d.line([x, pad, x, h - pad], fill=line)
                x += q
        left = rng.random() < .6
        for r, row in enumerate(cells):
            x = pad
            for i, t in enumerate(row):
                c.text(x + (7 if left else cw[i] / 2), pad + r * rh + rh / 2, t, f, fg,
                       "lm" if left else "mm")
                x += cw[i]
        self.pic, self.nums = c.done(rng, split), nums
        self.questions = [self.cell] * 4 + [self.rows, self.columns] + ([self.best] if nums else [])

    def row(self, i):
        return ", ".join(f"{spell(h)} {spell(x) if isinstance(x, str) else x}"
                         for h, x in zip(self.head[1:], self.data[i]))

    def think(self, s, i=None, end=""):
        """`i` is the row that is asked for; every cell is named by its column"""
        if s == 0:
            return "" if i is None or len(self.head) == 2 else self.row(i)
        if s == 1 and i is not None:
            return f"The row {spell(self.keys[i])} has {self.row(i)}." + end
        rows = "; ".join(f"{spell(a)}: {self.row(j)}" for j, a in enumerate(self.keys))
        if s == 1:
            return f"The rows are {rows}." + end
        t = (f"The picture is a table with the columns {', '.join(map(spell, self.head))}. It "
             f"has {len(self.keys)} rows: {rows}." +
             (f" I need the row {spell(self.keys[i])}: {self.row(i)}." if i is not None else "") +
             end)
        return t + (f"\nCheck: {len(self.keys)} rows with {len(self.head)} cells each. Correct."
                    if s == 3 else "")

    def cell(self, rng, split, s):
        i, j = rng.randrange(len(self.keys)), rng.randrange(len(self.data[0]))
        w = [
            "What is the {c} of {k}?", "Which {c} does {k} have?", "{c} of {k}?",
            "Read the {c} of {k}.", "Tell me the {c} of {k}.", "What stands under {c} for {k}?"
        ]
        c, k, v = self.head[j + 1], self.keys[i], self.data[i][j]
        v = spell(v) if isinstance(v, str) else v
        return Turn(
            frame(rng, w, split).format(c=c, k=k), f"The {spell(c)} of {spell(k)} is {v}.",
            self.think(s, i))

    def rows(self, rng, split, s):
        w = [
            "How many rows does the table have?", "How many rows are there without the head?",
            "Count the rows of the table.", "How many entries does the table have?",
            "What is the number of rows?"
        ]
        return Turn(frame(rng, w, split), f"The table has {len(self.keys)} rows.", self.think(s))

    def columns(self, rng, split, s):
        w = [
            "Which columns does the table have?", "What are the columns?",
            "Name the columns of the table.", "Read the head of the table.",
            "List the column names."
        ]
        return Turn(frame(rng, w, split), f"The columns are {join([spell(x) for x in self.head])}.",
                    self.think(s))

    def best(self, rng, split, s):
        j = rng.choice(self.nums)
        col = [r[j] for r in self.data]
        i = col.index(max(col))
        run = ", ".join(f"{spell(self.keys[k])} {col[k]}"
                        for k in (col.index(max(col[:n + 1])) for n in range(len(col))))
        end = f" The largest {spell(self.head[j + 1])} so far: {run}."
        w = [
            "Who or what has the highest {c}?", "Which row has the highest {c}?",
            "Where is the {c} highest?", "Which one has the largest {c}?",
            "Find the row with the largest {c}."
        ]
        return Turn(
            frame(rng, w, split).format(c=self.head[j + 1]),
            f"{spell(self.keys[i])} has the highest {spell(self.head[j + 1])} with {col[i]}.",
            self.think(s, end=end) if s else run)


# ------------------------------------------------------------------------------- anything else
class Unknown(Scene):
    """What is none of the others: empty, noise, blots, stripes. For training only."""
    kind = "unknown"

    def __init__(self, rng, split):
        w, h = rng.randint(28, 360), rng.randint(28, 300)
        c, base = background(rng, w, h)
        k = rng.randrange(4)
        if k == 0:
            c = noise(rng, w, h)
        elif k == 3 and rng.random() < .6:  # one strong colour, also in the least sizes
            w, h = (rng.choice([28, rng.randint(28, 120), rng.randint(28, 300)]) for _ in range(2))
            c = Canvas(w, h, tuple(rng.randrange(256) for _ in range(3)))
        elif k == 1:
            for _ in range(rng.randint(20, 200)):
                x, y, r = rng.randint(0, w), rng.randint(0, h), rng.uniform(1, 14)
                c.d.ellipse([x - r, y - r * rng.uniform(.3, 2), x + r, y + r], fill=colour(rng))
        elif k == 2:
            for _ in range(rng.randint(10, 60)):
                c.d.line([(rng.randint(0, w), rng.randint(0, h)) for _ in range(rng.randint(2, 6))],
                         fill=colour(rng), width=rng.randint(1, 6))
        self.pic = c.done(rng, split)
        self.questions = [self.anything]

    def anything(self, rng, split, s):
        w = [
            "What is in this picture?", "Describe this picture.", "What do you see?", "What is this?",
            "Read the text.", "What does it say?", "How many shapes are there?",
            "Which bar is the highest?", "What is written here?", "What does the picture show?",
            "Who is in the picture?", "Where was this taken?", "What does the button say?",
            "What is the error code?", "Tell me about this picture."
        ]
        t = [
            "", "I see nothing that I know.",
            "I look for shapes, text, a window, a chart or a table and find none of them.",
            "I look for shapes, text, a window, a chart or a table and find none of them.\nCheck: I "
            "looked at the picture again. Correct."
        ][s]
        return Turn(frame(rng, w, "train"),
                    "I see nothing in it that I know. I can read shapes, text, windows, charts and "
                    "tables.", t)


SCENES = [(Shapes, 4.4), (Text, 4.2), (Dialog, 1.8), (Chart, 4.2), (Table, 3.6)]


def scene(rng, split, kinds=SCENES):
    if split == "train" and rng.random() < .04:
        return Unknown(rng, split)
    return rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0](rng, split)


def one(rng, split, s):
    return scene(rng, split).first(rng, split, s)


def two(rng, split, s):
    """two pictures in one message, a question about one of them or about both texts"""
    if rng.random() < .4:
        a, b = Text(rng, split, 14), Text(rng, split, 14)
        w = [
            "What do the two pictures say?", "Read both pictures.",
            "Read the text of both pictures.", "What is written in the two pictures?",
            "What do both pictures say?"
        ]
        t = ("" if s == 0 else "I read both pictures." if s == 1 else f"There are two pictures. "
             f"The first says {spell(a.text)} and the second says {spell(b.text)}" +
             ("\nCheck: I read both again. Correct." if s == 3 else ""))
        return Turn([a.pic, b.pic, frame(rng, w, split)],
                    f'The first says: "{spell(a.text)}"\nThe second says: "{spell(b.text)}"',
                    t,
                    kind="two pictures")
    small = [(Shapes, 3), (Text, 2), (Chart, 1), (Table, 1)]
    a, b = scene(rng, split, small), scene(rng, split, small)
    i = rng.randrange(2)
    t = [a, b][i].ask(rng, split, s)
    o = ["first", "second"][i]
    w = [
        "Look at the {o} picture. {q}", "{q} I mean the {o} picture.", "In the {o} picture: {q}",
        "About the {o} picture: {q}", "{o} picture: {q}", "Take the {o} picture. {q}"
    ]
    t.user = [a.pic, b.pic, frame(rng, w, split).format(o=o, q=t.user[0])]
    t.think = t.think if s < 2 else f"There are two pictures. I look at the {o} one. " + t.think
    t.kind = "two pictures"

    def other(rng, split, s):
        j = rng.randrange(2)
        u = [a, b][j].ask(rng, split, s)
        oo = ["first", "second"][j]
        u.user = [frame(rng, w, split).format(o=oo, q=u.user[0])]
        u.think = (u.think if s < 2 else f"There are two pictures. I look at the {oo} one. " +
                   u.think)
        u.kind, u.then = "follow-up", []
        return u

    t.then = [other, other]
    return t
