"""OpenTelemetry traces: the official messages parse every line, parents and times are those of the tables."""

import base64
import collections
import json

import pytest

from conftest import Neurolens
from folded_stacks import CORPUS, SAMPLES, device_sums, export, recorded

MAX_LINE = 1 << 20  # the file receiver of the collector takes no longer ones
MODEL = "example-7b"


@pytest.fixture(scope="module")
def messages():
    pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2", reason="no opentelemetry-proto: run tools/setup")
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1 import trace_pb2

    def parse(path):
        """All spans with the attributes of their resource. OTLP writes ids in hex, other JSON of protobuf in base64."""
        spans = []
        for line in path.read_bytes().splitlines():
            assert len(line) < MAX_LINE
            document = json.loads(line)
            for of_resource in document["resourceSpans"]:
                for of_scope in of_resource["scopeSpans"]:
                    for span in of_scope["spans"]:
                        for key in ("traceId", "spanId", "parentSpanId"):
                            if key in span:
                                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
            data = json_format.ParseDict(document, trace_pb2.TracesData())
            for of_resource in data.resource_spans:
                resource = attributes(of_resource.resource)
                for of_scope in of_resource.scope_spans:
                    spans += [(span, resource) for span in of_scope.spans]
        return spans

    return parse


def attributes(part):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in part.attributes}


def kind_of(span):
    return attributes(span).get("neurolens.kind")


@pytest.mark.parametrize("name", [name for name in CORPUS if name != "trtexec"])
def test_each_row_is_a_span_with_its_time(messages, name, tmp_path):
    neurolens = Neurolens(tmp_path / "ledger")
    run = neurolens.import_file(recorded(name))["run_id"]
    report = export(neurolens, run, "otlp", tmp_path / "out")
    spans = messages(tmp_path / "out")
    ids = [span.span_id for span, _ in spans]
    assert len(set(ids)) == len(ids) == sum(report["written"].values()) + 1, "one more for the run"
    assert all(len(one) == 8 for one in ids)
    sums = collections.Counter()
    for span, resource in spans:
        assert len(span.trace_id) == 16
        assert resource["service.name"] == "neurolens" and resource["neurolens.run_id"] == run
        time = span.end_time_unix_nano - span.start_time_unix_nano
        if kind_of(span) in ("kernel", "copy"):
            sums[resource.get("neurolens.device")] += time
        elif kind_of(span) is not None:
            sums["spans"] += time
    timed = "SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM spans WHERE start_ns IS NOT NULL AND dur_ns >= 0"
    assert sums.pop("spans", 0) == int(neurolens.value(run, timed))
    assert {device: ns for device, ns in sums.items() if ns} == device_sums(neurolens, run)


def test_parents_are_those_of_the_span_tree(messages, neurolens, small_run, tmp_path):
    export(neurolens, small_run, "otlp", tmp_path / "out")
    spans = {span.span_id: span for span, _ in messages(tmp_path / "out")}
    roots = [span for span in spans.values() if not span.parent_span_id]
    assert [span.name for span in roots] == [f"run {small_run[:12]}"]
    pairs = collections.Counter(
        (spans[span.parent_span_id].name, span.name) for span in spans.values() if span.parent_span_id
    )
    wanted = collections.Counter()
    for row in neurolens.rows(
        small_run,
        """SELECT p.name AS above, s.name, count(*) AS n FROM spans s LEFT JOIN spans p ON p.span_id = s.parent_id GROUP BY ALL
           UNION ALL SELECT p.name, k.name, count(*) FROM kernels k LEFT JOIN spans p ON p.span_id = k.launch_span_id GROUP BY ALL
           UNION ALL SELECT p.name, c.name, count(*) FROM copies c LEFT JOIN spans p ON p.span_id = c.launch_span_id GROUP BY ALL""",
    ):
        wanted[row["above"] or roots[0].name, row["name"]] += int(row["n"])
    assert pairs == wanted
    for span in spans.values():
        if span.parent_span_id:
            assert span.start_time_unix_nano >= spans[span.parent_span_id].start_time_unix_nano


def test_attributes_say_what_a_span_is(messages, neurolens, small_run, tmp_path):
    export(neurolens, small_run, "otlp", tmp_path / "out")
    found = {(kind_of(span), span.name): (span, resource) for span, resource in messages(tmp_path / "out")}
    op, resource = found["op", "aten::linear"]
    assert resource["process.pid"] == 4711 and resource["neurolens.clock"] == "unix"
    assert attributes(op)["thread.id"] == 4712
    assert json.loads(attributes(op)["neurolens.shapes"])[0][0] == 8
    copy, resource = found["copy", "Memcpy HtoD (Pinned -> Device)"]
    assert resource["neurolens.device"] == 0 and attributes(copy)["neurolens.stream"] == 7


def served(tmp_path, **more):
    requests = [
        {"name": "r-0", "start_ns": 10, "dur_ns": 5_000_000_000, "first_token_ns": 250_000_000, "input_tokens": 12, "output_tokens": 34},
        {"name": "r-1", "start_ns": 20, "dur_ns": 7},
        {"name": "r-2", "start_ns": 30},
    ]
    path = tmp_path / "run.json"
    metadata = {"labels": {"model": MODEL}, **more}
    path.write_text(json.dumps({"schema": "neurolens.run-file/1", "metadata": metadata, "requests": requests}))
    return path


def test_requests_follow_the_conventions_of_genai(messages, neurolens, tmp_path):
    clocks = [{"clock_id": 0, "kind": "unix", "base_unix_ns": 1_700_000_000_000_000_000, "resolution_ns": 1}]
    run = neurolens.import_file(served(tmp_path, clocks=clocks))["run_id"]
    report = export(neurolens, run, "otlp", tmp_path / "out")
    assert report["written"] == {"requests": 2} and report["lost"] == {"requests without a time": 1}
    (first, _), (second, _) = messages(tmp_path / "out")
    assert first.trace_id != second.trace_id and first.span_id != second.span_id
    assert first.name == f"text_completion {MODEL}" and first.kind == first.SPAN_KIND_CLIENT
    assert first.start_time_unix_nano == 1_700_000_000_000_000_010
    assert attributes(first) == {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 34,
        "gen_ai.response.time_to_first_chunk": 0.25,
        "neurolens.request": "r-0",
        "neurolens.time_to_first_token_ns": 250_000_000,
    }
    assert "gen_ai.usage.input_tokens" not in attributes(second), "what is not known is left out"


def test_times_that_are_not_of_unix_are_said_to_be_so(messages, neurolens, tmp_path):
    run = neurolens.import_file(served(tmp_path))["run_id"]
    report = export(neurolens, run, "otlp", tmp_path / "out")
    assert report["lost"]["Unix times, since the source does not say when it began"] == 2
    for _, resource in messages(tmp_path / "out"):
        assert resource["neurolens.clock"].startswith("not unix")


def test_long_and_hostile_names_stay_one_line(messages, neurolens, tmp_path):
    names = ["x" * 100_000, "é" * 50_000, 'quote" and \\ and \n line', "\u202eturned"]
    spans = [{"name": name, "kind": "op", "start_ns": i, "dur_ns": 1} for i, name in enumerate(names)]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"schema": "neurolens.run-file/1", "spans": spans}))
    report = export(neurolens, neurolens.import_file(path)["run_id"], "otlp", tmp_path / "out")
    assert report["lost"]["ends of texts longer than 32 KiB"] == 2
    found = [span.name for span, _ in messages(tmp_path / "out")][1:]
    assert found == ["x" * 32768, "é" * 16384, 'quote" and \\ and   line', "\ufffdturned"]


def test_ids_follow_from_the_run(messages, tmp_path):
    ids = {}
    for ledger in ("one", "two"):
        neurolens = Neurolens(tmp_path / ledger)
        for sample in ("kineto_small.json", "kineto_small_after.json"):
            run = neurolens.import_file(SAMPLES / sample)["run_id"]
            export(neurolens, run, "otlp", tmp_path / "out")
            ids[ledger, sample] = [(span.trace_id, span.span_id) for span, _ in messages(tmp_path / "out")]
    assert ids["one", "kineto_small.json"] == ids["two", "kineto_small.json"]
    assert not set(ids["one", "kineto_small.json"]) & set(ids["one", "kineto_small_after.json"])
