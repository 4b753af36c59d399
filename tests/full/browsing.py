"""What the measured tests of the pages share: the binary with a ledger, its server, a browser, and a page whose clicks are counted."""

import contextlib
import os
import pathlib
import re
import shutil
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
BINARY = pathlib.Path("build/release/bin/neurolens")


def use_binary(path):
    """The modules of tests/e2e read it when they are loaded."""
    os.environ["NEUROLENS_BIN"] = str(path.resolve())


@contextlib.contextmanager
def served(ledger):
    """The command line over the ledger, and a server of it on a free port."""
    from conftest import Neurolens
    from server import Server

    neurolens = Neurolens(ledger)
    server = Server(neurolens)
    try:
        yield neurolens, server
    finally:
        server.process.terminate()
        server.process.wait(30)


@contextlib.contextmanager
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("this needs the Python of .deps/venv, with playwright: run tools/setup")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        sys.exit("no Chromium in the path")
    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Tab:
    """A page of the server. What a user does through it is counted; what goes wrong in it is kept."""

    def __init__(self, chromium, server, width=1440, height=900):
        self.context = chromium.new_context(viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"])
        self.page, self.server = self.context.new_page(), server
        self.faults, self.texts, self.clicks, self.presses = [], [], 0, 0
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.context.request.get(f"{server.url}/?token={server.token}")  # for the cookie

    def open(self, path):
        self.page.goto(self.server.url + path)
        return self.ready()

    def ready(self, seconds=60):
        self.page.wait_for_selector('main[data-ready="true"]', timeout=seconds * 1000)
        return self.page

    # What a user does

    def click(self, target, **options):
        self.clicks += 1
        (self.page.locator(target) if isinstance(target, str) else target).click(**options)

    def press(self, *keys):
        for key in keys:
            self.presses += 1
            self.page.keyboard.press(key)

    def type(self, text):
        self.texts.append(text)
        self.page.keyboard.type(text)

    def drag(self, begin, end):
        """One press of the mouse, moved, and let go."""
        self.clicks += 1
        self.page.mouse.move(*begin)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=6)
        self.page.mouse.up()

    # What it shows

    def text(self, selector):
        self.page.wait_for_selector(selector)
        return plain(self.page.inner_text(selector))

    def data(self, name):
        """What the page says of its picture."""
        return self.page.evaluate(f"document.getElementById('main').dataset.{name}")

    def address(self):
        return self.page.evaluate("location.href")  # page.url is known late

    def until(self, what, seconds=30):
        end = time.monotonic() + seconds
        while not (found := what()):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s")
            self.page.wait_for_timeout(20)
        return found


# Notes when the first picture is there, and each frame that is painted.
WATCH = """() => {
  window.seen = { frames: [], clicked: 0, first: 0 };
  addEventListener("click", () => { seen.clicked = performance.now(); seen.first = 0; look(); }, true);
  const look = () => {
    if (Number(document.getElementById("main")?.dataset.items ?? 0) > 0) seen.first = performance.now();
    else requestAnimationFrame(look);
  };
  new MutationObserver((all) => {
    for (const one of all) if (one.target.id === "main") seen.frames.push(Number(one.target.dataset.frameMs));
  }).observe(document.body, { subtree: true, attributeFilter: ["data-frame-ms"] });
}"""


def first_picture(tab, run):
    """Milliseconds from the click, and the items that are seen then."""
    tab.open(f"/runs/{run}/provenance")
    tab.page.evaluate(WATCH)
    tab.click(tab.page.get_by_role("link", name="Timeline", exact=True))
    tab.until(lambda: tab.page.evaluate("seen.first > 0"), 300)
    return tab.page.evaluate("seen.first - seen.clicked"), int(tab.data("items"))


def plain(text):
    """Without the thin spaces between digits and before units."""
    return re.sub(r"[\u2009\u202f\u00a0]", "", text)


def load():
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def table(rows):
    """Columns of equal width."""
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)
