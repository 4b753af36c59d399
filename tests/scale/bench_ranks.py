#!/usr/bin/env python3
"""Time and memory of importing many ranks as one run, over simulated files of make_ranks.py.

usage: bench_ranks.py [--events N] [--ranks N,N,...] [FOLDER]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("NEUROLENS_BIN", HERE.parents[1] / "build/release/bin/neurolens"))


def measured(command):
    """Seconds of processor and wall time, and the most memory in MB, of one command."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command[:3]))} ... failed: {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="of a rank")
    parser.add_argument("--ranks", default="8,16,32,64")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp(prefix="ranks-"))
    print(f"{'ranks':>5} {'events':>10} {'import s':>9} {'cpu s':>7} {'us/event':>9} {'RSS MB':>7}"
          f" {'analyze s':>10} {'RSS MB':>7}")
    for ranks in map(int, arguments.ranks.split(",")):
        files, ledger = folder / f"files{ranks}", folder / f"ledger{ranks}"
        subprocess.run([sys.executable, HERE / "make_ranks.py", "--ranks", str(ranks), "--events", str(arguments.events),
                        "--straggler", "5:5", files], check=True)
        paths = sorted(files.glob("rank*.json.gz"))
        wall, cpu, memory = measured([BINARY, "import", *paths, "--as-one", "--ledger", ledger])
        analyze, _, analyze_memory = measured([BINARY, "analyze", "@latest", "--ledger", ledger])
        events = ranks * arguments.events
        print(f"{ranks:>5} {events:>10} {wall:>9.1f} {cpu:>7.1f} {cpu / events * 1e6:>9.2f} {memory:>7.0f}"
              f" {analyze:>10.1f} {analyze_memory:>7.0f}", flush=True)
        shutil.rmtree(files)
        shutil.rmtree(ledger)


if __name__ == "__main__":
    main()
