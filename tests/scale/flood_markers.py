#!/usr/bin/env python3
"""Floods the recorder with markers and checks the books: recorded + lost = set, within the limit of memory.

usage: tests/scale/flood_markers.py [--build DIR] [--markers N] [--threads N] [--wait-ms N] [--total-bytes N] [--no-import]

Peak memory is VmHWM, for the workload and the recorder; the rings count in both. Exits with 1 if something does not add up.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def peak_mb(pid):
    """Of a process that runs; 0 if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--markers", type=int, default=10**8)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--total-bytes", type=int, default=256 << 20)
    parser.add_argument("--ring-bytes", type=int, default=1 << 20)
    parser.add_argument("--wait-ms", type=int)
    parser.add_argument("--no-import", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = [f"total_bytes={options.total_bytes}", f"ring_bytes={options.ring_bytes}", f"limit_bytes={1 << 40}"]
        if options.wait_ms is not None:
            settings.append(f"wait_ms={options.wait_ms}")
        command = [options.build / "bin/record_markers", folder + "/r", *settings, "--", options.build / "bin/marker_flood", str(options.threads), str(options.markers)]
        start = time.monotonic()
        recorder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        peaks = {"recorder": 0, "workload": 0}
        while recorder.poll() is None:
            peaks["recorder"] = max(peaks["recorder"], peak_mb(recorder.pid))
            for child in children(recorder.pid):
                peaks["workload"] = max(peaks["workload"], peak_mb(child))
            time.sleep(0.05)
        seconds = time.monotonic() - start
        emitted, end = recorder.stdout.read().splitlines()
        emitted, end = int(emitted), json.loads(end)
        lost = sum(end["lost"].values())
        size = pathlib.Path(end["path"]).stat().st_size
        print(f"set {emitted}, recorded {end['recorded']}, lost {end['lost']}, {seconds:.1f} s, {size / 1e6:.0f} MB, "
              f"peak {peaks['workload']:.0f} MB workload, {peaks['recorder']:.0f} MB recorder")
        limit = options.total_bytes / 2**20 + 32
        is_fine = emitted == options.markers == end["recorded"] + lost and max(peaks.values()) <= limit
        if not options.no_import:
            is_fine = check_import(options.build, folder, end["path"], emitted) and is_fine
    print("adds up" if is_fine else "DOES NOT ADD UP")
    sys.exit(0 if is_fine else 1)


def check_import(build, folder, path, emitted):
    start = time.monotonic()
    done = subprocess.run([build / "bin/neurolens", "import", path, "--json", "--ledger", folder + "/ledger"],
                          stdout=subprocess.PIPE, check=True)
    counts = json.loads(done.stdout)["data"]["counts"] if done.stdout else {}
    print(f"import: {counts}, {time.monotonic() - start:.1f} s")
    return counts.get("seen") == emitted


if __name__ == "__main__":
    main()
