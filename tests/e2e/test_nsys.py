"""Nsight Systems: exports with secrets in them, reports that nsys converts, and an nsys that misbehaves."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from conftest import BAD_INPUT, MISSING, REPOSITORY, TRACES, Neurolens, sha256_of

TOKEN = "hunter2-4f1d7c9e"
PROCESS = (1 << 48) | (100 << 24)
OTHER_PROCESS = (1 << 48) | (200 << 24)
THREAD = PROCESS + 101
REPORT = b"NVIDIA Tegra Profiler Report 1.\n" + b"\x0b" * 400

NVTX_INCLUDE = pathlib.Path("/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nvtx/include")


def export(path, kernel="gemm", extra=()):
    """A small export with one kernel, its launch and a range."""
    database = sqlite3.connect(path)
    database.executescript(
        f"""
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
          contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
          demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
          globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
          globalTid INTEGER, textId INTEGER, domainId INTEGER);
        INSERT INTO StringIds VALUES (1, '{kernel}'), (2, 'cudaLaunchKernel_v7000');
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 5, {PROCESS}, 1, 1, 1);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, 950, 0, {THREAD}, 5, 2, 0);
        INSERT INTO NVTX_EVENTS VALUES (800, 2000, 59, 'step', {THREAD}, NULL, 0);
        """
    )
    for statement in extra:
        database.execute(*statement)
    database.commit()
    database.close()
    return path


def table(table_name, /, **columns):
    """A table with one row; every text has the token."""
    types = {column: "INTEGER" if isinstance(value, int) else "TEXT" for column, value in columns.items()}
    yield (f"CREATE TABLE {table_name} ({', '.join(f'{column} {type_}' for column, type_ in types.items())})",)
    yield from row(table_name, *columns.values())


def row(name, *values):
    yield (f"INSERT INTO {name} VALUES ({', '.join('?' * len(values))})", values)


def secrets():
    """Where nsys keeps environments, command lines, output and names of people."""
    environment = f"HOME=/home/{TOKEN}\0API_KEY={TOKEN}\0PATH=/bin"
    yield from row("StringIds", 10, environment)
    yield from row("StringIds", 11, f"stdout of the program: {TOKEN}")
    yield from row("StringIds", 12, f"thread of {TOKEN}")
    yield from row("StringIds", 13, f"/home/{TOKEN}/lib.so")
    yield from table("ProcessStreams", globalPid=PROCESS, filenameId=11, contentId=11)
    yield from table("PROCESSES", globalPid=PROCESS, pid=100, name=f"/opt/bin/python serve.py --token {TOKEN}")
    yield from row("PROCESSES", OTHER_PROCESS, 200, TOKEN)
    yield from table("ThreadNames", nameId=12, priority=20, globalTid=OTHER_PROCESS + 201)
    yield from table("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value=f'API_KEY="{TOKEN}"')
    for name in ("PROCESS_0:COMMAND", "PROCESS_0:ARGUMENT_0", "PROCESS_0:WORKING_DIR", "DEVICE_DISPLAY_NAME", TOKEN):
        yield from row("META_DATA_CAPTURE", name, TOKEN)
    yield from row("META_DATA_CAPTURE", "CUDA_GRAPH_TRACE_OPTIONS:MODE", TOKEN)
    yield from table("META_DATA_EXPORT", name="EXPORT_USER", value=TOKEN)
    for name in ("EXPORT_HOST", "EXPORT_PARAM_INPUT_PATH", "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION", TOKEN):
        yield from row("META_DATA_EXPORT", name, TOKEN)
    yield from table("CAPTURE_META_DATA", name=TOKEN, value=TOKEN)
    yield from table("EXPORT_META_DATA", name="EXPORT_INPUT_PATH_ABS", value=f"/home/{TOKEN}/a.qdrep")
    yield from table(
        "TARGET_INFO_SYSTEM_ENV", globalVid=1, devStateName=TOKEN, name="DeviceEnvironment", nameEnum=610,
        value=f"A=1;API_KEY={TOKEN}")
    for name in ("NvDriverVersion", "CudaDriverVersion", "OsDescription", "TargetInstallDir", "KernelVersion"):
        yield from row("TARGET_INFO_SYSTEM_ENV", 1, TOKEN, name, 1, f"{TOKEN} {name}")
    yield from row("TARGET_INFO_SYSTEM_ENV", 1, TOKEN, "Hostname", 619, f"a host called {TOKEN}")
    yield from table("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1779630014975716426, utcTime=TOKEN, localTime=TOKEN)
    yield from table(
        "TARGET_INFO_GPU", id=0, name="NVIDIA H100", busLocation=TOKEN, uuid=TOKEN, chipName=TOKEN, ctrlDevPath=TOKEN)
    yield from table("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=100, uuid=TOKEN)
    yield from table("ANALYSIS_FILE", id=1, filename=f"/home/{TOKEN}", contentId=11, globalPid=PROCESS)
    yield from table("DIAGNOSTIC_EVENT", timestamp=5, text=f"launched with API_KEY={TOKEN}", globalPid=PROCESS)
    yield from table("NVTX_PAYLOAD_SCHEMAS", domainId=0, schemaId=1, name=TOKEN)
    yield from table("NOT_KNOWN_YET_EVENTS", start=5, globalTid=THREAD, nameId=10, comment=TOKEN)
    yield from table("NOT_RECORDS", id=5, comment=TOKEN)
    yield from table("COMPOSITE_EVENTS", id=1, start=100, globalTid=THREAD, cpuCycles=7)
    yield from table("SAMPLING_CALLCHAINS", id=1, symbol=10, module=13, stackDepth=0)


def found(neurolens, run_id, text):
    """Where a text is in the ledger: in the bytes of a file, or in a value of a table."""
    places = [str(p) for p in neurolens.ledger.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]
    for path in neurolens.bundle(run_id).rglob("*.parquet"):
        rows = neurolens.rows(run_id, f"SELECT * FROM {path.stem}")
        if text in json.dumps(rows):
            places.append(path.stem)
    return places


def test_no_secret_reaches_the_ledger(neurolens, tmp_path):
    path = export(tmp_path / "run.sqlite", extra=secrets())
    assert path.read_bytes().count(TOKEN.encode()) > 30
    run = neurolens.import_file(path)
    assert run["counts"]["dropped"] == {"no_table_for_DIAGNOSTIC_EVENT": 1, "no_table_for_NOT_KNOWN_YET_EVENTS": 1}
    assert found(neurolens, run["run_id"], TOKEN) == []
    assert found(neurolens, run["run_id"], "gemm") != []  # the search does find what is there
    assert neurolens.rows(run["run_id"], "SELECT DISTINCT process_name FROM tracks") == [{"process_name": "python"}]


def test_public_exports_keep_their_secrets(neurolens):
    """Real ones have whole environments."""
    path = TRACES / "nsys/nsysai_h100_2gpu_1s.sqlite.gz"
    if not path.exists():
        pytest.skip(f"no corpus at {TRACES} (set NEUROLENS_TRACES)")
    run = neurolens.import_file(path)["run_id"]
    for text in ("MODAL_TASK_SECRET", "HF_API_KEY", "LD_LIBRARY_PATH", "rich-wsl", "--assert=plain"):
        assert found(neurolens, run, text) == [], text


def test_compressed_and_piped_exports_give_the_same_facts(tmp_path):
    plain = export(tmp_path / "plain.sqlite")
    facts = []
    ledger = Neurolens(tmp_path / "ledger")
    facts.append(ledger.facts(ledger.import_file(plain)["run_id"]))
    subprocess.run(["gzip", "-k", plain], check=True)
    facts.append(ledger.facts(ledger.import_file(f"{plain}.gz")["run_id"]))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    other = Neurolens(tmp_path / "other")
    with other.start("import", pipe, "--json") as process:
        pipe.write_bytes(plain.read_bytes())
        run = json.loads(process.communicate(timeout=60)[0])["data"]["run_id"]
    facts.append(other.facts(run))
    assert facts[0] == facts[1] == facts[2]
    document = json.loads((other.bundle(run) / "run.json").read_text())
    assert document["sources"][0]["sha256"] == sha256_of(plain)
    assert document["sources"][0]["text_bytes"] == plain.stat().st_size


def test_a_database_in_wal_mode_is_refused(neurolens, tmp_path):
    path = export(tmp_path / "wal.sqlite", extra=[("PRAGMA user_version=1",)])
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    database.execute("INSERT INTO StringIds VALUES (99, 'x')")
    database.commit()
    result = neurolens("import", path, code=BAD_INPUT)
    database.close()
    assert "WAL" in result.err and "journal_mode=DELETE" in result.err


def test_damaged_pages_are_an_error(neurolens, tmp_path):
    """Each page in turn is overwritten: an error or fewer rows, never a crash."""
    whole = export(tmp_path / "run.sqlite").read_bytes()
    broken = tmp_path / "broken.sqlite"
    errors = 0
    for offset in range(4096, len(whole), 4096):
        broken.write_bytes(whole[:offset] + b"\xff" * 4096 + whole[offset + 4096 :])
        result = neurolens("import", broken, code=None)
        assert result.code in (0, BAD_INPUT), result
        errors += result.code == BAD_INPUT
    assert errors > 0


# ---- Reports


def fake_tool(folder, body):
    path = folder / "fake-nsys"
    path.write_text(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'NVIDIA Nsight Systems version 2031.1.2.3-abc'; exit 0; fi\n" + body
    )
    path.chmod(0o755)
    return path


def with_tool(tmp_path, tool, **environment):
    return Neurolens(tmp_path / "ledger", {"NEUROLENS_NSYS": str(tool), **environment})


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "-o report.nsys-rep"  # neither an option nor two words
    path.write_bytes(REPORT)
    return path


OUTPUT = 'while [ "$1" != --output ]; do shift; done; out=$2; '


def test_a_report_is_converted(tmp_path, report):
    made = export(tmp_path / "made.sqlite")
    tool = fake_tool(tmp_path, f'{OUTPUT} cmp -s "$3" "{report}" || exit 9; cp "{made}" "$out"')
    neurolens = with_tool(tmp_path, tool)
    run = neurolens.import_file(report)
    assert run["format"] == "nsys" and run["counts"]["stored"] == 3
    document = json.loads((neurolens.bundle(run["run_id"]) / "run.json").read_text())
    assert document["sources"][0]["sha256"] == sha256_of(report)
    assert document["sources"][0]["bytes"] == len(REPORT)
    assert document["extensions"]["converted_by"] == {"tool": "nsys", "version": "2031.1.2.3"}
    assert neurolens.leftovers() == []
    # Known by its bytes, it needs no tool any more.
    again = Neurolens(tmp_path / "ledger", {"NEUROLENS_NSYS": "/absent"}).import_file(report)
    assert (again["run_id"], again["created"]) == (run["run_id"], False)


def test_without_nsys_the_error_says_how_to_convert(tmp_path, report):
    result = with_tool(tmp_path, "/absent")("import", report, code=MISSING)
    assert "nsys export --type sqlite" in result.err and str(report) in result.err
    assert "neurolens import" in result.err


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("echo 'Version number is invalid: 2024@6@2' >&2; exit 1", BAD_INPUT, "Version number is invalid"),
        ("kill -SEGV $$", BAD_INPUT, "139"),
        ("exit 0", BAD_INPUT, "wrote nothing"),
        (OUTPUT + 'echo garbage > "$out"', BAD_INPUT, "what nsys made of the report"),
        (OUTPUT + 'printf "SQLite format 3\\0" > "$out"', BAD_INPUT, "what nsys made of the report"),
        ("yes >&2", MISSING, "did not end within 2 s"),
        ("sleep 60 & sleep 60", MISSING, "did not end within 2 s"),
    ],
    ids=["fails", "crashes", "writes_nothing", "writes_garbage", "writes_half", "talks_for_ever", "hangs"],
)
def test_a_tool_that_misbehaves(tmp_path, report, body, code, words):
    neurolens = with_tool(tmp_path, fake_tool(tmp_path, body), NEUROLENS_CONVERT_SECONDS="2")
    begin = time.monotonic()
    result = neurolens("import", report, code=code)
    assert words in result.err, result
    assert time.monotonic() - begin < 30
    assert neurolens.leftovers() == [] and neurolens.runs() == []


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_tool_ends_with_the_import(tmp_path, report, request_to_end):
    """Interrupted, the import takes the tool and what that started with it."""
    mark = tmp_path / "pids"
    tool = fake_tool(tmp_path, f'sleep 300 & echo $$ $! > "{mark}.new"; mv "{mark}.new" "{mark}"; wait')
    neurolens = with_tool(tmp_path, tool)
    process = neurolens.start("import", report)
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.05)
    pids = [int(pid) for pid in mark.read_text().split()]
    process.send_signal(request_to_end)
    process.communicate(timeout=30)
    for _ in range(100):
        alive = [pid for pid in pids if is_running(pid)]
        if not alive:
            break
        time.sleep(0.05)
    assert alive == []
    assert neurolens.leftovers() == []


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_report_of_ncu_is_converted(tmp_path):
    """Its tool writes to standard output."""
    report = tmp_path / "launches.ncu-rep"
    report.write_bytes(b"NVR\0" + bytes(300))
    made = REPOSITORY / "tests/golden/ncu/raw_base_units_in_two_tables/input.csv"
    body = f'[ "$1 $3 $4 $5 $6 $7" = "--import --csv --page raw --print-units base" ] && cmp -s "$2" "{report}" && cat "{made}"'
    neurolens = Neurolens(tmp_path / "ledger", {"NEUROLENS_NCU": str(fake_tool(tmp_path, body))})
    run = neurolens.import_file(report)
    assert run["format"] == "ncu" and run["counts"]["stored"] > 0
    document = json.loads((neurolens.bundle(run["run_id"]) / "run.json").read_text())
    assert document["sources"][0]["sha256"] == sha256_of(report)
    assert document["extensions"]["converted_by"]["tool"] == "ncu"
    absent = Neurolens(tmp_path / "other", {"NEUROLENS_NCU": "/absent"})("import", report, code=MISSING)
    assert f"ncu --import {report} --csv --page raw --print-units base > report.csv" in absent.err


# ---- The real thing

PROGRAM = """
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>
int main(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("lab");
  nvtxEventAttributes_t range = {0};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = "in a domain";
  range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  range.payload.llValue = 42;
  nvtxRangePushA("outer");
  usleep(20000);
  nvtxRangePushA("inner");
  usleep(30000);
  nvtxRangePop();
  nvtxMarkA("between");
  nvtxRangePop();
  nvtxDomainRangePushEx(domain, &range);
  usleep(10000);
  nvtxDomainRangePop(domain);
  return 0;
}
"""


@pytest.fixture(scope="module")
def real_report(tmp_path_factory):
    nsys = os.environ.get("NEUROLENS_NSYS") or shutil.which("nsys")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not nsys or not compiler or not NVTX_INCLUDE.is_dir():
        pytest.skip("nsys, its NVTX headers or a C compiler are not installed")
    folder = tmp_path_factory.mktemp("nsys")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "program.c", "-I", NVTX_INCLUDE, "-ldl", "-o", "program"], cwd=folder, check=True)
    profile = [nsys, "profile", "--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none", "-o", "run", "./program"]
    environment = {**os.environ, "API_KEY": TOKEN}
    done = subprocess.run(profile, cwd=folder, env=environment, capture_output=True, timeout=300)
    if not (folder / "run.nsys-rep").exists():
        pytest.skip(f"nsys records nothing here: {done.stderr.decode()[-300:]}")
    return folder / "run.nsys-rep"


def test_ranges_of_a_real_report(neurolens, real_report):
    run = neurolens.import_file(real_report)["run_id"]
    spans = {s["name"]: s for s in neurolens.rows(
        run,
        "SELECT s.span_id, name, category, s.kind, start_ns, dur_ns, s.args, parent_id, process_name FROM spans s "
        "JOIN tracks k ON k.track_id = s.track_id "
        "WHERE s.kind IN ('annotation', 'instant')")}
    assert set(spans) == {"outer", "inner", "between", "in a domain"}
    outer, inner, between, other = (spans[n] for n in ("outer", "inner", "between", "in a domain"))
    assert inner["parent_id"] == between["parent_id"] == outer["span_id"]
    assert outer["parent_id"] is None and other["parent_id"] is None
    assert (between["kind"], between["dur_ns"]) == ("instant", None)
    assert 50e6 <= outer["dur_ns"] < 5e9 and 30e6 <= inner["dur_ns"] < outer["dur_ns"]
    assert 10e6 <= other["dur_ns"] < 5e9
    assert other["category"] == "lab" and other["args"] == '{"payload":42}'
    assert {s["process_name"] for s in spans.values()} == {"program"}
    assert abs(outer["start_ns"] / 1e9 - time.time()) < 3600  # Unix time


def test_a_real_report_keeps_its_environment(neurolens, real_report):
    run = neurolens.import_file(real_report)["run_id"]
    assert TOKEN.encode() in real_report.read_bytes()
    assert found(neurolens, run, TOKEN) == []
    document = json.loads((neurolens.bundle(run) / "run.json").read_text())
    assert document["sources"][0]["sha256"] == sha256_of(real_report)
    assert document["extensions"]["converted_by"]["version"]


def test_ranges_of_emit_nvtx_are_ops(neurolens):
    """PyTorch writes "aten::mul, seq = 45328, op_id = 990726"; the kernels inside belong to that op."""
    path = TRACES / "nsys/nsysai_mfu_2gpu_before.sqlite.gz"
    if not path.exists():
        pytest.skip(f"no trace {path}")
    data = neurolens("analyze", path, "--window", "whole", "--json").data
    assert all(row["with_op"] > 0.95 for row in data["coverage"])
    names = {row["name"] for row in data["top_ops"]}
    assert {"aten::addmm", "aten::copy_", "flash_attn::_flash_attn_forward"} <= names
    assert not any("op_id" in name for name in names)
