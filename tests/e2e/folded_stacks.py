"""What tests of exported stacks share: one run of each format of the corpus, and what its sums must be."""

import collections

import pytest

from conftest import REPOSITORY, TRACES

SAMPLES = REPOSITORY / "samples"
GOLDEN = REPOSITORY / "tests/golden"

# One of each format that has something on a timeline.
CORPUS = {
    "kineto on an H100": "kineto/tracelens_h100_bert-small.json.gz",
    "kineto on an MI300": "kineto/tracelens_mi300_bert-small.json.gz",
    "kineto of graph replays": "kineto/tracelens_vllm_decode_full_cudagraph.json.gz",
    "kineto of Python frames": "kineto/generated/attn_cpu_full_2it.pt.trace.json",
    "kineto with collectives": "kineto/hta_nccl_data.json.gz",
    "nsys with two devices": "nsys/nsysai_h100_2gpu_1s.sqlite.gz",
    "nsys with samples": "nsys/nevakrien_report1.sqlite.gz",
    "rocprof": "rocprof/jimw_gfx1151_llamacpp_decode_kernel_trace.csv",
    "trtexec": "trtexec/a100_resnet_fp16.profile.json",
    "onnxruntime": "onnxruntime/generated",
}


def recorded(name):
    path = TRACES / CORPUS[name]
    if path.is_dir():
        path = next(iter(sorted(path.glob("*.json"))), path / "none")
    if not path.exists():
        pytest.skip(f"no recorded file {path}: set NEUROLENS_TRACES")
    return path


def export(neurolens, run, form, path, *options):
    """The report of the export."""
    return neurolens("export", run, "--format", form, "--output", path, "--force", "--json", *options).data


def folded(path):
    """Sums by stack, a tuple of frames."""
    stacks = {}
    for line in path.read_text().splitlines():
        frames, weight = line.rsplit(" ", 1)
        frames = tuple(frames.split(";"))
        assert frames not in stacks, frames
        stacks[frames] = int(weight)
    return stacks


def by_root(stacks):
    sums = collections.Counter()
    for frames, weight in stacks.items():
        sums[frames[0]] += weight
    return sums


def device_sums(neurolens, run):
    """Time of kernels and copies, by device."""
    rows = neurolens.rows(
        run,
        "SELECT device, sum(dur_ns)::BIGINT AS ns FROM (SELECT device, dur_ns, start_ns FROM kernels UNION ALL "
        "SELECT device, dur_ns, start_ns FROM copies) WHERE start_ns IS NOT NULL AND dur_ns >= 0 GROUP BY ALL",
    )
    return {row["device"]: int(row["ns"]) for row in rows if int(row["ns"])}


def open_time(neurolens, run):
    """How long any span of each track was open, in the order of tracks."""
    rows = neurolens.rows(
        run,
        """WITH s AS (SELECT coalesce(track_id, -1) AS track, span_id, start_ns AS b, start_ns + dur_ns AS e FROM spans
                      WHERE start_ns IS NOT NULL AND dur_ns >= 0),
                m AS (SELECT *, max(e) OVER (PARTITION BY track ORDER BY b, span_id
                                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM s)
           SELECT track, sum(greatest(0, e - greatest(b, coalesce(before, b))))::BIGINT AS ns FROM m
           GROUP BY track ORDER BY track""",
    )
    return sorted(int(row["ns"]) for row in rows if int(row["ns"]))
