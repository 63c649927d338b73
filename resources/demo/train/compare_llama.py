"""Puts the questions of eval.json to llama.cpp and to Glint: do both write the same tokens?

    D=resources/demo   # from the root of the repository
    llama-server -m $D/demo-target.gguf --mmproj $D/demo-mmproj.gguf --image-max-tokens 96 \\
        -md $D/demo-dflash.gguf --spec-type draft-dflash --spec-draft-n-max 15 -c 4096 -np 1 -t 2
    python3 $D/train/compare_llama.py --cli build/release/bin/glint-cli --threads 2

with the server at http://127.0.0.1:8080, its default.

Greedy, each question to one and then to the other, so the two times are of one run. llama.cpp gets
the prompt as Glint renders it: as token ids or, with pictures, as text with a mark for each.
"""
import argparse
import base64
import collections
import copy
import datetime
import json
import os
import re
import subprocess
import tempfile
import urllib.request

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PICTURE = re.compile(r"<\|image_start\|>(<\|patch\|>)+<\|image_end\|>")
MAX_TOKENS = 600


class Llama:

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.marker = self.ask("/props")["media_marker"]

    def ask(self, path, body=None):
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.url + path, data,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)

    def write(self, ids, text, paths):
        prompt = ids
        if paths:
            text, marks = PICTURE.subn(self.marker, text)
            if marks != len(paths):
                raise SystemExit(f"{marks} places for {len(paths)} pictures")
            pictures = [base64.b64encode(open(p, "rb").read()).decode() for p in paths]
            prompt = {
                "prompt_string": text.removeprefix("<|begin_of_text|>"),  # the server adds it
                "multimodal_data": pictures
            }
        return self.ask(
            "/completion", {
                "prompt": prompt,
                "n_predict": MAX_TOKENS,
                "temperature": 0,
                "samplers": ["temperature"],
                "cache_prompt": False,
                "return_tokens": True
            })


class Glint:

    def __init__(self, cli, threads):
        self.cli = os.path.abspath(cli)
        self.threads = threads

    def ask(self, command, *arguments):
        out = subprocess.run([
            self.cli, command, "--model", "demo-target.gguf", "--mmproj", "demo-mmproj.gguf",
            "--json", *arguments
        ],
                             cwd=DEMO,
                             capture_output=True,
                             text=True)
        if out.returncode:
            raise SystemExit(out.stderr)
        return json.loads(out.stdout)

    def render(self, *arguments):
        return self.ask("render", "--keep-reasoning", "--date",
                        datetime.date.today().isoformat(), *arguments)

    def write(self, *arguments):
        return self.ask("run", "--draft", "demo-dflash.gguf", "--backend", "cpu", "--threads",
                        str(self.threads), "--temp", "0", "--ctx", "4096", "--max-tokens",
                        str(MAX_TOKENS), *arguments)


def with_paths(messages):
    """the messages with whole paths, and the paths of their pictures"""
    messages, paths = copy.deepcopy(messages), []
    for m in messages:
        for part in m["content"] if isinstance(m["content"], list) else []:
            if part["type"] == "image":
                part["path"] = os.path.abspath(os.path.join(DEMO, part["path"]))
                paths.append(part["path"])
    return messages, paths


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--cli", required=True)
    ap.add_argument("--server", default="http://127.0.0.1:8080")
    ap.add_argument("--threads", type=int, default=2)
    a = ap.parse_args()
    llama, glint = Llama(a.server), Glint(a.cli, a.threads)
    same, total = collections.Counter(), collections.Counter()
    tokens, theirs, ours, drafted, accepted = 0, 0.0, 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "messages.json")
        for item in json.load(open(os.path.join(DEMO, "eval.json")))["items"]:
            messages, pictures = with_paths(item["messages"])
            json.dump(messages, open(path, "w"))
            question = ("--messages", path, "--strength", item["strength"])
            mine = glint.write(*question)
            prompt = glint.render(*question)
            other = llama.write(prompt["ids"], prompt["text"], pictures)
            if other["tokens_evaluated"] != mine["prompt_tokens"]:
                raise SystemExit(f"{item['id']}: {mine['prompt_tokens']} tokens read here, "
                                 f"{other['tokens_evaluated']} there: was the server told the "
                                 "vision part's bound by --image-max-tokens?")
            total[item["group"]] += 1
            if mine["ids"] == other["tokens"]:
                same[item["group"]] += 1
            else:
                print(f"{item['id']} {item['group']}: {mine['text']!r} here, "
                      f"{other['content']!r} there")
            times = other["timings"]
            tokens += len(mine["ids"])
            ours += mine["decode_ms"]
            theirs += times["predicted_ms"]
            drafted += times.get("draft_n", 0)
            accepted += times.get("draft_n_accepted", 0)
    for group, n in total.items():
        print(f"{group:14s} {same[group]} of {n}")
    print(f"the same tokens: {sum(same.values())} of {sum(total.values())}")
    print(f"{tokens} tokens written in {ours / 1000:.1f} s here and {theirs / 1000:.1f} s there, "
          f"which accepted {accepted} of {drafted} drafted tokens")


if __name__ == "__main__":
    main()
