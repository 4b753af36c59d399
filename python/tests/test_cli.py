"""How the package finds and asks the program; what the program answers is tested in tests/e2e."""

import json
import warnings

import pytest

import neurolens
from neurolens import _cli


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes a shell script the program."""

    def make(script):
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("NEUROLENS_PROGRAM", str(path))

    return make


def answer(**parts):
    return json.dumps({"schema": "neurolens.show/1", "warnings": [], "next": [], **parts})


def test_the_environment_names_the_program_then_the_path(tmp_path, monkeypatch):
    monkeypatch.setattr(_cli, "_installed_program", lambda: None)
    monkeypatch.setenv("NEUROLENS_PROGRAM", "/somewhere/neurolens")
    assert _cli.program() == "/somewhere/neurolens"
    monkeypatch.delenv("NEUROLENS_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(neurolens.Error) as raised:
        _cli.program()
    assert raised.value.code == "unavailable"
    (tmp_path / "neurolens").touch(mode=0o755)
    assert _cli.program() == str(tmp_path / "neurolens")


def test_options_stand_before_the_words_of_another_program(program, tmp_path):
    program("""printf '{"data": ["'; printf '%s ' "$@"; printf '"], "warnings": []}'""")
    said = _cli.call("record", "--", "sleep", 1, ledger=tmp_path)
    assert said == [f"record --json --ledger {tmp_path} -- sleep 1 "]


def test_input_is_passed_on_and_is_empty_otherwise(program):
    program("""printf '{"data": "%s", "warnings": []}' "$(cat)" """)
    assert _cli.call("import", "-", input="text") == "text"
    assert _cli.call("import", "-", input=b"bytes") == "bytes"
    assert _cli.call("import", "-") == ""


def test_an_error_is_raised_with_all_that_was_said(program):
    error = {"code": "not_found", "message": "no such run", "hint": "neurolens runs"}
    program(f"echo '{answer(error=error)}'; exit 2")
    with pytest.raises(neurolens.Error) as raised:
        _cli.call("show", "x")
    said = raised.value
    assert (said.code, said.message, said.hint, said.exit_code) == ("not_found", "no such run", "neurolens runs", 2)
    assert str(said) == "no such run\n  neurolens runs"


def test_a_gate_that_failed_is_an_answer(program):
    program(f"echo '{answer(data=dict(verdict='regression'))}'; exit 1")
    assert _cli.call("compare", "a", "b") == {"verdict": "regression"}


def test_warnings_are_passed_on(program):
    program(f"echo '{answer(data=dict(), warnings=['3 records dropped'])}'")
    with pytest.warns(UserWarning, match="3 records dropped"):
        _cli.call("show", "x")
    program(f"echo '{answer(data=dict())}'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _cli.call("show", "x")


@pytest.mark.parametrize("script", ["kill -SEGV $$", "echo not json", "echo '[1]'", "echo '{\"other\": 1}'", "exit 70", ""])
def test_a_program_that_breaks_is_an_error(program, script):
    program(script)
    with pytest.raises(neurolens.Error) as raised:
        _cli.call("show", "x")
    assert raised.value.code == "internal" and raised.value.message


def test_a_program_that_does_not_start_is_an_error(tmp_path, monkeypatch):
    for name in (tmp_path / "missing", tmp_path):
        monkeypatch.setenv("NEUROLENS_PROGRAM", str(name))
        with pytest.raises(neurolens.Error) as raised:
            _cli.call("show", "x")
        assert raised.value.code == "unavailable"


def test_bytes_come_as_they_are_and_errors_with_what_was_said(program):
    program("printf 'PAR1\\000\\377'")
    assert _cli.read_bytes("query", "x") == b"PAR1\0\xff"
    program("echo 'neurolens: no such column' >&2; exit 2")
    with pytest.raises(neurolens.Error) as raised:
        _cli.read_bytes("query", "x")
    assert (raised.value.code, raised.value.message) == ("bad_input", "no such column")
