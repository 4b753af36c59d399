"""What this process says of itself when it ends, for ``neurolens deep``: settings on which equal results depend."""

import atexit
import json
import os
import sys


def described():
    """Only of what the program has imported itself."""
    report: dict[str, object] = {"python": sys.version.split()[0], "hash_seed": os.environ.get("PYTHONHASHSEED")}
    torch = sys.modules.get("torch")
    if torch is not None:
        cudnn = torch.backends.cudnn
        report["torch"] = {
            "version": str(torch.__version__),
            "initial_seed": int(torch.initial_seed()),
            "deterministic_algorithms": bool(torch.are_deterministic_algorithms_enabled()),
            "cudnn": {"deterministic": bool(cudnn.deterministic), "benchmark": bool(cudnn.benchmark)},
        }
    return report


def write(folder):
    """A report that cannot be made is none; the program is not to notice."""
    try:
        path = os.path.join(folder, f"process-{os.getpid()}.json")
        with open(path, "x") as file:
            json.dump(described(), file)
    except Exception:
        return


def write_at_the_end(folder):
    atexit.register(write, folder)
