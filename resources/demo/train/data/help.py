"""Questions about Glint. The answers are the first paragraphs of the guide
(resources/guide/*.md), word for word; data/topics.txt says in which words people ask for them."""
import glob
import os
import re

from .words import EVALUATION, Near, Turn, dress, expand, frame, variants, vary

GUIDE = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "guide"))
HOW = [
    "How do I {x}?", "How can I {x}?", "I want to {x}.", "How to {x}?", "Where do I {x}?",
    "Tell me how to {x}.", "Can I {x}?", "how do i {x}", "I would like to {x}.",
    "What must I do to {x}?", "Please tell me how I can {x}.", "Is it possible to {x}?",
    "What is the way to {x}?", "{x}", "How does one {x}?", "I need to {x}.",
    "Is there a way to {x}?", "What do I press to {x}?", "Could you explain how to {x}?",
    "Show me how to {x}.", "I do not know how to {x}."
]
WHAT = [
    "What is {x}?", "What does {x} mean?", "Explain {x}.", "Tell me about {x}.", "What is {x} for?",
    "I do not understand {x}.", "what is {x}", "Please explain {x}.", "What about {x}?", "{x}?",
    "Can you explain {x}?", "What does {x} do?", "I see {x}. What is it?",
    "What should I know about {x}?", "Can you tell me what {x} is?", "Describe {x}."
]
SAYS = [
    "What does \"{x}\" mean?", "It says \"{x}\".", "I see \"{x}\". What should I do?",
    "The window says \"{x}\".", "{x}", "Glint shows \"{x}\".", "Why does it say \"{x}\"?",
    "There is a message: {x}", "What do I do when Glint says \"{x}\"?",
    "The program tells me \"{x}\"."
]
FRAMES = {"a": HOW, "n": WHAT, "m": SAYS}
KEYS = [("Ctrl+N", "starts a new chat"), ("Ctrl+K", "searches all chats"),
        ("Ctrl+F", "finds text in this chat"), ("F3", "goes to the next hit"),
        ("Shift+F3", "goes to the previous hit"), ("Ctrl+L", "jumps to the message box"),
        ("Enter", "sends the message"), ("Shift+Enter", "makes a new line"),
        ("Esc", "stops the answer, or closes the search or the viewer"), ("Ctrl+R", "tries again"),
        ("Ctrl+Shift+R", "continues the answer"), ("Ctrl+Up", "edits your last message"),
        ("Alt+Left", "shows the previous version"), ("Alt+Right", "shows the next version"),
        ("Ctrl+O", "attaches a file"), ("Ctrl+Shift+G", "takes a screenshot"),
        ("Ctrl+Shift+C", "copies the last answer"), ("F2", "renames the chat"),
        ("Delete", "moves the chat to Trash, in the sidebar only"),
        ("Ctrl+Z", "undoes the last step"), ("Ctrl+Page Up", "goes to the previous chat"),
        ("Ctrl+Page Down", "goes to the next chat"), ("Ctrl+B", "shows or hides the sidebar"),
        ("F9", "shows or hides the performance panel"), ("Ctrl++", "makes the text larger"),
        ("Ctrl+-", "makes the text smaller"), ("Ctrl+0", "resets the text size"),
        ("F1", "opens the guide"), ("Ctrl+,", "opens the settings"), ("Ctrl+Q", "quits Glint"),
        ("F6", "moves between the areas")]
KEY_Q = [
    "What does {k} do?", "What is {k}?", "What happens when I press {k}?", "What is {k} for?",
    "{k}", "Which command is {k}?", "I pressed {k}. What does it do?", "Tell me what {k} does.",
    "What is the shortcut {k}?", "Explain {k}."
]
MENUS = [
    ("File",
     "New Chat, New Window, Import, Export Chat, Back Up Now, Restore, Print, Settings and Quit"),
    ("Edit", "Undo, Redo, Cut, Copy, Paste, Select All, Find in Chat and Search All Chats"),
    ("View", "Sidebar, Performance, Status Bar, Theme, the text size and Full Screen"),
    ("Chat",
     "Attach File, Take Screenshot, Try Again, Continue, Stop, Edit Last Message, versions, "
     "Instructions, Rename, Pin, Move to Folder, Archive and Move to Trash"),
    ("Model",
     "Thinking, Draft Length, Conversation Length, Answer Style, Load, Unload and Free Memory, "
     "and Files"), ("Help", "Guide, Keyboard Shortcuts, How Private Is This, Save Report and About")
]
MENU_Q = [
    "What is in the {m} menu?", "Which commands are in the {m} menu?",
    "What does the {m} menu hold?", "Tell me about the {m} menu.", "List the {m} menu.",
    "What can I find in the {m} menu?", "Explain the {m} menu.", "Show me the {m} menu."
]


def sections():
    """heading -> first paragraph, from all files of the guide"""
    out = {}
    for p in sorted(glob.glob(GUIDE + "/*.md")):
        for part in re.split(r"^## ", open(p, encoding="utf-8").read(), flags=re.M)[1:]:
            head, body = part.split("\n", 1)
            assert head.strip() not in out, head
            out[head.strip()] = " ".join(body.strip().split("\n\n")[0].split())
    return out


def lines(name):
    for line in open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8"):
        line = line.strip()
        if line and not line.startswith("#"):
            yield line, [x.strip() for x in line.split(" ; ")]


def topics():
    """(heading, answer, words an answer must hold, kind -> wordings, kind -> further wordings
    for training)"""
    sec, out, more = sections(), [], {}
    for _, (head, *ask) in lines("questions.txt"):
        if head not in sec or head in more:
            raise SystemExit(f"questions.txt: no section, or the second time: '{head}'")
        more[head] = {a[0]: a[2:].split("|") for a in ask}
    for line, (head, words, *ask) in lines("topics.txt"):
        if head not in sec:
            raise SystemExit(f"topics.txt: the guide has no section '{head}'")
        words = [w.strip() for w in words.split(", ")]
        if "Ctrl+," in line and "Ctrl+" in words:
            words = ["Ctrl+,"]
        for w in words:
            if w.lower() not in sec[head].lower():
                raise SystemExit(f"topics.txt: '{w}' is not in the section '{head}'")
        out.append((head, sec[head], words, {a[0]: a[2:].split("|")
                                             for a in ask}, more.pop(head, {})))
    missing = set(sec) - {t[0] for t in out} | set(more)
    if missing:
        raise SystemExit(f"sections without questions: {sorted(missing)}")
    return out


_TOPICS = []


def think(topic, s):
    return ([
        "", f"About Glint: {topic}.",
        f"The user asks about Glint. The topic is: {topic}. The guide has a section about it, so "
        f"I answer from there.",
        f"The user asks about Glint. The topic is: {topic}. The guide has a section about it, so "
        f"I answer from there.\nCheck: the answer belongs to the topic {topic} and says what to "
        f"do or what it is. Correct."
    ][s])


def naming(v):
    """the wordings of a section that training knows, and what knows the one that the evaluation
    keeps"""
    keep = v[-1:] if len(v) > 4 else []
    return v[:len(v) - len(keep)], Near(keep)


def train_question(rng, ask, more):
    """any of the wordings of a section, as often as there are of its kind"""
    kinds = sorted(ask.keys() | more.keys())
    size = lambda k: len(ask.get(k, [])) + sum(min(variants(t), 16)**.5 for t in more.get(k, []))
    kind = rng.choices(kinds, [size(k) for k in kinds])[0]
    known, near = naming(ask.get(kind, []))
    weights = [1] * len(known) + [min(variants(t), 16)**.5 for t in more.get(kind, [])]
    while True:
        x = rng.choices(known + more.get(kind, []), weights)[0]
        y = expand(rng, x)
        if x in known or not near.same(y):
            break
    if kind == "q":
        return vary(rng, y, near)
    return frame(rng, FRAMES[kind], "train").format(x=y[0].lower() + y[1:] if kind == "a" else y)


def question(rng, split):
    if not _TOPICS:
        _TOPICS.extend(topics())
    head, answer, words, ask, more = rng.choice(_TOPICS)
    if split != "test":
        q = train_question(rng, ask, more)
        return q[0].upper() + q[1:], head, answer, words
    kind = rng.choices(list(ask), [len(v) for v in ask.values()])[0]
    v = ask[kind]
    # the evaluation takes an unseen frame around a known thing, or an unseen way to name it in a
    # known frame
    known, _ = naming(v)
    if kind == "q":
        if EVALUATION["wording"] == "dressed":
            return dress(rng, rng.choice(known)), head, answer, words
        return (v[-1], head, answer, words) if len(v) > 4 else question(rng, split)
    if len(v) > 4 and rng.random() < .35 and EVALUATION["wording"] == "new":
        q = frame(rng, FRAMES[kind], "known").format(x=v[-1])
    else:
        q = frame(rng, FRAMES[kind], "test").format(x=rng.choice(known))
    return q[0].upper() + q[1:], head, answer, words


def noise(rng, q):
    """careless typing, in training only"""
    k = rng.randrange(12)
    if k == 0:
        return q.lower()
    if k == 1:
        return q.rstrip("?.")
    if k == 2:
        return rng.choice(["Hello, ", "Hi. ", "Please: ", "A question: ", "Hey, ", "Sorry, "]) + q
    if k == 3:
        return q + rng.choice([" Thanks.", " Please help.", " Thank you!", " I am new here."])
    if k == 4 and len(q) > 12:
        i = rng.randrange(3, len(q) - 2)
        return q[:i] + q[i + 1:]
    if k == 5:
        return rng.choice(["In Glint: ", "Glint: "]) + q
    return q


def ask(rng, split, s):
    r = rng.random()
    if r < .10:
        k, d = rng.choice(KEYS)
        q = frame(rng, KEY_Q, split).format(k=k)
        return Turn(q, f"{k} {d}.", think(f"the shortcut {k}", s), {"contains": [d]}, "help")
    if r < .125:
        m, d = rng.choice(MENUS)
        q = frame(rng, MENU_Q, split).format(m=m)
        return Turn(q, f"The {m} menu has {d}.", think(f"the menu {m}", s),
                    {"contains": [d.split(", ")[1]]}, "help")
    q, head, answer, words = question(rng, split)
    return Turn(
        noise(rng, q) if split == "train" else q, answer, think(head, s), {"contains": words},
        "help")


TASKS = [(ask, 1)]
