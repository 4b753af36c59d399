"""neurolens view: the page of a run, before somebody's eyes or on its way there. Browsers here are scripts."""

import contextlib
import itertools
import os
import pathlib
import re
import signal
import stat
import subprocess
import time
import urllib.request

import pytest

from conftest import BAD_INPUT, BINARY, MISSING, OK, Neurolens

CLIENT = "192.0.2.1 50000"


class Desk:
    """The binary in an environment that holds only what a test names."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.ledger = folder / "ledger"
        self.pages = self.home / ".cache/neurolens/pages"

    def program(self, name, text):
        path = self.programs / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def browser(self, name="browser", then=""):
        """Writes its arguments, one a line, to a file."""
        seen = self.folder / f"{name}.seen"
        return self.program(name, f'printf "%s\\n" "$@" > "{seen}.new"; mv "{seen}.new" "{seen}"\n{then}\n')

    def seen(self, name="browser"):
        path = self.folder / f"{name}.seen"
        for _ in range(200):
            if path.exists():
                return path.read_text().splitlines()
            time.sleep(0.05)
        raise AssertionError(f"{name} was not started")

    def __call__(self, *arguments, code=OK, **environment):
        neurolens = Neurolens(self.ledger)
        neurolens.environment = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin", **environment}
        neurolens.environment = {k: v for k, v in neurolens.environment.items() if v is not None}
        return neurolens("view", *arguments, "--offline", code=code, cwd=self.folder)

    def ended(self, *arguments):
        """Of a view that starts no server of its own."""
        command = [BINARY, "view", *arguments, "--ledger", self.ledger]
        return subprocess.run(command, capture_output=True, text=True, env={"HOME": str(self.home)}, timeout=60, check=False)

    @contextlib.contextmanager
    def served(self, *arguments, **environment):
        """The lines that it says until it waits for Ctrl+C."""
        command = [str(BINARY), "view", *map(str, arguments), "--ledger", str(self.ledger)]
        around = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/bin:/bin", **environment}
        process = subprocess.Popen(command, env=around, stderr=subprocess.PIPE, text=True)
        try:
            said = itertools.takewhile(lambda line: line not in ("Ctrl+C ends it\n", ""), iter(process.stderr.readline, None))
            yield [line.rstrip("\n") for line in said]
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            process.stderr.close()


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_browser_gets_the_page_as_one_argument(desk, small_trace):
    desk.browser()
    data = desk(small_trace, "--json", BROWSER="browser").data
    assert desk.seen() == [data["page"]]
    assert data["opened"] and data["browser"] == str(desk.programs / "browser") and data["fetch"] is None
    page = pathlib.Path(data["page"])
    assert page == desk.pages / f"run-{data['run_ids'][0][:12]}.html"
    assert (mode(page), mode(page.parent)) == (0o600, 0o700)
    assert sorted(desk.pages.iterdir()) == [page]


def test_page_is_that_of_report(desk, small_trace):
    page = desk(small_trace, "--print").out.strip()
    Neurolens(desk.ledger)("report", small_trace, "--format", "html", "--output", desk.folder / "out")
    assert pathlib.Path(page).read_bytes() == (desk.folder / "out/report.html").read_bytes()


def test_two_runs_give_the_page_of_compare(desk, make_trace):
    base, new = make_trace(1), make_trace(2)
    data = desk(base, new, "--print", "--json").data
    assert data["page"].endswith(f"compare-{data['run_ids'][0][:12]}-{data['run_ids'][1][:12]}.html")
    assert mode(data["page"]) == 0o600
    Neurolens(desk.ledger)("compare", base, new, "--html", desk.folder / "out.html")
    assert pathlib.Path(data["page"]).read_bytes() == (desk.folder / "out.html").read_bytes()


def test_page_that_is_there_is_opened_as_it_is(desk):
    (desk.folder / "a b;$(touch pwned).html").write_text("<!DOCTYPE html>")
    desk.browser()
    data = desk("a b;$(touch pwned).html", "--json", BROWSER="browser").data
    assert desk.seen() == [str(desk.folder / "a b;$(touch pwned).html")] == [data["page"]]
    assert data["run_ids"] == [] and not (desk.folder / "pwned").exists() and not desk.ledger.exists()


def test_browser_is_no_shell_command(desk, small_trace):
    for text in ("none-such; touch pwned", "none-such || touch pwned", "$(touch pwned)", "`touch pwned`"):
        desk(small_trace, code=MISSING, BROWSER=text)
    desk.browser()
    desk(small_trace, BROWSER="browser ;touch pwned")
    assert desk.seen()[:2] == [";touch", "pwned"]
    assert not (desk.folder / "pwned").exists()


def test_first_browser_that_is_there(desk, small_trace):
    desk.browser()
    page = desk(small_trace, "--print").out.strip()
    desk(small_trace, BROWSER="none-such %s:browser --new %s -x:/bin/false")
    assert desk.seen() == ["--new", page, "-x"]


def test_browser_in_a_folder_with_blanks(desk, small_trace):
    browser = desk.browser()
    folder = desk.folder / "my programs"
    folder.mkdir()
    browser.rename(folder / "browser")
    desk(small_trace, BROWSER=str(folder / "browser"))
    assert len(desk.seen()) == 1


def test_does_not_wait_for_the_browser(desk, small_trace):
    """It goes on when we are done, without our output: else whoever reads that would wait for it."""
    desk.browser(then=f'sleep 3; echo late; touch "{desk.folder}/late"')
    result = desk(small_trace, BROWSER="browser")
    assert not (desk.folder / "late").exists() and "late" not in result.out
    for _ in range(200):
        if (desk.folder / "late").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the browser was ended with us")


@pytest.mark.parametrize("how", ["exit 4", "kill -9 $$"])
def test_browser_that_fails_at_once(desk, small_trace, how):
    desk.browser(then=how)
    result = desk(small_trace, "--json", code=MISSING, BROWSER="browser")
    error = result.envelope["error"]
    assert error["code"] == "unavailable" and str(desk.pages) in error["hint"]


def test_browser_that_is_no_program(desk, small_trace):
    (desk.programs / "browser").write_text("not executable")
    (desk.programs / "bad").write_bytes(b"\x7fELF nonsense")
    (desk.programs / "bad").chmod(0o755)
    for name in ("browser", "bad", "none-such", str(desk.folder), " ", ":"):
        result = desk(small_trace, "--json", code=MISSING, BROWSER=name)
        assert result.envelope["error"]["code"] == "unavailable", name


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_screen_means_xdg_open(desk, small_trace, screen):
    desk.browser("xdg-open")
    data = desk(small_trace, "--json", **{screen: ":0"}).data
    assert data["opened"] and desk.seen("xdg-open") == [data["page"]]


def test_screen_without_an_opener(desk, small_trace):
    assert desk(small_trace, "--json", code=MISSING, DISPLAY=":0", PATH="/nowhere").envelope["error"]["code"] == "unavailable"


def test_linux_inside_windows(desk, small_trace):
    desk.browser("wslview")
    data = desk(small_trace, "--json", WSL_DISTRO_NAME="Ubuntu").data
    assert desk.seen("wslview") == [data["page"]]


def test_print_opens_nothing(desk, small_trace):
    desk.browser()
    result = desk(small_trace, "--print", BROWSER="browser")
    assert pathlib.Path(result.out.removesuffix("\n")).is_file() and result.err == ""
    time.sleep(0.5)
    assert not (desk.folder / "browser.seen").exists()


# ---- Over ssh


def user():
    return subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("server", "option", "host"),
    [("10.0.0.5 22", "", "10.0.0.5"), ("10.0.0.5 2222", "-P 2222 ", "10.0.0.5"), ("2001:db8::5 22", "", "[2001:db8::5]")],
)
def test_over_ssh_it_says_how_to_fetch_the_page(desk, small_trace, server, option, host):
    """Even with a display: a browser drawn over ssh is nobody's wish."""
    desk.browser("xdg-open")
    result = desk(small_trace, SSH_CONNECTION=f"{CLIENT} {server}", DISPLAY=":10")
    page = result.out.splitlines()[0]
    source = f"{user()}@{host}:{page}"
    line = f"scp {option}" + (f"'{source}'" if "[" in source else source) + " ."
    assert f"  {line}\n" in result.out and pathlib.Path(page).is_file()
    assert not (desk.folder / "xdg-open.seen").exists()


@pytest.mark.parametrize("name", ["plain.html", "it's a page.html"])
def test_line_fetches_the_page(desk, name):
    """scp and ssh are scripts that treat their arguments as the real ones do: the path as it is; a shell on the server."""
    (desk.folder / name).write_text("<!DOCTYPE html>" + name)
    line = desk(name, "--json", SSH_CONNECTION=f"{CLIENT} 10.0.0.5 2222").data["fetch"]
    desk.program("scp", '[ "$1 $2" = "-P 2222" ] && exec cp "${3#*:}" "$4"\n')
    desk.program("ssh", '[ "$1 $2" = "-p 2222" ] && shift 3 && exec sh -c "$*"\n')
    laptop = desk.folder / "laptop"
    laptop.mkdir()
    environment = {"PATH": f"{desk.programs}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", line], check=True, cwd=laptop, env=environment)
    assert (laptop / name).read_text() == "<!DOCTYPE html>" + name


@pytest.mark.parametrize("said", ["", "nonsense", f"{CLIENT} $(touch pwned) 22", f"{CLIENT} fe80::1%eth0 22", f"{CLIENT} 10.0.0.5 2;2"])
def test_unknown_address_is_the_name_of_the_host(desk, small_trace, said):
    line = desk(small_trace, "--json", SSH_CONNECTION=said).data["fetch"]
    host = os.uname().nodename
    assert line.startswith((f"scp {user()}@{host}:/", f"scp {user()}@HOST:/")), line


def test_browser_that_is_named_counts_over_ssh(desk, small_trace):
    """Editors that work over ssh name one which opens pages on the other side."""
    desk.browser()
    assert desk(small_trace, "--json", BROWSER="browser", SSH_CONNECTION=f"{CLIENT} 10.0.0.5 22").data["opened"]


# ---- Where the page goes


def page_folder(desk, trace, **environment):
    return pathlib.Path(desk(trace, "--print", **environment).out.strip()).parent


def test_cache_folder_of_the_user(desk, small_trace, tmp_path):
    assert page_folder(desk, small_trace, XDG_CACHE_HOME=str(tmp_path / "c")) == tmp_path / "c/neurolens/pages"
    assert page_folder(desk, small_trace, XDG_CACHE_HOME="relative") == desk.pages


@pytest.mark.parametrize("home", [None, "/dev/null", "/proc/self"])
def test_without_a_home_the_page_goes_to_the_temporary_folder(desk, small_trace, tmp_path, home):
    folder = page_folder(desk, small_trace, HOME=home, TMPDIR=str(tmp_path))
    assert folder == tmp_path / f"neurolens-{os.geteuid()}" and mode(folder) == 0o700


@pytest.mark.parametrize("kind", ["open", "link"])
def test_folder_that_others_may_read_is_not_taken(desk, small_trace, tmp_path, kind):
    """The next place is."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700 if kind == "link" else 0o755)
    cache = tmp_path / "cache"
    (cache / "neurolens").mkdir(parents=True)
    if kind == "link":
        (cache / "neurolens/pages").symlink_to(elsewhere)
    else:
        elsewhere.rename(cache / "neurolens/pages")
    assert page_folder(desk, small_trace, XDG_CACHE_HOME=str(cache)) == desk.pages
    assert list((cache / "neurolens/pages").iterdir()) == []


def test_page_is_replaced_and_private_again(desk, small_trace):
    page = pathlib.Path(desk(small_trace, "--print").out.strip())
    first = page.read_bytes()
    page.write_text("old")
    page.chmod(0o644)
    desk(small_trace, "--print")
    assert (page.read_bytes(), mode(page)) == (first, 0o600)


def test_old_pages_are_removed(desk, small_trace):
    """Those of view alone, and only after 30 days."""
    page = pathlib.Path(desk(small_trace, "--print").out.strip())
    ids = "0123456789ab", "ba9876543210"
    ours = [desk.pages / f"run-{ids[0]}.html", desk.pages / f"compare-{ids[0]}-{ids[1]}.html", desk.pages / ".new-AbCd12"]
    others = [desk.pages / name for name in ("mine.html", "run-mine.html", f"run-{ids[0]}.txt", f"compare-{ids[0]}+{ids[1]}.html")]
    young = desk.pages / f"run-{ids[1]}.html"
    for path in ours[:2] + others + [young]:
        path.write_text("<!DOCTYPE html>")
    ours[2].mkdir()
    (ours[2] / "report.html").write_text("half")
    now = time.time()
    for path in ours + others:
        os.utime(path, (now, now - 30 * 86400 - 60))
    os.utime(young, (now, now - 30 * 86400 + 600))
    desk(small_trace, "--print")
    assert sorted(desk.pages.iterdir()) == sorted([page, young, *others])


def test_old_link_is_removed_and_not_what_it_points_to(desk, small_trace):
    desk(small_trace, "--print")
    kept = desk.folder / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    link = desk.pages / ".new-AbCd12"
    link.symlink_to(kept)
    old = time.time() - 31 * 86400
    os.utime(link, (old, old), follow_symlinks=False)
    desk(small_trace, "--print")
    assert not link.is_symlink() and (kept / "file").exists()


# ---- What cannot be viewed


def test_bad_input_leaves_no_page(desk, make_trace):
    (desk.folder / "broken.json").write_text('{"traceEvents": [')
    for arguments in (["none-such"], ["none.html"], ["broken.json"], [make_trace(1), make_trace(2), make_trace(3)]):
        desk(*arguments, code=BAD_INPUT, BROWSER="/bin/false")
    assert not desk.pages.exists() or list(desk.pages.iterdir()) == []


def test_needs_something_to_view(desk):
    desk(code=BAD_INPUT)
    assert subprocess.run([BINARY, "view", "--help"], capture_output=True, check=True).stdout


# Served


def page_at(lines):
    """The address that it says, and what is there."""
    (address,) = [line.removeprefix("the page: ") for line in lines if line.startswith("the page: ")]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    return address, opener.open(address).read().decode()


def test_a_profile_is_imported_and_its_page_served(desk, small_trace):
    desk.browser()
    with desk.served(small_trace, BROWSER="browser") as lines:
        address, text = page_at(lines)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/runs/[0-9a-f]{64}\?token=\w+", address) and "<html" in text
        assert desk.seen() == [address] and f"opened with {desk.programs / 'browser'}" in lines
    assert not desk.pages.exists()


def test_two_runs_are_served_compared(desk, make_trace):
    with desk.served(make_trace(3), make_trace(4)) as lines:
        address, text = page_at(lines)
        assert re.search(r"/compare\?base=[0-9a-f]{64}&new=[0-9a-f]{64}&token=", address) and "<html" in text


def test_the_page_that_is_wanted_is_served(desk, small_trace, make_trace):
    with desk.served(small_trace, "--page", "timeline") as lines:
        assert re.search(r"/runs/[0-9a-f]{64}/timeline\?token=", page_at(lines)[0])
    assert desk.ended(make_trace(3), make_trace(4), "--page", "timeline").returncode == BAD_INPUT
    desk(small_trace, "--page", "timeline", "--print", code=BAD_INPUT)
    desk(small_trace, "--page", "elsewhere", "--print", code=BAD_INPUT)


def test_a_second_view_uses_the_server_of_the_first(desk, small_trace):
    with desk.served(small_trace) as lines:
        address, _ = page_at(lines)
        again = desk.ended("@latest")
        assert again.returncode == OK and f"the page: {address}" in again.stderr.splitlines()
        assert mode(desk.ledger / "serve.lock") == 0o600  # the token is in it


def test_over_ssh_the_tunnel_is_said(desk, small_trace):
    with desk.served(small_trace, SSH_CONNECTION=f"{CLIENT} 192.0.2.7 2222") as lines:
        port = re.search(r":(\d+)/", page_at(lines)[0])[1]
        assert any(f"ssh -L {port}:127.0.0.1:{port} -p 2222 " in line for line in lines), lines


def test_file_is_written_and_nothing_opened(desk, small_trace, make_trace):
    """Its pages: test_web_offline.py."""
    desk.browser()
    out = desk.folder / "out.html"
    made = desk(small_trace, "--file", out, "--json", code=None, BROWSER="browser")
    if "has no pages" in made.err:
        pytest.skip("this build has no web UI: tools/setup found no npm")
    assert made.data["page"] == str(out) and not made.data["opened"] and out.read_text().startswith("<!DOCTYPE html>")
    assert not (desk.folder / "browser.seen").exists() and not desk.pages.exists()
    assert len(desk(make_trace(1), make_trace(2), "--file", out, "--json").data["run_ids"]) == 2
    desk(make_trace(1), make_trace(2), make_trace(3), "--file", out, code=BAD_INPUT)
    desk(small_trace, "--file", out, "--perfetto", code=BAD_INPUT)


def test_what_is_no_run_starts_no_server(desk):
    done = desk.ended("nothing")
    assert done.returncode == BAD_INPUT and "Ctrl+C" not in done.stderr
