"""Drawing the training pictures. Every picture remembers where its characters stand, so that
training can also tell the vision tower directly which characters lie in which 28-pixel cell (see
model.GlyphHead)."""
import glob
import math
import os
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

# A larger picture is reduced to MAX_CELLS cells of CELL x CELL pixels, here and, by the key that
# convert.py writes, in the program: so a picture of any size looks like those of training.
CELL, MAX_CELLS = 28, int(os.environ.get("GLINT_MAX_CELLS", "96"))
FONT_DIR = os.environ.get("GLINT_FONTS", "/usr/share/fonts")
# Debian packages: fonts-dejavu-core, fonts-liberation2, fonts-open-sans, fonts-roboto-unhinted,
# fonts-lato, fonts-inconsolata, fonts-firacode, fonts-cantarell, fonts-crosextra-carlito,
# fonts-crosextra-caladea, fonts-hack, fonts-jetbrains-mono, fonts-comfortaa, fonts-noto-core
# (licences: see README.md)
FONT_FILES = [
    "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf",
    "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf", "LiberationSans-Italic.ttf",
    "LiberationSerif-Regular.ttf", "LiberationSerif-Bold.ttf", "LiberationMono-Regular.ttf",
    "OpenSans-Regular.ttf", "OpenSans-Bold.ttf", "Roboto-Regular.ttf", "Roboto-Bold.ttf",
    "Lato-Regular.ttf", "Lato-Bold.ttf", "Inconsolata.otf", "FiraCode-Regular.ttf",
    "Cantarell-Regular.otf", "Carlito-Regular.ttf", "Caladea-Regular.ttf", "Hack-Regular.ttf",
    "JetBrainsMono-Regular.ttf", "Comfortaa-Regular.ttf", "NotoSans-Regular.ttf",
    "NotoSerif-Regular.ttf"
]
_paths, _cache = [], {}


def fonts():
    """the paths of all fonts that are installed; plain user-interface fonts are listed first"""
    if not _paths:
        have = {
            os.path.basename(p): p
            for p in sorted(glob.glob(FONT_DIR + "/**/*.[to]tf", recursive=True))
        }
        _paths.extend(have[f] for f in FONT_FILES if f in have)
        missing = [f for f in FONT_FILES if f not in have]
        if missing:
            print(f"without {', '.join(missing)}: pictures differ from those of the README",
                  file=sys.stderr)
        if not _paths:
            raise SystemExit(
                f"no font found under {FONT_DIR}: install the Debian packages named in data/draw.py"
            )
    return _paths


def font(rng, lo, hi, plain=False):
    ps = fonts()
    p = rng.choice([
        x for x in ps if os.path.basename(x).startswith(("DejaVuSans.", "LiberationSans-R",
                                                         "OpenSans-R", "Roboto-R", "Lato-R",
                                                         "NotoSans-R", "Carlito", "Cantarell"))
    ] or ps) if plain else rng.choice(ps)
    k = (p, rng.randint(lo, hi))
    if k not in _cache:
        _cache[k] = ImageFont.truetype(*k)
    return _cache[k]


def grid_for(h, w):
    """the grid of 28-pixel cells that the program chooses for a picture; ties go to the larger
    one"""
    ih, iw = h / CELL, w / CELL
    if ih * iw > MAX_CELLS:
        r = iw / ih
        ih = math.sqrt(MAX_CELLS / r)
        iw = ih * r
    c = {(a, b)
         for a in (math.floor(ih), math.ceil(ih)) for b in (math.floor(iw), math.ceil(iw))
         if a >= 1 and b >= 1 and a * b <= MAX_CELLS}
    if not c:  # a strip narrower than a cell
        rows = min(max(1, round(ih)), MAX_CELLS)
        c = {(rows, min(max(1, round(iw)), MAX_CELLS // rows))}
    best = min(abs(a / b - h / w) for a, b in c)
    return max(x for x in c if abs(x[0] / x[1] - h / w) == best)


class Picture:
    """A finished picture: `image` (PIL, RGB) and the characters on it as (x, y, character)."""

    def __init__(self, image, chars):
        self.image, self.chars = image, chars
        self.gh, self.gw = grid_for(image.height, image.width)

    @property
    def cells(self):
        return self.gh * self.gw

    def resized(self):
        size = (self.gw * CELL, self.gh * CELL)
        im = self.image if self.image.size == size else self.image.resize(size, Image.LANCZOS)
        return np.asarray(im)

    def glyphs(self, slots):
        """[cells, slots] character codes (0 = none) in reading order"""
        sx, sy = self.gw / self.image.width, self.gh / self.image.height
        out = np.zeros((self.cells, slots), np.int64)
        n = [0] * self.cells
        for x, y, ch in sorted(self.chars, key=lambda c: (round(c[1]), c[0])):
            cx, cy = int(x * sx), int(y * sy)
            if 0 <= cx < self.gw and 0 <= cy < self.gh:
                i = cy * self.gw + cx
                if n[i] < slots:
                    out[i, n[i]] = ord(ch) - 31
                    n[i] += 1
        return out


class Canvas:

    def __init__(self, w, h, colour):
        self.im = Image.new("RGB", (w, h), colour)
        self.d = ImageDraw.Draw(self.im)
        self.chars = []

    def text(self, x, y, s, f, fill, anchor="la"):
        """draws one line and notes where its characters are"""
        total = f.getlength(s)
        x0 = x - {"l": 0, "m": total / 2, "r": total}[anchor[0]]
        self.d.text((x, y), s, font=f, fill=fill, anchor=anchor)
        box = self.d.textbbox((x, y), s, font=f, anchor=anchor)
        mid, at = (box[1] + box[3]) / 2, 0.0
        for i, ch in enumerate(s):
            nxt = f.getlength(s[:i + 1])
            if 32 < ord(ch) < 127:
                self.chars.append((x0 + (at + nxt) / 2, mid, ch))
            at = nxt
        return total

    def done(self, rng, split):
        """The picture. In training three in ten are larger than they were drawn: people have
        pictures of all sizes."""
        if split == "train" and rng.random() < .3:
            k = rng.uniform(1, 3)
            size = (round(self.im.width * k), round(self.im.height * k))
            self.im = self.im.resize(size, rng.choice([Image.BILINEAR, Image.LANCZOS]))
            self.chars = [(x * k, y * k, ch) for x, y, ch in self.chars]
        return Picture(self.im, self.chars)


def lum(c):
    return 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2]


def colour(rng, lo=0, hi=255):
    return tuple(rng.randint(lo, hi) for _ in range(3))


def ink(rng, ground, contrast=110):
    """a colour that stands out from the ground"""
    while True:
        c = colour(rng) if rng.random() < .6 else ((0, 0, 0) if lum(ground) > 128 else
                                                   (255, 255, 255))
        if abs(lum(c) - lum(ground)) > contrast:
            return c


def background(rng, w, h, busy=True):
    """-> canvas and its mean colour. Half of the grounds are plain."""
    base = colour(rng, 170, 255) if rng.random() < .7 else colour(rng, 0, 80)
    if rng.random() < .3:
        base = (255, 255, 255)
    k = rng.randrange(7) if busy and rng.random() < .5 else -1
    if k < 0:
        return Canvas(w, h, base), base
    if k in (0, 1):  # gradient, noise
        n = np.random.default_rng(rng.getrandbits(32))
        a = np.empty((h, w, 3), np.float32)
        a[:] = base
        if k == 0:
            other = np.array([min(255, max(0, c + rng.randint(-45, 45))) for c in base], np.float32)
            t = np.linspace(0, 1, w if rng.random() < .5 else h, dtype=np.float32)
            t = t[None, :, None] if len(t) == w and (w != h or rng.random() < .5) else t[:, None,
                                                                                         None]
            a += (other - a) * t
        else:
            a += n.normal(0, rng.uniform(4, 18), (h, w, 1)).astype(np.float32)
        c = Canvas(1, 1, base)
        c.im = Image.fromarray(np.clip(a, 0, 255).astype(np.uint8))
        c.d = ImageDraw.Draw(c.im)
        return c, base
    c = Canvas(w, h, base)
    near = lambda: tuple(min(255, max(0, x + rng.randint(-38, 38))) for x in base)
    for _ in range(rng.randint(3, 12)):
        x, y = rng.randint(0, w), rng.randint(0, h)
        if k == 2:
            c.d.line([(x, 0), (rng.randint(0, w), h)], fill=near(), width=rng.randint(1, 4))
        elif k == 3:
            c.d.line([(0, y), (w, rng.randint(0, h))], fill=near(), width=rng.randint(1, 4))
        elif k == 4:
            r = rng.randint(3, 20)
            c.d.ellipse([x - r, y - r, x + r, y + r], fill=near())
        elif k == 5:
            c.d.rectangle([x, y, x + rng.randint(4, 50), y + rng.randint(4, 30)], fill=near())
        else:
            c.d.rectangle([x, 0, x + rng.randint(2, 14), h], fill=near())
    return c, base


def noise(rng, w, h):
    """coarse or fine noise"""
    k = rng.choice([1, 1, 2, 4, 9])
    n = np.random.default_rng(rng.getrandbits(32))
    c = Canvas(1, 1, (0, 0, 0))
    c.im = Image.fromarray(n.integers(0, 256, (max(1, h // k), max(1, w // k), 3),
                                      np.uint8)).resize((w, h), Image.BILINEAR)
    c.d = ImageDraw.Draw(c.im)
    return c


# ------------------------------------------------------------------------------- shapes
RGB = dict(red=(215, 35, 35),
           blue=(35, 75, 215),
           green=(40, 160, 60),
           yellow=(240, 215, 40),
           orange=(245, 140, 25),
           purple=(135, 50, 165),
           black=(20, 20, 20),
           pink=(245, 130, 185))
KINDS = ["circle", "square", "triangle", "star", "cross", "diamond"]


def shape(d, kind, x, y, r, fill, outline=None):
    if kind == "circle":
        d.ellipse([x - r, y - r, x + r, y + r], fill=fill, outline=outline)
    elif kind == "square":
        q = r * .88
        d.rectangle([x - q, y - q, x + q, y + q], fill=fill, outline=outline)
    elif kind == "triangle":
        d.polygon([(x, y - r), (x - r * .95, y + r * .8), (x + r * .95, y + r * .8)],
                  fill=fill,
                  outline=outline)
    elif kind == "diamond":
        d.polygon([(x, y - r * 1.1), (x + r * .8, y), (x, y + r * 1.1), (x - r * .8, y)],
                  fill=fill,
                  outline=outline)
    elif kind == "cross":
        t = r * .34
        d.rectangle([x - r, y - t, x + r, y + t], fill=fill)
        d.rectangle([x - t, y - r, x + t, y + r], fill=fill)
    else:
        pts = []
        for i in range(10):
            q = r * (1.08 if i % 2 == 0 else .44)
            pts.append((x + q * math.sin(math.pi * i / 5), y - q * math.cos(math.pi * i / 5)))
        d.polygon(pts, fill=fill, outline=outline)
