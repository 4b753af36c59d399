#!/usr/bin/env python3
"""Checks that a built site fetches nothing from elsewhere and that its links lead somewhere. usage: check_site.py DIR"""
import html.parser
import pathlib
import sys
import urllib.parse

FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
NO_FETCH = {"canonical", "next", "prev", "alternate"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetches = set(), set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id"))
        for name in ("href", "src"):
            if values.get(name) is not None:
                fetched = (tag, name) in FETCHED and values.get("rel") not in NO_FETCH
                (self.fetches if fetched else self.links).add(values[name])


def faults_of(path, page, pages):
    for link in sorted(page.fetches | page.links):
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc:
            if link in page.fetches and url.scheme != "data":
                yield f"{path}: fetches {link}"
            continue
        target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
        if not target.is_file():
            yield f"{path}: {link} leads nowhere"
        elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].ids:
            yield f"{path}: {link} has no such anchor"


site = pathlib.Path(sys.argv[1]).resolve()
pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
faults = [fault for path, page in pages.items() for fault in faults_of(path, page, pages)]
faults += [f"{path}: imports from elsewhere" for path in site.rglob("*.css") if "url(http" in path.read_text()]
print("\n".join(faults) if faults else f"site: {len(pages)} pages, {sum(len(p.links) for p in pages.values())} links fine")
sys.exit(1 if faults or not pages else 0)
