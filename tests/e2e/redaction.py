"""What a redacted run must show and must not: answers equal to those of the original in other names, and no word that is
neither public nor a pseudonym. Cuts texts into words on its own, as the documents describe it."""

import io
import json
import pathlib
import re

import pyarrow.parquet

from packed import files_of

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = set((REPOSITORY / "data/public/words.txt").read_text().split())
RUN = re.compile(r"[A-Za-z0-9\x80-\U0010ffff]+")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[\x80-\U0010ffff]+")
# What has digits in a mangled name: references, values, types, and the lengths of names.
MANGLED = re.compile(r"S[0-9A-Z]*_|T[0-9]*_|L[a-z]n?\d+|DF\d+[b_]|A\d+_|Dv\d+_|(?P<length>\d+)")
PSEUDONYM = re.compile(r"(?i:(?:[hjkqvwxy][aeiou]){8})|\dN\d{11}")
FIGURE = re.compile(
    r"[a-z]?\d{1,6}(x\d{1,5})*[a-z]?|m\d{1,4}n\d{1,4}k\d{1,4}|0d1[0-9dec]*|(4|8|16|32|64)?([fsubiaw](4|8|16|32|64)){1,3}|e[1-8]m[0-7]",
    re.I,
)
ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b",
    re.I,
)
QUESTIONS = {
    "steady": ["analyze", "--top", "1000", "--window", "steady"],
    "whole": ["analyze", "--top", "1000", "--window", "whole"],
    "findings": ["findings"],
    "fingerprint": ["fingerprint"],
}
# What tells the run itself apart, not what it did.
IDENTITY = {"run_id", "imported_at_ns", "path", "file_names", "claimed_by", "sources", "sha256", "bundle", "files", "runs"}


def redacted(neurolens, run, path, policy=None):
    words = ["--redact", *([policy] if policy else [])]
    return neurolens("export", run, "--format", "nlz", "--output", path, "--force", "--json", *words).data


def texts_of(data):
    """Every text of a packed run, by field."""
    found = {}
    for name, content in files_of(data).items():
        if name.endswith(".parquet"):
            table = pyarrow.parquet.read_table(io.BytesIO(content))
            for column in table.column_names:
                values = table[column].unique().to_pylist()
                texts = [value for value in values if isinstance(value, str)]
                if texts:
                    found[f"{name.removesuffix('.parquet')}.{column}"] = texts
        else:
            found[name] = [content.decode()]
    return found


def names_in(mangled):
    """The names that stand behind their lengths; the letters between them tell types and the like."""
    at, found = 0, []
    while match := MANGLED.search(mangled, at):
        at = match.end()
        if match["length"]:
            found.append(mangled[at : at + int(match["length"])])
            at += int(match["length"])
    return " ".join(found)


def shown_words(text):
    """What a text shows that is neither public, nor a pseudonym, nor too short to tell anything."""
    text = re.sub(r"\b_Z[A-Za-z0-9_$.]+", lambda match: names_in(match.group()), text)
    text = PSEUDONYM.sub(" ", text)
    text = re.sub(r"\b\d+(\.\d+)?[eE][-+]?\d+\b", " ", text)
    for address in ADDRESS.findall(text):
        if not re.fullmatch(r"[\d.]+", text):
            yield address
    for run in RUN.findall(text):
        rest = run
        for word in sorted(WORD.findall(run), key=len, reverse=True):
            if len(word) > 1:
                rest = rest.replace(word, " ", 1)
                if len(word) > 4 and word.lower() not in PUBLIC:
                    yield word
        for crumbs in rest.split():
            if len(crumbs) > 4 and not crumbs.isdigit() and not FIGURE.fullmatch(crumbs):
                yield crumbs


def secrets_in(data, also_ignored=()):
    """By field, what a packed run shows and must not."""
    found = {}
    for field, texts in texts_of(data).items():
        if field in ("run.json.sha256",):
            continue
        for text in texts:
            for word in shown_words(re.sub(r"[0-9a-f]{64}", "", text) if field == "run.json" else text):
                if word not in also_ignored:
                    found.setdefault(field, set()).add(word)
    return found


def comparable(tree):
    """Without what names the run, and with lists whose order is a matter of names in one order."""
    if isinstance(tree, dict):
        return {key: comparable(value) for key, value in tree.items() if key not in IDENTITY}
    if isinstance(tree, list):
        return sorted((comparable(item) for item in tree), key=lambda item: json.dumps(item, sort_keys=True))
    return tree


def answer(neurolens, words, *runs):
    operation, *options = words
    result = neurolens(operation, *runs, *options, "--json", code=None)
    envelope = result.envelope
    return envelope.get("data") or envelope["error"]["code"]


def in_original_names(neurolens, tree, folder):
    path = pathlib.Path(folder) / "shown.json"
    path.write_text(json.dumps(tree, ensure_ascii=False))
    return json.loads(neurolens("redact", "--file", path, "--json").data["text"])


def differences(a, b, place=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            if key not in a or key not in b:
                yield f"{place}.{key}: only in the {'copy' if key not in a else 'original'}"
            else:
                yield from differences(a[key], b[key], f"{place}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{place}[{i}]")
    elif a != b:
        yield f"{place}: {str(a)[:200]!r} became {str(b)[:200]!r}"


def changed_answers(neurolens, partner, questions, originals, copies, folder):
    """Where what a partner hears of redacted runs differs from what is said of the originals, but for names."""
    found = []
    for name, words in questions.items():
        before = comparable(answer(neurolens, words, *originals))
        after = comparable(in_original_names(neurolens, answer(partner, words, *copies), folder))
        found += [f"{name}{line}" for line in differences(before, after)]
    return found
