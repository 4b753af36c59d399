"""What tests of HTML reports share: names that try to do something, the elements of a page, its faults, and a look at
it in a browser."""

import html.parser
import json
import subprocess

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(2)</script>",
    "</pre></details></figure><svg onload=alert(3)>",
    "](javascript:alert(4))",
    "[click](javascript:alert(5))",
    "`</code>` | pipe | ``` fence",
    "two\nlines\r\n| and | a | row |",
    "--><!--x",
    "'; DROP TABLE kernels; --",
    'quote" onmouseover="alert(6)',
    "right\u202eto\u2066left\u200b\ufeff",
    "tab\tbell\u0007escape\u001b[31m",
    "&lt;script&gt; &amp; &#60;",
    "${7*7} {{7*7}} %s \\",
    "nccl<b>AllReduce</b>\u202e",
    "",
    " ",
    "x" * 100_000,
]


def hostile_run(names=HOSTILE):
    """Each name as kernel, op, annotation and copy, one after the other in time."""
    run = {"schema": "neurolens.run-file/1", "kernels": [], "spans": [], "copies": []}
    for i, name in enumerate(names):
        at = 100_000 * i
        run["spans"] += [
            {"name": name, "kind": "op", "start_ns": at, "dur_ns": 50_000},
            {"name": name, "kind": "annotation", "start_ns": at, "dur_ns": 60_000},
        ]
        run["kernels"].append({"name": name, "start_ns": at + 10_000, "dur_ns": 40_000 + i, "device": 0})
        run["copies"].append({"name": name, "kind": "memcpy", "start_ns": at + 55_000, "dur_ns": 2_000 + i, "device": 0})
    return run


def is_text(schema):
    return any("string" in one.get("type", "") for one in [schema, *schema.get("anyOf", [])])


# Of tables that others refer to, and what must be one of a few words.
PLAIN = {"id_scope": 0, "rank": 0, "clock_id": 0, "device": 0, "stream": 7, "process_id": 1, "thread_id": 1, "device_type": 1}


def hostile_row(fields, table, name, i, rows):
    """Every text is the name; whole numbers are those of the row, or of another table's row."""
    row = {}
    for field, schema in fields.items():
        if field == "kind" and table in ("tracks", "spans"):
            row[field] = {"tracks": ["thread", "stream"][i % 2], "spans": ["op", "annotation"][i % 2]}[table]
        elif field == "args":
            row[field] = json.dumps({name[:1000] or "x": name})
        elif is_text(schema):
            row[field] = name
        elif field == "start_ns":
            row[field] = 100_000 * i + 10_000
        elif field.endswith("_id") and field not in PLAIN:
            row[field] = i % rows
        elif schema.get("type") in ("integer", "number"):
            row[field] = PLAIN.get(field, 1_000 + i)
    return row


def hostile_tables(schema, names=HOSTILE):
    """A run file with all tables of its JSON Schema: every field that can hold a text has each of the names."""
    run = {"schema": "neurolens.run-file/1", "metadata": hostile_metadata(names)}
    first = ["tracks", "profiled_launches", "kernels"]  # others refer to their rows
    for table in [*first, *(name for name in schema["properties"] if name not in first)]:
        if schema["properties"][table].get("type") == "array":
            fields = schema["properties"][table]["items"]["properties"]
            run[table] = [hostile_row(fields, table, name, i, len(names)) for i, name in enumerate(names)]
    return run


def hostile_metadata(names):
    some = [name for name in names if name.strip() and len(name) <= 1000]
    return {
        "labels": {"model": some[0], **{f"label{i}": name for i, name in enumerate(some)}},
        "tool": some[0], "tool_version": some[1],
        "hardware": {"hosts": some, "devices": [{"device": 0, "name": some[10], "compute_capability": some[1]}]},
        "software": {"backend": "pytorch", "versions": {name: name for name in some}},
        "windows": {"kept": [{"kind": name, "name": name, "start_ns": 100_000 * i, "dur_ns": 90_000} for i, name in enumerate(some)]},
    }  # fmt: skip


class Page(html.parser.HTMLParser):
    """Elements with their attributes; of each figure its query, the tables behind it, and all its text."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.comments, self.open = [], [], []
        self.figure, self.figures, self.text = None, {}, ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in self.VOID:
            return
        self.open.append(tag)
        names = dict(attributes)
        if tag == "figure":
            self.figure = names["id"]
            self.figures[self.figure] = {"sql": None, "rows": [], "text": ""}
        if self.figure and tag == "pre":
            self.figures[self.figure]["sql"] = ""
        if self.figure and tag == "tr" and self.behind_the_query:
            self.figures[self.figure]["rows"].append([])
        if self.figure and tag in ("td", "th") and self.behind_the_query:
            self.figures[self.figure]["rows"][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
        if tag == "figure":
            self.figure = None

    def handle_data(self, data):
        self.text += data
        if self.figure is None:
            return
        figure = self.figures[self.figure]
        figure["text"] += data
        if "pre" in self.open:
            figure["sql"] += data
        elif self.behind_the_query and self.open[-1] in ("td", "th"):
            figure["rows"][-1][-1] += data

    def handle_comment(self, data):
        self.comments.append(data)

    @property
    def behind_the_query(self):
        return self.figures[self.figure]["sql"] is not None and "pre" not in self.open


def shape(page):
    """What of the page does not depend on names."""
    return {(tag, key, value if key in ("class", "role", "scope") else None)
            for tag, names in page.elements for key, value in [*names.items(), (None, None)]}


def faults(validator, path, tmp_path):
    config = tmp_path / "html-validate.json"
    presets = [f"html-validate:{name}" for name in ("standard", "recommended", "a11y")]
    config.write_text(json.dumps({"root": True, "extends": presets}))
    found = tmp_path / "faults.json"
    command = [validator, "-c", config, "-f", f"json={found}", path]
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=120, check=False)
    return [f"{message['line']}:{message['column']} {message['ruleId']} {message['message']}"
            for file in json.loads(found.read_text()) for message in file["messages"]]


def look_at(browser, path, width, scheme="light"):
    """Width of the page, requests, messages of the console, and the figures that have a place on it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    requests, messages = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    seen = page.evaluate("""() => ({
        width: document.documentElement.scrollWidth,
        inner: window.innerWidth,
        figures: [...document.querySelectorAll('figure')].filter(f => f.offsetHeight > 20).map(f => f.id),
        flat: [...document.querySelectorAll('figure svg')].filter(s => getComputedStyle(s).display !== 'none' &&
              s.getBoundingClientRect().height < 4).length,
        background: getComputedStyle(document.body).backgroundColor})""")
    context.close()
    return seen, requests, messages
