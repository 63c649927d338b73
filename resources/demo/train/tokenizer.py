"""Trains the byte-level BPE on generated conversations.

    python3 tokenizer.py --out work/tokenizer.json
    python3 tokenizer.py --out work/tokenizer.json --of ../demo-target.gguf    # that of a file

Merges are learnt inside words, inside runs of punctuation and inside white space only: digits
stay single tokens (arithmetic is done digit by digit) and no merge joins a letter with what
stands before it, except a space.
"""
import argparse
import json
import random
from multiprocessing import Pool

from chat_format import PRE_REGEX, SPECIALS
from data import conversation as C
from data.words import DICT, SPELL_OFF, SPELL_ON
from oracle import G

TRAIN_SPLIT = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s"


def texts(seed, n=900):
    import re
    rng, out = random.Random(seed), []
    for _ in range(n):
        c = C.conversation(rng)
        out.append(c.system_text())
        for t in c.turns:
            for p in [x for x in t.user if isinstance(x, str)] + [t.think, t.answer]:
                out.append(re.sub(f"{SPELL_ON}[^{SPELL_OFF}]*{SPELL_OFF}", " ", p))
    out.append("\n".join(
        " " + w for w in rng.sample(DICT.train, 700)))  # whole words as people type them
    return out


def pre(rx):
    from tokenizers import Regex, pre_tokenizers
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(rx), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ])


def write(tok, tokens, merges, out):
    """`tok` for the Python library, `tokens` and `merges` as they stand in the files"""
    json.dump(dict(tokenizer=json.loads(tok.to_str()), glint=dict(tokens=tokens, merges=merges)),
              open(out, "w", encoding="utf-8"),
              ensure_ascii=False)


def of_file(path, out):
    """The tokenizer in a file: whoever trains on must use it, because the data from which it was
    learnt may have changed since."""
    from tokenizers import Tokenizer, decoders, models
    kv = G.Reader(path).kv
    tokens, merges = kv["tokenizer.ggml.tokens"], kv["tokenizer.ggml.merges"]
    vocab = {t: i for i, t in enumerate(tokens) if t not in SPECIALS}
    tok = Tokenizer(models.BPE(vocab, [tuple(m.split(" ")) for m in merges]))
    tok.pre_tokenizer, tok.decoder = pre(PRE_REGEX), decoders.ByteLevel()
    write(tok, tokens, merges, out)
    print("tokens", len(tokens), "merges", len(merges), "of", path)


def main():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", required=True)
    ap.add_argument("--of", help="take the tokenizer of this target file instead")
    ap.add_argument("--vocab", type=int, default=4096)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--chunks", type=int, default=32)
    a = ap.parse_args()
    if a.of:
        return of_file(a.of, a.out)
    with Pool() as pool:
        corpus = [
            t for part in pool.map(texts, range(a.seed * 1000, a.seed * 1000 + a.chunks))
            for t in part
        ]

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer, tok.decoder = pre(TRAIN_SPLIT), decoders.ByteLevel()
    tok.train_from_iterator(
        corpus,
        trainers.BpeTrainer(vocab_size=a.vocab - len(SPECIALS),
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                            show_progress=False))
    tok.pre_tokenizer = pre(PRE_REGEX)
    spec = json.loads(tok.to_str())
    inv = {i: t for t, i in tok.get_vocab().items()}
    tokens = [inv[i] for i in range(len(inv))] + SPECIALS
    merges = [m if isinstance(m, str) else " ".join(m) for m in spec["model"]["merges"]]
    assert len(tokens) == a.vocab and not any(c.isdigit() for m in merges
                                              for c in m), "a merge holds a digit"
    write(tok, tokens, merges, a.out)
    print("tokens", len(tokens), "merges", len(merges), "texts", len(corpus),
          "characters per token",
          sum(map(len, corpus[:4000])) / sum(len(e.ids) for e in tok.encode_batch(corpus[:4000])))


if __name__ == "__main__":
    main()
