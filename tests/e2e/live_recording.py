"""A recording with its page for the tests: starts `neurolens record --live`, and knows the address, the pages' process and the end.
No test itself."""

import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

from conftest import BINARY, pids_of
from server import until

PAGE = re.compile(r"the page: (?P<url>http://[^/]+)(?P<path>/live/[\w-]+)\?token=(?P<token>\w+)")
SECONDS = 3  # that the pages stay after the end


class LiveRecording:
    def __init__(self, ledger, *command, options=(), environment=None, live=True):
        self.ledger = ledger
        words = [str(BINARY), "record", *(["--live"] if live else []), "--json", "--hz", "0", "--silent", *map(str, options),
                 "--ledger", str(ledger), "--", *map(str, command)]  # fmt: skip
        around = os.environ | {"NEUROLENS_LIVE_PAGES_SECONDS": str(SECONDS), "SSH_CONNECTION": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
        for variable in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "BROWSER"):
            around.pop(variable, None)
        self.process = subprocess.Popen(words, env=around | (environment or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if live:
            found = until(lambda: next(filter(None, map(PAGE.search, list(self.lines))), None), seconds=60)
            self.url, self.path, self.token = found["url"], found["path"], found["token"]
            self.name = self.path.removeprefix("/live/")

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def address(self):
        return f"{self.url}{self.path}?token={self.token}"

    def ask(self, token=None, **parameters):
        """What the page asks, without the page."""
        request = urllib.request.Request(f"{self.url}/api/v1/live", json.dumps(parameters).encode(), {"Content-Type": "application/json"})
        if token != "":
            request.add_header("Authorization", f"Bearer {token or self.token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    def status(self, path, token=""):
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def servers(self):
        return pids_of("serve-live-pages", self.ledger)

    def end(self, seconds=120):
        """What `record` says of the run, as JSON."""
        out = self.process.stdout.read()
        self.process.wait(seconds)
        return json.loads(out)["data"]

    def close(self):
        """Nothing is left, even if a test failed."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.process.stdout.close()
        end = time.monotonic() + SECONDS + 20
        while self.servers() and time.monotonic() < end:
            time.sleep(0.1)
        assert self.servers() == [], "the pages of the recording did not end"
