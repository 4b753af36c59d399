"""Folded stacks, speedscope and pprof: sums equal those of query, and the tools that they are for read them."""

import base64
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BAD_INPUT, REPOSITORY, Neurolens, peak_memory
from folded_stacks import CORPUS, SAMPLES, by_root, device_sums, export, folded, open_time, recorded
from html_page import HOSTILE, hostile_run

MAX_MB = 300


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Imports a recorded file once for all tests."""
    ledger = Neurolens(tmp_path_factory.mktemp("corpus") / "ledger")
    runs = {}

    def run_of(name):
        if name not in runs:
            runs[name] = ledger.import_file(recorded(name))["run_id"]
        return ledger, runs[name]

    return run_of


def write_run(path, **tables):
    path.write_text(json.dumps({"schema": "neurolens.run-file/1", **tables}))
    return path


# ---- Folded stacks


@pytest.mark.parametrize("name", CORPUS)
def test_folded_sums_are_those_of_the_tables(corpus, name, tmp_path):
    neurolens, run = corpus(name)
    report = export(neurolens, run, "collapsed", tmp_path / "out")
    roots = by_root(folded(tmp_path / "out"))
    assert roots, "nothing was written"
    devices = {root: ns for root, ns in roots.items() if re.fullmatch(r"(rank \d+ )?device .*", root)}
    assert sum(devices.values()) == sum(device_sums(neurolens, run).values())
    samples = sum(ns for root, ns in roots.items() if root.startswith("samples of "))
    assert samples == int(neurolens.value(run, "SELECT coalesce(sum(weight), 0)::BIGINT FROM samples WHERE stack IS NOT NULL"))
    layers = roots["layers of the engine"]
    assert layers == int(neurolens.value(run, "SELECT coalesce(sum(total_ns), 0)::BIGINT FROM layer_times"))
    threads = [ns for root, ns in roots.items() if root not in devices and not root.startswith(("samples of", "layers of"))]
    assert sorted(threads) == open_time(neurolens, run)
    for table in ("spans", "kernels", "copies"):
        timed = int(neurolens.value(run, f"SELECT count(*) FROM {table} WHERE start_ns IS NOT NULL AND dur_ns >= 0"))
        assert report["written"].get(table, 0) == timed


def test_each_device_has_its_sum(corpus, tmp_path):
    neurolens, run = corpus("nsys with two devices")
    export(neurolens, run, "collapsed", tmp_path / "out")
    roots = by_root(folded(tmp_path / "out"))
    wanted = device_sums(neurolens, run)
    assert len(wanted) == 2
    assert {device: roots[f"device {device}"] for device in wanted} == wanted


def test_device_time_is_below_the_op_that_launched_it(neurolens, small_run, tmp_path):
    export(neurolens, small_run, "collapsed", tmp_path / "out")
    stacks = folded(tmp_path / "out")
    for row in neurolens.rows(small_run, "SELECT name, sum(dur_ns)::BIGINT AS ns FROM kernels GROUP BY name"):
        assert stacks["device 0", "aten::linear", "aten::addmm", row["name"]] == int(row["ns"])
    copy = "Memcpy HtoD (Pinned -> Device)"
    assert stacks["device 0", "aten::linear", copy] == int(neurolens.value(small_run, "SELECT sum(dur_ns)::BIGINT FROM copies"))
    assert list(stacks) == sorted(stacks)


def test_work_without_a_launch_says_so(neurolens, tmp_path):
    run = neurolens.import_file(
        write_run(tmp_path / "run.json", kernels=[{"name": "k", "start_ns": 5, "dur_ns": 7, "device": 3}])
    )["run_id"]
    export(neurolens, run, "collapsed", tmp_path / "out")
    assert folded(tmp_path / "out") == {("device 3", "(launch not captured)", "k"): 7}


def test_absent_times_are_lost_and_not_zero(neurolens, tmp_path):
    kernels = [{"name": "k", "device": 0}, {"name": "k", "device": 0, "start_ns": 1, "dur_ns": 2}]
    spans = [{"name": "mark", "kind": "instant", "start_ns": 1}, {"name": "s", "kind": "op", "start_ns": 1, "dur_ns": 3}]
    run = neurolens.import_file(write_run(tmp_path / "run.json", kernels=kernels, spans=spans))["run_id"]
    for form in ("collapsed", "speedscope", "pprof", "otlp"):
        report = export(neurolens, run, form, tmp_path / form)
        assert report["written"] == {"kernels": 1, "spans": 1}, form
        assert report["lost"]["kernels without a time"] == 1, form
        assert report["lost"]["instants and spans without a duration"] == 1, form


def test_names_cannot_break_lines_or_stacks(neurolens, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(hostile_run([*HOSTILE, "semi;colon;s"])))
    run = neurolens.import_file(tmp_path / "run.json")["run_id"]
    export(neurolens, run, "collapsed", tmp_path / "out")
    text = (tmp_path / "out").read_text()
    assert not set(text) & {chr(code) for code in [*range(10), *range(11, 32), 0x202E, 0x2066]}
    stacks = folded(tmp_path / "out")
    assert sum(by_root(stacks)[root] for root in by_root(stacks) if root.startswith("device")) == device_sums(neurolens, run)[0]
    assert any("semi\\x3bcolon\\x3bs" in frames for frames in stacks)


def test_samples_have_a_root_of_their_own(neurolens, tmp_path):
    tracks = [{"kind": "thread", "thread_id": 7, "thread_name": "main"}]
    samples = [
        {"track_id": 0, "start_ns": 1, "stack": "a;b", "weight": 10},
        {"track_id": 0, "start_ns": 2, "stack": "a;b", "weight": 5},
        {"track_id": 0, "start_ns": 3, "stack": "a", "weight": 1},
    ]
    run = neurolens.import_file(write_run(tmp_path / "run.json", tracks=tracks, samples=samples))["run_id"]
    export(neurolens, run, "collapsed", tmp_path / "out")
    assert folded(tmp_path / "out") == {("samples of thread main", "a"): 1, ("samples of thread main", "a", "b"): 15}
    export(neurolens, run, "speedscope", tmp_path / "scope")
    (profile,) = json.loads((tmp_path / "scope").read_text())["profiles"]
    assert (profile["type"], profile["weights"]) == ("sampled", [10, 5, 1])


def test_a_window_counts_only_what_lies_inside(neurolens, tmp_path):
    spans = [
        {"name": "step", "kind": "annotation", "start_ns": 100, "dur_ns": 100, "track_id": 0},
        {"name": "around", "kind": "other", "start_ns": 0, "dur_ns": 1000, "track_id": 0},
    ]
    kernels = [
        {"name": "before", "start_ns": 10, "dur_ns": 20, "device": 0},
        {"name": "into", "start_ns": 90, "dur_ns": 20, "device": 0},
        {"name": "inside", "start_ns": 120, "dur_ns": 5, "device": 0},
        {"name": "out of", "start_ns": 190, "dur_ns": 70, "device": 0},
    ]
    tracks = [{"kind": "thread", "thread_id": 7, "thread_name": "main"}]
    run = neurolens.import_file(write_run(tmp_path / "run.json", tracks=tracks, spans=spans, kernels=kernels))["run_id"]
    report = export(neurolens, run, "collapsed", tmp_path / "out", "--window", "step")
    stacks = folded(tmp_path / "out")
    device = {frames[-1]: ns for frames, ns in stacks.items() if frames[0] == "device 0"}
    assert device == {"into": 10, "inside": 5, "out of": 10}
    assert {frames: ns for frames, ns in stacks.items() if frames[0] == "thread main"} == {
        ("thread main", "around", "step"): 100
    }
    assert report["written"] == {"kernels": 3, "spans": 2}
    export(neurolens, run, "speedscope", tmp_path / "scope", "--window", "step")
    for profile in json.loads((tmp_path / "scope").read_text())["profiles"]:
        assert profile["endValue"] <= 100


def test_the_same_run_gives_the_same_bytes(corpus, tmp_path):
    for name in ("kineto on an H100", "nsys with two devices"):
        neurolens, run = corpus(name)
        for form in ("collapsed", "speedscope", "pprof", "otlp"):
            for path in ("one", "two"):
                export(neurolens, run, form, tmp_path / path)
            assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes(), (name, form)


def test_memory_is_bounded(neurolens, make_big_trace, tmp_path):
    run = neurolens.import_file(make_big_trace(0))["run_id"]
    for form in ("collapsed", "speedscope", "pprof", "otlp"):
        command = neurolens.command("export", run, "--format", form, "--output", tmp_path / "out", "--force")
        code, megabytes, messages = peak_memory(command, environment=neurolens.environment)
        assert code == 0, messages
        assert megabytes < MAX_MB, form


# ---- The difference of two runs


def test_the_difference_has_the_sums_of_both_runs(neurolens, tmp_path):
    samples = ("kineto_small.json", "kineto_small_after.json")
    before, after = (neurolens.import_file(SAMPLES / name)["run_id"] for name in samples)
    export(neurolens, before, "collapsed", tmp_path / "out", "--against", after)
    sums = collections.Counter()
    both = 0
    for line in (tmp_path / "out").read_text().splitlines():
        stack, first, second = line.rsplit(" ", 2)
        both += int(first) > 0 and int(second) > 0
        if stack.startswith("device"):
            sums["before"] += int(first)
            sums["after"] += int(second)
    assert both > 0, "no stack is in both runs"
    assert sums["before"] == sum(device_sums(neurolens, before).values())
    assert sums["after"] == sum(device_sums(neurolens, after).values())


def test_only_folded_stacks_have_a_difference(neurolens, small_run, tmp_path):
    command = ("export", small_run, "--format", "pprof", "--against", small_run, "--output", tmp_path / "out", "--json")
    assert neurolens(*command, code=BAD_INPUT).envelope["error"]["code"] == "bad_input"


# ---- speedscope


@pytest.fixture(scope="session")
def speedscope():
    """Folder of the program, as npm has it."""
    deps = pathlib.Path(os.environ.get("NEUROLENS_DEPS", REPOSITORY / ".deps"))
    found = sorted(deps.glob("speedscope-*/node_modules/speedscope/dist/release"))
    if not found:
        pytest.skip(f"no speedscope in {deps}: run tools/setup with npm in the path")
    return found[-1]


def frame_times(document):
    """Time by profile and name of frame; fails unless events nest and times never go back."""
    names = [frame["name"] for frame in document["shared"]["frames"]]
    times = collections.Counter()
    for profile in document["profiles"]:
        if profile["type"] != "evented":
            continue
        stack, now = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= now
            now = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], now))
            else:
                frame, since = stack.pop()
                assert frame == event["frame"]
                times[profile["name"], names[frame]] += now - since
        assert not stack and now <= profile["endValue"]
    return times


@pytest.mark.parametrize("name", CORPUS)
def test_speedscope_has_the_time_of_every_row(corpus, name, tmp_path):
    neurolens, run = corpus(name)
    export(neurolens, run, "speedscope", tmp_path / "out")
    times = frame_times(json.loads((tmp_path / "out").read_text()))
    by_name = collections.Counter()
    for (_, frame), ns in times.items():
        by_name[frame] += ns
    rows = neurolens.rows(
        run,
        " UNION ALL ".join(
            f"SELECT name, sum(dur_ns)::BIGINT AS ns FROM {table} WHERE start_ns IS NOT NULL AND dur_ns >= 0 GROUP BY name"
            for table in ("spans", "kernels", "copies")
        ),
    )
    wanted = collections.Counter()
    for row in rows:
        wanted[row["name"]] += int(row["ns"])
    assert {n: ns for n, ns in by_name.items() if ns} == {n: ns for n, ns in wanted.items() if ns}


def test_speedscope_files_follow_its_schema(corpus, speedscope, tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema: run tools/setup")
    schema = json.loads((speedscope / "file-format-schema.json").read_text())
    for name in ("kineto on an H100", "trtexec"):
        neurolens, run = corpus(name)
        export(neurolens, run, "speedscope", tmp_path / "out")
        document = json.loads((tmp_path / "out").read_text())
        jsonschema.validate(document, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, "shared": {}}, schema)


def opened_in_speedscope(browser, speedscope, path, tmp_path, expected=None):
    """What the window of speedscope says once it has read the file, in the way of its own command line."""
    script = tmp_path / "profile.js"
    content = base64.b64encode(path.read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(content)})")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(f"file://{speedscope}/index.html#localProfilePath={script}", timeout=300_000)
    if expected is None:
        page.wait_for_timeout(3000)
    else:
        shown = f"(document.title + document.body.innerText).includes({json.dumps(expected)})"
        page.wait_for_function(shown, timeout=300_000)
    text, title = page.inner_text("body"), page.title()
    page.close()
    return text, title, errors


def test_speedscope_opens_the_file(corpus, browser, speedscope, tmp_path):
    neurolens, run = corpus("kineto on an H100")
    path = tmp_path / "run.speedscope.json"
    export(neurolens, run, "speedscope", path)
    text, title, errors = opened_in_speedscope(browser, speedscope, path, tmp_path, "thread 19392 (python3)")
    assert not errors
    assert "thread 19392 (python3)" in text + title, (text, title)
    damaged = tmp_path / "damaged.speedscope.json"
    damaged.write_text(path.read_text()[:-100])
    text, title, _ = opened_in_speedscope(browser, speedscope, damaged, tmp_path)
    assert "thread 19392 (python3)" not in text + title, "it is not the file that is shown"


# ---- pprof


def raw_profile(path):
    """Types, and sums by type, of a profile as `go tool pprof` reads it; and its labels."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    done = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rest = done.stdout.split("Samples:\n", 1)[1]
    lines = rest.split("Locations\n", 1)[0].splitlines()
    types = [word.split("/")[0] for word in lines[0].split()]
    sums, labels = collections.Counter(), collections.defaultdict(set)
    for line in lines[1:]:
        if match := re.match(r"\s*(-?\d[\d\s-]*):(?: \d+)+\s*$", line):
            for name, value in zip(types, match[1].split(), strict=True):
                sums[name] += int(value)
        else:
            for key, value in re.findall(r"(\w+):\[(.*?)\](?= \w+:|$)", line):
                labels[key].add(value)
    return sums, labels, lines[0]


@pytest.mark.parametrize("name", CORPUS)
def test_pprof_sums_are_those_of_the_tables(corpus, name, tmp_path):
    neurolens, run = corpus(name)
    report = export(neurolens, run, "pprof", tmp_path / "out.pb")
    sums, _, _ = raw_profile(tmp_path / "out.pb")
    layers = int(neurolens.value(run, "SELECT coalesce(sum(total_ns), 0)::BIGINT FROM layer_times"))
    assert sums["device_time"] == sum(device_sums(neurolens, run).values()) + layers
    assert sums["host_self_time"] == sum(open_time(neurolens, run))
    if "layer_times" not in report["written"]:
        assert sums["count"] == sum(report["written"].values())


def test_pprof_shows_kernels_with_their_labels(neurolens, small_run, tmp_path):
    export(neurolens, small_run, "pprof", tmp_path / "out.pb")
    _, labels, types = raw_profile(tmp_path / "out.pb")
    assert "device_time/nanoseconds[dflt]" in types
    assert labels["device"] == {"0"} and labels["stream"] == {"7"}
    assert "[[8, 1], []]" in labels["shapes"]
    top = subprocess.run(["go", "tool", "pprof", "-top", "-unit", "ns", tmp_path / "out.pb"], capture_output=True, text=True)
    slowest = neurolens.rows(small_run, "SELECT name, sum(dur_ns)::BIGINT AS ns FROM kernels GROUP BY name ORDER BY ns DESC LIMIT 1")[0]
    assert re.search(rf"{slowest['ns']}ns .*{re.escape(slowest['name'])}", top.stdout), top.stdout
