"""Hooks of MkDocs: links that leave docs/ work in the site too, as they do in the repository; the first page is wide.

A Markdown file of the repository that a page links to becomes a page under source/; any other file is copied there as
text. Links to a folder go to its index page. What does not exist is left as it is, so that the strict build names it.
"""
import os
import pathlib
import re

from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.S | re.M)


def place_of(path):
    """Where a file of the repository lies in the site, relative to docs/."""
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    name = str(path.relative_to(ROOT))
    return "source/" + (name if path.suffix == ".md" else name + ".txt")


def target_of(page, link):
    """The file that a link of a page means, or None if it means none of the repository."""
    path = pathlib.Path(os.path.normpath(page.parent / link))
    if path.is_dir():
        path = path / ("index.md" if path.is_relative_to(DOCS) else "README.md")
    return path if path.is_file() and path.is_relative_to(ROOT) else None


def rewritten(text, page):
    """The text with its links to files outside of docs/, and from there, turned to their places in the site."""
    def turned(match):
        target = target_of(page, match[1])
        if target is None:
            return match[0]
        return os.path.relpath(place_of(target), os.path.dirname(place_of(page))) + (match[2] or "")

    pieces, at = [], 0
    for code in CODE.finditer(text):
        pieces += [LINK.sub(turned, text[at:code.start()]), code[0]]
        at = code.end()
    return "".join(pieces) + LINK.sub(turned, text[at:])


def links_out(path):
    """Files outside of docs/ that a page links to."""
    found = (target_of(path, match[1]) for match in LINK.finditer(CODE.sub("", path.read_text())))
    return {target for target in found if target and not target.is_relative_to(DOCS)}


def on_files(files, config):
    todo = [pathlib.Path(f.abs_src_path) for f in files.documentation_pages()]
    seen: set[pathlib.Path] = set()
    while todo:
        for target in links_out(todo.pop()) - seen:
            seen.add(target)
            if target.suffix == ".md":
                todo.append(target)
            files.append(File.generated(config, place_of(target), content=target.read_bytes(),
                                        inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]
    path = ROOT / uri.removeprefix("source/") if uri.startswith("source/") else DOCS / uri
    return rewritten(markdown, path)
