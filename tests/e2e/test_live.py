"""neurolens record --live and neurolens live: a recording, looked at while it runs, in a real browser and without one."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.error

import pytest

from conftest import BAD_INPUT, BINARY, Neurolens, pids_of
from live_recording import LiveRecording
from server import Server, until
from test_record import BUILD, needs_extension
from test_web import THEMES, Look, assert_accessible

FLOOD = BUILD / "bin/marker_flood"
HOSTILE = "<img src=x onerror=alert(1)>"

PROGRAM = """
import neurolens, pathlib, sys, threading, time
stop = pathlib.Path(sys.argv[1])
def work(name):
    while not stop.exists():
        with neurolens.scope(name):
            with neurolens.scope("inner"):
                time.sleep(0.003)
        neurolens.mark_event("done", n=1)
threads = [threading.Thread(target=work, args=(name,)) for name in ("step", %r)]
with neurolens.scope("serve"):
    for one in threads: one.start()
    for one in threads: one.join()
"""


@pytest.fixture
def live(tmp_path):
    """Starts recordings of a program that runs until a file is there, or of another command; ends what is left."""
    started = []
    (tmp_path / "program.py").write_text(PROGRAM % HOSTILE)

    def start(*command, **options):
        words = command or (sys.executable, tmp_path / "program.py", tmp_path / "stop")
        one = LiveRecording(tmp_path / "ledger", *words, environment={"PYTHONPATH": str(BUILD / "python")}, **options)
        one.stop = (tmp_path / "stop").touch
        started.append(one)
        return one

    yield start
    for one in started:
        one.close()


class LiveLook(Look):
    def __init__(self, browser, recording, **options):
        super().__init__(browser, recording, **options)
        self.go(recording.path)

    def figure(self, name):
        """The number of a figure, as it is read."""
        return int("".join(filter(str.isdigit, self.page.inner_text(f'[data-figure="{name}"]'))))

    def of_main(self, name):
        return self.page.get_attribute("main", f"data-{name}")

    @property
    def view(self):
        return self.page.get_attribute(".timeline", "data-view")


@needs_extension
def test_the_page_shows_a_recording_while_it_runs(live, browser):
    recording = live()
    look = LiveLook(browser, recording)
    assert look.of_main("state") == "running"
    until(lambda: look.figure("recorded") > 100)
    before = look.figure("recorded")
    until(lambda: look.figure("recorded") > before)
    titles = until(lambda: look.page.inner_text(".titles"))
    assert "thread" in titles.lower() or "python" in titles.lower()
    # main's scope, two threads with two depths, and the header of the process
    until(lambda: int(look.page.get_attribute(".timeline", "data-lines")) >= 6)
    assert "inner" in look.page.inner_text(".live-names")
    # a pause rests, and the recording goes on
    look.page.keyboard.press(" ")
    until(lambda: look.of_main("paused") == "true")
    rest, recorded = look.view, look.figure("recorded")
    until(lambda: look.figure("recorded") > recorded + 20)
    assert look.view == rest
    look.page.keyboard.press("w")
    until(lambda: look.view != rest)
    look.page.get_by_role("button", name="Follow").click()
    until(lambda: look.of_main("paused") == "false")
    moving = look.view
    until(lambda: look.view != moving)
    # the end is said, with the run
    recording.stop()
    run = recording.end()
    until(lambda: look.page.get_attribute(".verdict", "data-run") == run["run_id"])
    assert f"neurolens view {run['run_id'][:12]}" in look.page.inner_text(".verdict")
    assert look.figure("recorded") == run["markers"]["recorded"] and look.figure("lost") == sum(run["markers"]["lost"].values())
    assert look.figure("open") == 0
    look.page.click(".verdict a")  # the server stays for a while
    look.page.wait_for_selector('main[data-ready="true"]')
    assert run["run_id"] in look.page.url
    look.close()


@needs_extension
def test_viewers_keep_what_each_other_wants(live):
    recording = live()
    keeps = [recording.ask(recording=recording.name, keep=keep)["keep_ns"] for keep in (10, 300, 30, 10)]
    assert keeps == [10_000_000_000, 300_000_000_000, 300_000_000_000, 300_000_000_000]
    recording.stop()
    recording.end()


@needs_extension
def test_the_address_restores_the_view(live, browser):
    recording = live()
    look = LiveLook(browser, recording)
    until(lambda: look.figure("recorded") > 100)
    look.page.keyboard.press("w")
    look.page.get_by_label("Keep the last").select_option("120")

    def address():
        return look.page.evaluate("location.search")

    until(lambda: "span=" in address() and "keep=120" in address())
    look.page.get_by_role("button", name="Pause").click()
    until(lambda: "rest=" in address())
    rest = look.view
    look.page.reload()
    look.page.wait_for_selector(".timeline")
    assert look.view == rest and look.of_main("paused") == "true"
    assert look.page.get_by_label("Keep the last").input_value() == "120"
    look.page.get_by_role("button", name="Follow").click()
    until(lambda: "rest=" not in address())
    assert "Showing the last " in look.page.inner_text(".timeline-bar")
    recording.stop()
    recording.end()
    look.close()


@needs_extension
def test_hostile_names_stay_text(live, browser):
    recording = live()
    look = LiveLook(browser, recording)
    until(lambda: HOSTILE in look.page.inner_text(".live-names"))
    assert look.page.locator("main img").count() == 0
    recording.stop()
    recording.end()
    look.close()  # a dialog or a request elsewhere is a fault


@needs_extension
@pytest.mark.parametrize("theme", THEMES)
def test_the_page_is_accessible(live, browser, theme):
    recording = live()
    look = LiveLook(browser, recording, theme=theme)
    until(lambda: look.figure("recorded") > 10)
    look.page.keyboard.press(" ")
    assert_accessible(look.page)
    look.go("/live")
    until(lambda: recording.name in look.page.inner_text("main"))
    assert_accessible(look.page)
    recording.stop()
    recording.end()
    look.close()


@needs_extension
def test_nobody_sees_it_without_the_token(live):
    recording = live()
    assert recording.status(recording.path) == 401
    assert recording.status("/api/v1/live") == 401
    with pytest.raises(urllib.error.HTTPError) as refused:
        recording.ask(token="0" * 48)
    assert refused.value.code == 401
    assert recording.url.startswith("http://127.0.0.1:")
    assert [one["recording"] for one in recording.ask()["recordings"]] == [recording.name]
    recording.stop()
    recording.end()


def law(data):
    totals = data["totals"]
    return totals["followed"] == totals["kept"] + totals["left"]


@pytest.mark.skipif(not FLOOD.exists(), reason=f"no {FLOOD}")
@pytest.mark.parametrize(("options", "flood", "reason"), [
    (["--limit", 1], [4, 4_000_000], "disk_limit"),  # more than the file may hold
    (["--ring", 1], [4, 300_000, 100_000], "overwritten"),  # more than a flight recorder keeps
    ([], [4, 4_000_000], None),  # as fast as it can: what is lost depends on the machine
])  # fmt: skip
def test_losses_are_those_of_the_run(live, options, flood, reason):
    """What the page says in the end is what the run says, and nothing is missing."""
    recording = live(FLOOD, *flood, options=options)
    answers = []
    while recording.process.poll() is None and len(answers) < 1000:
        answers.append(recording.ask(recording=recording.name, picture=True))
        time.sleep(0.05)
        if answers[-1]["state"] == "ended":
            break
    run = recording.end()
    last = until(lambda: (one := recording.ask(recording=recording.name))["run_id"] and one["behind_bytes"] == 0 and one)
    assert last["state"] == "ended" and last["run_id"] == run["run_id"] and last["why"] == ""
    assert run["markers"]["recorded"] + sum(run["markers"]["lost"].values()) == flood[1]
    assert reason is None or run["markers"]["lost"][reason] > 0
    assert last["lost"] == run["markers"]["lost"]
    if last["missed_segments"] == 0:  # else this test was kept waiting too long to see all
        assert last["totals"]["recorded"] == run["markers"]["recorded"]
    assert all(map(law, [*answers, last]))
    recorded = [one["totals"]["recorded"] for one in answers]
    assert reason == "overwritten" or recorded == sorted(recorded)


@needs_extension
def test_ctrl_c_ends_the_program_and_keeps_the_run(live):
    recording = live()
    until(lambda: recording.ask(recording=recording.name)["totals"]["recorded"] > 50)
    recording.process.send_signal(signal.SIGINT)
    run = recording.end()
    assert run["markers"]["recorded"] > 50
    assert until(lambda: recording.ask(recording=recording.name)["run_id"]) == run["run_id"]


@needs_extension
def test_the_pages_end_if_the_recorder_is_killed(live):
    recording = live()
    until(lambda: recording.ask(recording=recording.name)["totals"]["recorded"] > 50)
    recording.process.kill()
    recording.process.wait(30)
    told = until(lambda: (one := recording.ask(recording=recording.name))["state"] == "ended" and one)
    assert "--recover" in told["why"]
    recording.stop()


def test_the_output_of_the_program_is_its_own(tmp_path):
    """What it reads and writes is as it is without --live."""
    command = [str(BINARY), "record", "--live", "--json", "--hz", "0", "--ledger", str(tmp_path / "other"), "--", "cat"]
    around = os.environ | {"NEUROLENS_LIVE_PAGES_SECONDS": "0"}
    with (tmp_path / "said").open("w") as said:  # a file: the pages may hold it for a moment longer
        done = subprocess.run(command, input="hello\n", stdout=subprocess.PIPE, stderr=said, text=True, timeout=60, check=True, env=around)
    run = json.loads(done.stdout)["data"]
    assert (pathlib.Path(run["artifacts"]) / "stdout.txt").read_text() == "hello\n" and "hello\n" in (tmp_path / "said").read_text()
    until(lambda: not pids_of("serve-live-pages", tmp_path / "other"))


# ---- Without a page


@needs_extension
def test_the_command_line_lists_and_shows(live, tmp_path):
    recording = live(live=False)
    neurolens = Neurolens(tmp_path / "ledger")
    until(lambda: any("program.py" in one["command"] for one in neurolens("live", "--json").data["recordings"]))
    (one,) = neurolens("live", "--json").data["recordings"]
    assert one["state"] == "running"
    until(lambda: neurolens("live", "--json").data["recordings"][0]["recorded"] > 20)
    shown = neurolens("live", one["recording"][:12], "--json").data
    assert shown["recording"] == one["recording"] and shown["totals"]["recorded"] > 20 and law(shown)
    assert {"step", "inner"} <= {row["name"] for row in shown["names"]}
    assert "inner" in neurolens("live", one["recording"]).out
    recording.stop()
    run = recording.end()
    assert neurolens("live", "--json").data["recordings"] == []
    ended = neurolens("live", one["recording"], "--json").data
    assert ended["run_id"] == run["run_id"] and ended["state"] == "ended"
    assert not {"totals", "lost", "rate_per_s", "names"} & set(ended), "figures that are not known are left out"
    assert "the run is" in neurolens("live", one["recording"]).out
    for name in ("0-nothing", "../ledger", "..", "/etc"):
        neurolens("live", name, code=BAD_INPUT)


def test_what_is_not_known_is_not_zero(tmp_path):
    """Recordings whose import goes on, or has failed, and one that is starting."""
    neurolens = Neurolens(tmp_path / "ledger")
    neurolens("runs")
    folders = {name: tmp_path / "ledger/recordings" / name for name in ("100-starts", "200-imported", "300-moved")}
    for name, folder in folders.items():
        (folder / "markers").mkdir(parents=True)
        if name != "300-moved":  # to the run that is being made
            (folder / "artifacts").mkdir()
            (folder / "artifacts/capture.json").write_text('{"command": "neurolens record -- x"}')
    (folders["200-imported"] / "artifacts/recording.nlr").write_bytes(b"NLRECORD")
    listed = {one["recording"]: one for one in neurolens("live", "--json").data["recordings"]}
    assert {name: one["state"] for name, one in listed.items()} == {"100-starts": "running", "200-imported": "ended", "300-moved": "ended"}
    assert listed["100-starts"]["recorded"] == 0 and listed["100-starts"]["lost"] == {}
    for name in ("200-imported", "300-moved"):
        assert not {"recorded", "lost", "rate_per_s", "processes"} & set(listed[name])
        shown = neurolens("live", name, "--json").data
        assert shown["state"] == "ended" and shown["run_id"] is None and not {"totals", "lost", "rows"} & set(shown)
    assert neurolens("live", "100-starts", "--json").data["totals"]["recorded"] == 0
    text = neurolens("live").out
    assert text.count("0 markers") == 1


@needs_extension
def test_only_an_administrator_sees_it_on_a_server(live, tmp_path):
    recording = live(live=False)
    neurolens = Neurolens(tmp_path / "ledger")
    (one,) = until(lambda: neurolens("live", "--json").data["recordings"])
    roles = ("read", "write", "admin")
    tokens = {role: neurolens("token", "add", role, "--role", role, "--project", "*", "--json").data["token"] for role in roles}
    server = Server(neurolens)
    try:
        for role in ("read", "write"):
            assert server.post("/api/v1/live", {}, token=tokens[role]).data["recordings"] == []
            assert server.post("/api/v1/live", {"recording": one["recording"]}, token=tokens[role]).status == 403
        assert server.post("/api/v1/live", {}, token=tokens["admin"]).data["recordings"][0]["recording"] == one["recording"]
        assert server.post("/api/v1/live", {"recording": one["recording"]}, token=tokens["admin"]).data["state"] == "running"
    finally:
        server.stop()
    recording.stop()
    recording.end()
