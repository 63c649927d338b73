"""From a conversation to token ids, the way the program builds its prompts: control tokens are put
in by id, everything else is plain byte-pair text, so that a typed "<|eot|>" stays ordinary
characters.

    <|begin_of_text|> system block, then per turn: user block,
    [assistant to=self <|eom|>] assistant to=user <|eot|>
"""
import json
import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # the workers are the parallelism
os.environ.setdefault("RAYON_NUM_THREADS", "1")

from data.words import SPELL_OFF, SPELL_ON  # noqa: E402

SPECIALS = [
    "<|begin_of_text|>", "<|end_of_text|>", "<|eom|>", "<|eot|>", "<|finetune_right_pad|>",
    "<|start|>", "<|message|>", "<|image_start|>", "<|image_end|>", "<|image|>", "<|video|>",
    "<|patch|>", "<|reserved_special_token_1818|>"
]
BOS, EOS, EOM, EOT, PAD, START, MESSAGE, IMG_START, IMG_END, _, _, PATCH, MASK = SPECIALS

# the expression behind tokenizer.ggml.pre = "llama4"
_CONTR, _PRE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"[^\r\n\p{L}\p{N}]?"
_UP, _LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PRE_REGEX = (_PRE + _UP + "*" + _LOW + "+" + _CONTR + "|" + _PRE + _UP + "+" + _LOW + "*" + _CONTR +
             r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_letters():
    """byte -> the character that stands for it in a byte-level vocabulary"""
    seen = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    out, n = {}, 0
    for b in range(256):
        out[b] = chr(b) if b in seen else chr(256 + n)
        n += b not in seen
    return out


class Tok:
    """the tokenizer: plain text without control tokens, control tokens by name, single bytes"""

    def __init__(self, path):
        from tokenizers import Tokenizer
        spec = json.load(open(path, encoding="utf-8"))
        self.tokens, self.merges = spec["glint"]["tokens"], spec["glint"]["merges"]
        self.bpe = Tokenizer.from_str(json.dumps(spec["tokenizer"]))
        self.id = {t: i for i, t in enumerate(self.tokens)}
        self.byte = {b: self.id[c] for b, c in byte_letters().items()}
        self.vocab = len(self.tokens)
        self.eog = (self.id[EOT], self.id[EOS])
        self._head = {}
        self._letter = {c: b for b, c in byte_letters().items()}

    def encode_many(self, texts):
        """plain text -> ids; marked stretches letter by letter"""
        parts, plan = [], []
        for t in texts:
            p = []
            for i, piece in enumerate(t.replace(SPELL_OFF, SPELL_ON).split(SPELL_ON)):
                if not piece:
                    continue
                if i % 2:
                    p.append([self.byte[b] for b in piece.encode()])
                else:
                    p.append(len(parts))
                    parts.append(piece)
            plan.append(p)
        ids = [e.ids for e in self.bpe.encode_batch_fast(parts, add_special_tokens=False)
               ] if parts else []
        return [[x for q in p for x in (ids[q] if isinstance(q, int) else q)] for p in plan]

    def encode(self, text):
        return self.encode_many([text])[0]

    def head(self, text):
        if text not in self._head:
            self._head[text] = [self.id[START]] + self.encode(text) + [self.id[MESSAGE]]
        return self._head[text]

    def decode(self, ids, keep_special=False):
        out = bytearray()
        special = {self.id[s] for s in SPECIALS}
        for i in ids:
            if i in special:
                if keep_special:
                    out += self.tokens[i].encode()
            else:
                out += bytes(self._letter[c] for c in self.tokens[i])
        return out.decode("utf-8", "replace")


def encode_conversation(tok, conv, canonical=lambda i: False, prompt_only=False):
    """-> ids, trained (1 where the model itself must write the token), pictures [(first position,
    Picture)].

    canonical(i): True re-tokenises turn i of the history the plain way, as a program does that
    keeps text and not ids.
    prompt_only: stop before the last answer (the generation prompt is <|start|>assistant)."""
    texts, n = [conv.system_text()], len(conv.turns)
    for i, t in enumerate(conv.turns):
        flat = canonical(i)
        strip = (lambda s: s.replace(SPELL_ON, "").replace(SPELL_OFF, "")) if flat else (
            lambda s: s)
        texts += [p for p in t.user if isinstance(p, str)] + [strip(t.think), strip(t.answer)]
    enc = iter(tok.encode_many(texts))
    start = [tok.id[START]] + tok.encode("assistant") if "start" not in tok.__dict__ else tok.start
    tok.start = start
    to_self, to_user = (tok.head("assistant to=self")[len(start):],
                        tok.head("assistant to=user")[len(start):])
    ids, mark, pics = [tok.id[BOS]] + tok.head("system") + next(enc) + [tok.id[EOT]], [], []
    for i, t in enumerate(conv.turns):
        ids += tok.head("user")
        for p in t.user:
            if isinstance(p, str):
                ids += next(enc)
            else:
                ids.append(tok.id[IMG_START])
                pics.append((len(ids), p))
                ids += [tok.id[PATCH]] * p.cells + [tok.id[IMG_END]]
        ids.append(tok.id[EOT])
        think, answer = next(enc), next(enc)
        ids += start
        if prompt_only and i == n - 1:
            break
        a = len(ids)
        if think:
            ids += to_self + think + [tok.id[EOM]]
            mark += [(a, len(ids))]
            ids += start
            mark += [(len(ids) - len(start), len(ids))]
            a = len(ids)
        ids += to_user + answer + [tok.id[EOT]]
        if not (canonical(i) and (SPELL_ON in t.answer or SPELL_ON in t.think)):
            mark.append((a, len(ids)))
        elif think:
            mark = mark[:-2]
    trained = bytearray(len(ids))
    for a, b in mark:
        trained[a:b] = b"\1" * (b - a)
    return ids, trained, pics
