#!/usr/bin/env python3
"""Lists the distinct names of kernels, ops and layers in a folder of profiler files, with their time.

    tests/data/list_names.py FOLDER > names.tsv

Columns: kind (kernel|op|layer), ns, name (tabs, line breaks, backslashes and control characters escaped). It reads
Kineto and ONNX Runtime JSON, trtexec profiles, nsys SQLite, ncu CSV, rocprofv3 CSV and JSON. It served to choose
the names of taxonomy_labels.tsv; their classes were then written by hand.
"""
import collections
import csv
import gzip
import io
import json
import pathlib
import sqlite3
import sys
import tempfile

csv.field_size_limit(1 << 30)


def read_bytes(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def read_json(path):
    return json.loads(read_bytes(path).decode("utf-8", "replace"), strict=False)


def kineto(path, found):
    for event in read_json(path).get("traceEvents", []):
        kind = {"kernel": "kernel", "cpu_op": "op", "operator": "op"}.get(str(event.get("cat", "")).lower())
        if kind and event.get("ph") == "X":
            found[kind, event["name"]] += float(event.get("dur", 0)) * 1000


def onnxruntime(path, found):
    for event in read_json(path):
        op = event.get("args", {}).get("op_name")
        if event.get("cat") == "Node" and op:
            found["op", op] += event["dur"] * 1000


def trtexec_profile(path, found):
    for layer in read_json(path):
        if "name" in layer:
            found["layer", layer["name"]] += layer["averageMs"] * 1e6


def nsys(path, found):
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(read_bytes(path))
        file.flush()
        db = sqlite3.connect(file.name)
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'").fetchone():
            return
        for name, ns in db.execute("SELECT value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                   "JOIN StringIds ON id = demangledName GROUP BY 1"):
            found["kernel", name] += ns


def ncu(path, found):
    for row in csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8", "replace"))):
        if row.get("Kernel Name"):
            found["kernel", row["Kernel Name"]] += 0


def rocprof_csv(path, found):
    for row in csv.DictReader(io.StringIO(read_bytes(path).decode())):
        found["kernel", row["Kernel_Name"]] += int(row["End_Timestamp"]) - int(row["Start_Timestamp"])


def rocprof_json(path, found):
    for tool in read_json(path)["rocprofiler-sdk-tool"]:
        names = {s["kernel_id"]: s["formatted_kernel_name"] for s in tool["kernel_symbols"]}
        for record in tool["buffer_records"]["kernel_dispatch"]:
            ns = record["end_timestamp"] - record["start_timestamp"]
            found["kernel", names[record["dispatch_info"]["kernel_id"]]] += ns


READERS = {
    "kineto/**/*.json*": kineto,
    "onnxruntime/**/*.json": onnxruntime,
    "trtexec/*profile.json": trtexec_profile,
    "nsys/*.sqlite.gz": nsys,
    "ncu/*.raw.csv.gz": ncu,
    "rocprof/*kernel_trace.csv*": rocprof_csv,
    "rocprof/*_results.json.gz": rocprof_json,
}


def escaped(name):
    return name.replace("\\", "\\\\").encode("unicode_escape").decode().replace("\\\\\\\\", "\\\\")


def main():
    found = collections.Counter()
    for pattern, reader in READERS.items():
        for path in sorted(pathlib.Path(sys.argv[1]).glob(pattern)):
            try:
                reader(path, found)
            except (ValueError, KeyError, TypeError, AttributeError) as fault:
                print(f"{path}: {fault!r}", file=sys.stderr)
    for (kind, name), ns in sorted(found.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
        print(kind, round(ns), escaped(name), sep="\t")


main()
