"""Recordings that lie: an error or counted drops, never a crash, a hang or much memory."""

import json

import pytest

import hostile_recordings
from conftest import BINARY, Neurolens
from test_hostile import MAX_RSS_MB, Running

CASES = dict(hostile_recordings.cases())
PATIENCE_SECONDS = 120


def call(neurolens, folder, *arguments):
    return Running([BINARY, *arguments, "--ledger", neurolens.ledger], folder).wait(PATIENCE_SECONDS)


def test_there_are_enough_of_them():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_recording(tmp_path, name):
    neurolens = Neurolens(tmp_path / "ledger")
    path = tmp_path / "recording.nlr"
    path.write_bytes(CASES[name])
    done = call(neurolens, tmp_path / "import", "import", path, "--json")
    assert done.code in (0, 2), done
    assert done.rss_mb <= MAX_RSS_MB, done
    envelope = json.loads(done.out)
    if done.code != 0:
        assert envelope["error"]["code"] in ("bad_input", "unsupported", "limit"), done
        assert neurolens.runs() == []
    else:
        run = envelope["data"]["run_id"]
        counts = envelope["data"]["counts"]
        assert counts["seen"] == counts["stored"] + sum(counts["folded"].values()) + sum(counts["dropped"].values())
        for verb in ("show", "analyze", "verify"):
            answer = call(neurolens, tmp_path / verb, verb, run, "--json")
            assert answer.code in (0, 1, 2) and answer.rss_mb <= MAX_RSS_MB, answer
            json.loads(answer.out)
    assert neurolens.leftovers() == []
    if name.startswith("sound"):
        assert done.code == 0, done
