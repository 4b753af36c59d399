"""The pictures of README.md show what the binary gives today, and stay small. `tools/docs pictures` makes them again."""

import importlib.machinery
import importlib.util
import re
import struct
import xml.etree.ElementTree as xml
import zlib

import pytest

from conftest import BINARY, REPOSITORY

ASSETS = REPOSITORY / "docs/assets"
AGAIN = "stale: run tools/docs pictures and look at the result"


@pytest.fixture(scope="module")
def pictures():
    """tools/make_pictures as a module."""
    loader = importlib.machinery.SourceFileLoader("make_pictures", str(REPOSITORY / "tools/make_pictures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_pictures", loader))
    loader.exec_module(module)
    module.BINARY = BINARY.resolve()
    return module


@pytest.fixture(scope="module")
def demo(pictures, tmp_path_factory):
    return pictures.make_demo(tmp_path_factory.mktemp("demo"))


def chunks(png):
    """(kind, data) of each chunk; a wrong checksum is an error."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at:at + 4])
        kind, data = png[at + 4:at + 8], png[at + 8:at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + data)
        yield kind, data
        at += 12 + size


def size_of(png):
    return struct.unpack(">II", dict(chunks(png))[b"IHDR"][:8])


def test_terminal_is_what_a_terminal_shows_today(pictures, demo, tmp_path):
    pictures.make_terminal(demo, tmp_path / "terminal.svg")
    made, kept = (path.read_text() for path in (tmp_path / "terminal.svg", ASSETS / "terminal.svg"))
    assert made == kept, AGAIN


def test_terminal_says_what_the_command_prints(pictures, demo, neurolens):
    """The converter loses no word: the text of the picture is the text of the command, blocks aside."""
    said = [element.text for element in xml.parse(ASSETS / "terminal.svg").iter("{http://www.w3.org/2000/svg}text")]
    words = " ".join(said).split()[2 + len(pictures.ANALYZE):]
    printed = neurolens("analyze", demo / pictures.ANALYZE[1], *pictures.ANALYZE[2:], "--color", "never").out
    expected = re.sub("[█▉▊▋▌▍▎▏▒]", " ", printed).split()
    assert len(words) > 100
    assert [w.strip("·") for w in words] == [w.strip("·") for w in expected[:len(words)]]


def test_terminal_fetches_nothing():
    text = (ASSETS / "terminal.svg").read_text()
    assert not re.search(r"href|url\(|@import|<script|<image|foreignObject", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert len(text) < 30_000


def test_wrapped_and_styled_text_is_kept(pictures):
    cells = pictures.cells_of("\x1b[1mbold\x1b[0m a & b  █▎ \x1b[2mdim\x1b[0m")
    assert pictures.pieces_of(cells) == [(0, "bold", "b"), (5, "a & b", "n"), (12, "█▎", "n"), (15, "dim", "d")]
    lines = pictures.wrapped(pictures.cells_of("x" * (pictures.COLUMNS + 1)))
    assert [len(line) for line in lines] == [pictures.COLUMNS, 1]
    assert pictures.wrapped([]) == [[]]
    with pytest.raises(KeyError):
        pictures.cells_of("\x1b[31mred is not known yet\x1b[0m")


def test_report_is_of_the_page_of_today(pictures, demo):
    notes = [data for kind, data in chunks((ASSETS / "report.png").read_bytes()) if kind == b"tEXt"]
    assert notes == [b"page_sha256\0" + pictures.digest_of_shown(pictures.make_page(demo)).encode()], AGAIN


def test_report_is_small():
    png = (ASSETS / "report.png").read_bytes()
    assert len(png) <= 150_000
    assert size_of(png)[0] == 2000


def test_report_can_be_made_again(pictures, demo, tmp_path, browser):
    pytest.importorskip("PIL", reason="no Pillow: it is in the environment of tools/docs")
    pictures.make_report(demo, tmp_path / "report.png")
    png = (tmp_path / "report.png").read_bytes()
    assert size_of(png) == size_of((ASSETS / "report.png").read_bytes())
    assert 50_000 < len(png) <= 150_000  # an empty page is far smaller


@pytest.mark.parametrize("name", ["web_run", "web_timeline", "web_compare"])
def test_a_picture_of_the_web_ui_is_small(pictures, name):
    png = (ASSETS / f"{name}.png").read_bytes()
    assert len(png) <= 150_000
    assert size_of(png) == (pictures.WEB_WIDTH * pictures.SCALE, pictures.WEB_HEIGHTS[name] * pictures.SCALE)
