"""Scopes and marks reach other tools, too: NVTX and roctx, by libraries made here and by the real Nsight Systems. A recording
has none of them twice."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

from conftest import BINARY, REPOSITORY, Neurolens, need

BUILD = BINARY.resolve().parent.parent
DEPS = pathlib.Path(os.environ.get("NEUROLENS_DEPS") or REPOSITORY / ".deps")
HEADERS = DEPS / "nvidia-1/nvtx"

needs_headers = pytest.mark.skipif(not HEADERS.exists(), reason=f"no headers of NVTX in {HEADERS}: run tools/setup")
needs_extension = pytest.mark.skipif(not list(BUILD.glob("python/neurolens/_markers*.so")),
                                     reason="the Python package was not built: no headers of Python")

PYTHON = """
import asyncio, neurolens

@neurolens.scope("decode", batch=2)
async def decode(i):
    await asyncio.sleep(0.002)

async def main():
    await asyncio.gather(decode(1), decode(2))

with neurolens.scope("prefill", batch=8):
    neurolens.mark_event("sampled \\u00e9", token=42)
    with neurolens.scope("inner"):
        pass
asyncio.run(main())
neurolens.counter("batch", 8)
"""
PYTHON_CALLS = ["push prefill", "mark sampled é", "push inner", "pop ", "pop ", "start decode", "start decode", "stop known", "stop known"]

CPP = """
#include <neurolens/neurolens.h>
#include <thread>
int main() {
  for (int i = 0; i < 2; i++) {
    NEUROLENS_SCOPE("step");
    NEUROLENS_SCOPE_IN("LLM", "decode");
    const neurolens::Scope scope("prefill", {{"batch", 8}, {"name", "a\\"b"}});
    neurolens::mark("sampled", {{"token", 42}});
    neurolens::counter("batch", 8);
  }
  neurolens_end(neurolens_begin_attributed("in C", "{\\"a\\": 1}"));
}
"""
STEP = ["push step", "push in decode", "push prefill", "mark sampled", "pop ", "pop in ", "pop "]
CPP_CALLS = [STEP[0], "domain LLM", *STEP[1:], *STEP, "push in C", "pop "]
CPP_SPANS = [("step", "neurolens", None), ("decode", "LLM", None), ("prefill", "neurolens", {"batch": 8, "name": 'a"b'}),
             ("sampled", "neurolens", {"token": 42})]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The listeners and a program with markers."""
    folder = tmp_path_factory.mktemp("made")
    listener = REPOSITORY / "tests/e2e/nvtx_listener.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-DROCTX", "-o", folder / "roctx.so", listener], check=True)
    if HEADERS.exists():
        subprocess.run(["gcc", "-shared", "-fPIC", "-isystem", HEADERS, "-o", folder / "nvtx.so", listener], check=True)
    (folder / "program.cpp").write_text(CPP)
    subprocess.run(["g++", "-std=c++11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", REPOSITORY / "include", "-o", folder / "program",
                    folder / "program.cpp", "-ldl"], check=True)
    (folder / "program.py").write_text(PYTHON)
    return folder


def heard(tmp_path, command, code=0, **variables):
    """What a listener wrote down while the command ran."""
    path = tmp_path / "heard"
    path.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "LISTENER_FILE": str(path)}
    environment.update({name: str(value) for name, value in variables.items()})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return path.read_text().splitlines() if path.exists() else []


@needs_headers
def test_nvtx_hears_of_a_program_in_cpp(made, tmp_path):
    assert heard(tmp_path, [made / "program"], NVTX_INJECTION64_PATH=made / "nvtx.so") == ["loaded ", *CPP_CALLS]


@needs_headers
@needs_extension
def test_nvtx_hears_of_a_program_in_python(made, tmp_path):
    """Tasks take turns on a thread: their ranges do not nest."""
    assert heard(tmp_path, [sys.executable, made / "program.py"], NVTX_INJECTION64_PATH=made / "nvtx.so") == ["loaded ", *PYTHON_CALLS]


def test_roctx_hears_where_it_is_loaded(made, tmp_path):
    """It knows no domains."""
    calls = [call.replace(" in ", " ") if call != "push in C" else call for call in CPP_CALLS if not call.startswith("domain")]
    assert heard(tmp_path, [made / "program"], LD_PRELOAD=made / "roctx.so") == calls
    assert heard(tmp_path, [made / "program"]) == []


@needs_extension
def test_roctx_hears_of_python(made, tmp_path):
    assert heard(tmp_path, [sys.executable, made / "program.py"], LD_PRELOAD=made / "roctx.so") == PYTHON_CALLS


@needs_headers
@pytest.mark.parametrize("variables", [
    {"LISTENER_REFUSES": "1"}, {"NVTX_INJECTION64_PATH": "/no/such/tool.so"}, {"NVTX_INJECTION64_PATH": ""}])
def test_a_tool_that_is_not_there_is_none(made, tmp_path, variables):
    assert heard(tmp_path, [made / "program"], **{"NVTX_INJECTION64_PATH": str(made / "nvtx.so"), **variables}) == []


def spans_of(neurolens, run):
    rows = neurolens.rows(run, "SELECT name, category, args FROM spans ORDER BY start_ns, dur_ns DESC")
    return [(row["name"], row["category"], json.loads(row["args"]) if row["args"] else None) for row in rows]


def test_a_recording_has_each_scope_once(made, tmp_path):
    """The recorder listens to NVTX of other code as well."""
    neurolens = Neurolens(tmp_path / "ledger")
    result = neurolens("record", "--json", "--", made / "program")
    assert result.data["markers"] == {"recorded": 18, "lost": {}}
    assert spans_of(neurolens, result.data["run_id"]) == CPP_SPANS * 2 + [("in C", "neurolens", {"a": 1})]


@needs_headers
def test_a_recording_and_another_tool(made, tmp_path):
    neurolens = Neurolens(tmp_path / "ledger", {"NVTX_INJECTION64_PATH": str(made / "nvtx.so"), "LISTENER_FILE": str(tmp_path / "heard")})
    result = neurolens("record", "--json", "--", made / "program")
    assert result.data["markers"] == {"recorded": 18, "lost": {}}
    assert (tmp_path / "heard").read_text().splitlines() == ["loaded ", *CPP_CALLS]


@needs_extension
def test_attributes_of_scopes_in_python(tmp_path):
    """They are taken when the scope is made, and belong to each call of a decorated function; values JSON does not know are text."""
    neurolens = Neurolens(tmp_path / "ledger", {"PYTHONPATH": str(BUILD / "python")})
    (tmp_path / "program.py").write_text(PYTHON + """
with neurolens.scope("odd", name="n", function={1}, nothing=None, text="é\\""):
    pass
scope = neurolens.scope("large", text="x" * 40000)
with scope:
    pass
try:
    neurolens.scope("a", "b")
except TypeError as error:
    assert "attributes" in str(error)
else:
    raise SystemExit(1)
""")
    result = neurolens("record", "--json", "--", sys.executable, tmp_path / "program.py")
    assert result.data["workload"]["exit_code"] == 0
    assert result.data["markers"]["lost"] == {"too_large": 1, "begin_lost": 1}
    spans = spans_of(neurolens, result.data["run_id"])
    assert spans == [("prefill", "neurolens", {"batch": 8}), ("sampled é", "neurolens", {"token": 42}), ("inner", "neurolens", None),
                     ("decode", "neurolens", {"batch": 2}), ("decode", "neurolens", {"batch": 2}),
                     ("odd", "neurolens", {"name": "n", "function": "{1}", "nothing": None, "text": 'é"'})]
    lanes = neurolens.rows(result.data["run_id"], "SELECT count(DISTINCT track_id) n FROM spans WHERE name = 'decode'")
    assert lanes == [{"n": 2}]


GENERATE = """
import neurolens.torch, torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
                                     num_key_value_heads=2, max_position_embeddings=64)).eval()
tokens = torch.randint(3, 64, (2, 7))
with neurolens.torch.annotate_generate(model):
    model.generate(tokens, max_new_tokens=4, min_new_tokens=4, do_sample=False, pad_token_id=0)
    model.generate(tokens, max_new_tokens=2, min_new_tokens=2, do_sample=False, pad_token_id=0, prefill_chunk_size=4)
model.generate(tokens, max_new_tokens=2, do_sample=False, pad_token_id=0)
"""


@needs_extension
def test_phases_of_a_real_model(tmp_path):
    """Made here, with weights by chance; what is generated behind the context is not marked."""
    python = need("transformers")
    neurolens = Neurolens(tmp_path / "ledger", {"PYTHONPATH": str(BUILD / "python"), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)})
    (tmp_path / "program.py").write_text(GENERATE)
    result = neurolens("record", "--json", "--", python, tmp_path / "program.py", timeout=600)
    assert result.data["workload"]["exit_code"] == 0, result.err
    run = result.data["run_id"]
    prefill = ("LLM@prefill", "neurolens", {"batch": 2, "tokens": 7})
    chunks = [("LLM@prefill", "neurolens", {"batch": 2, "tokens": tokens}) for tokens in (4, 3)]
    steps = [("LLM@decode_step", "neurolens", {"step": step, "batch": 2, "tokens": 1}) for step in range(3)]
    assert spans_of(neurolens, run) == [prefill, *steps, *chunks, steps[0]]
    assert neurolens("analyze", run, "--window", "decode_step", "--json").data["window"]["end_ns"] > 0


def nsys_of(made, tmp_path, *command):
    """Ranges as the real Nsight Systems has them: type, text and domain."""
    program = shutil.which(os.environ.get("NEUROLENS_NSYS", "nsys"))
    if program is None:
        pytest.skip("nsys is not installed")
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "TMPDIR": str(tmp_path)}
    for _ in range(3):  # its daemon is not always there in time
        subprocess.run([program, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "-f", "true",
                        "-o", tmp_path / "report", *command], env=environment, stdout=subprocess.DEVNULL, timeout=200)
        if (tmp_path / "report.nsys-rep").exists():
            break
    subprocess.run([program, "export", "--type", "sqlite", "-f", "true", "-o", tmp_path / "report.sqlite", tmp_path / "report.nsys-rep"],
                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=200, check=True)
    with sqlite3.connect(tmp_path / "report.sqlite") as export:
        return export.execute("SELECT eventType, text, domainId FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60) ORDER BY start").fetchall()


def test_the_real_nsys_sees_a_program_in_cpp(made, tmp_path):
    step = [(59, "step", 0), (59, "decode", 1), (59, "prefill", 0), (34, "sampled", 0)]
    assert nsys_of(made, tmp_path, made / "program") == 2 * step + [(59, "in C", 0)]


@needs_extension
def test_the_real_nsys_sees_a_program_in_python(made, tmp_path):
    assert nsys_of(made, tmp_path, sys.executable, made / "program.py") == [
        (59, "prefill", 0), (34, "sampled é", 0), (59, "inner", 0), (60, "decode", 0), (60, "decode", 0)]
