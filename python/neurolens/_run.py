"""A run of the ledger, to be read: its tables, what it is about, its analysis and its report."""

import html
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from neurolens import _cli
from neurolens._cli import Path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_REPORTS = {"html": "report.html", "md": "report.md", "json": "report.json"}


def open(run: Path, ledger: Optional[Path] = None) -> "Run":
    """The run of that name: an id or its first characters, a tag, ``@latest``, ``@baseline:NAME``, the folder of a bundle,
    or the path of a profile, which is imported on the way.

    ``ledger`` is its folder; by default the one that the program uses, too.
    """
    where = None if ledger is None else os.path.abspath(ledger)
    shown = _cli.call("show", run, ledger=where)
    name = os.path.abspath(run) if os.path.isdir(run) else shown["run_id"]
    return Run(name, where, shown)


class Run:
    """One run, as :func:`neurolens.open` gives it. Its facts do not change; nothing here changes them."""

    def __init__(self, name: str, ledger: Optional[str], shown: dict[str, Any]) -> None:
        self._name = name
        self._ledger = ledger
        self._shown = shown

    @property
    def id(self) -> str:
        """The whole id: 64 hexadecimal digits."""
        return self._shown["run_id"]

    @property
    def metadata(self) -> dict[str, Any]:
        """What ``neurolens show`` knows: sources, hardware, software, clock, counts of records, tables; as of opening."""
        return self._shown

    @property
    def labels(self) -> dict[str, str]:
        """What the run is about, by key: model, precision, batch, ...; as of now."""
        return {label["key"]: label["value"] for label in self._call("show")["labels"]}

    @property
    def tables(self) -> dict[str, int]:
        """The tables of the run that are not empty, with their numbers of rows."""
        names = [table["name"] for table in _cli.call("schema")["tables"]]
        counts = self.rows(" UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS rows FROM {name}" for name in names))
        return {count["name"]: count["rows"] for count in counts if count["rows"] > 0}

    def table(self, name: str, columns: Optional[Sequence[str]] = None, where: Optional[str] = None) -> "pyarrow.Table":
        """A table, all of it or the columns that are named and the rows for which the SQL condition ``where`` holds.

        Names are those of SQL (``neurolens schema``); times are integer nanoseconds, rows in the order of the source.
        """
        return self.sql(_select(name, columns, where))

    def pandas(
        self, name: str, columns: Optional[Sequence[str]] = None, where: Optional[str] = None
    ) -> "pandas.DataFrame":
        """A table as a data frame. Whole numbers are of pandas' types with NA, so that a missing one rounds no other."""
        return _to_pandas(self.table(name, columns, where))

    def polars(
        self, name: str, columns: Optional[Sequence[str]] = None, where: Optional[str] = None
    ) -> "polars.DataFrame":
        """A table as a data frame of polars."""
        return _import("polars", "polars").from_arrow(self.table(name, columns, where))

    def sql(self, query: str) -> "pyarrow.Table":
        """What one SELECT over the tables of the run gives."""
        parquet = _import("pyarrow.parquet", "arrow")
        arrow = _import("pyarrow", "arrow")
        source = arrow.BufferReader(self._bytes("query", query, "--format", "parquet"))
        # Not read_table: a thread of its scanner may still hold the bytes when Python ends, which aborts the process.
        return parquet.ParquetFile(source).read(use_threads=False)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What one SELECT over the tables of the run gives, row by row; needs nothing but Python."""
        return json.loads(self._bytes("query", query, "--format", "json"))

    def analyze(self, window: str = "steady") -> dict[str, Any]:
        """Where the time of a window of the run went, as a sum that closes: what ``neurolens analyze --json`` says."""
        return self._call("analyze", "--window", window)

    def findings(self, window: str = "steady") -> list[dict[str, Any]]:
        """What the rules found, with evidence and what it costs; the worst first."""
        return self.analyze(window)["findings"]

    def report(self, path: Optional[Path] = None, format: str = "html") -> str:
        """The report as text; written to the file ``path``, too, if one is named. Formats: html, md and json."""
        if format not in _REPORTS:
            raise _cli.Error("bad_input", f"reports do not have this format: {format}", "one of: " + ", ".join(_REPORTS))
        with tempfile.TemporaryDirectory(prefix="neurolens-") as folder:
            self._call("report", "--output", folder, "--format", format)
            text = pathlib.Path(folder, _REPORTS[format]).read_bytes()
        if path is not None:
            pathlib.Path(path).write_bytes(text)
        return text.decode()

    def timeline(self, height: str = "40em") -> "Page":
        """The time line and the other pages of the run, to be looked at in a notebook; :meth:`Page.save` writes the file."""
        with tempfile.TemporaryDirectory(prefix="neurolens-") as folder:
            path = pathlib.Path(folder, "pages.html")
            self._call("view", "--file", path, "--page", "timeline")
            return Page(path.read_text(encoding="utf-8"), height)

    def __repr__(self) -> str:
        return f"<neurolens.Run {self.id[:12]} ({self._shown['format']})>"

    def _repr_html_(self) -> str:
        """The report inside of a notebook: a page of its own that may run nothing and reach nothing."""
        return _frame(self.report(), "40em", "")

    def _call(self, verb: str, *args: Any) -> dict[str, Any]:
        return _cli.call(verb, self._name, *args, ledger=self._ledger)

    def _bytes(self, verb: str, *args: Any) -> bytes:
        return _cli.read_bytes(verb, self._name, *args, ledger=self._ledger)


class Page:
    """Pages of a run that need no server, as one text of HTML. In a notebook they are shown in a frame of their own, in which
    scripts run that reach nothing: not the notebook, not the network."""

    def __init__(self, text: str, height: str) -> None:
        self.html = text
        self._height = height

    def save(self, path: Path) -> None:
        """Writes the file, which a browser opens without a server."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<neurolens.Page of {len(self.html):,} characters; save(path) writes it>"

    def _repr_html_(self) -> str:
        return _frame(self.html, self._height, "allow-scripts")


def _frame(page: str, height: str, allowed: str) -> str:
    style = f"width: 100%; height: {height}; border: 1px solid #ccc"
    return f'<iframe sandbox="{allowed}" srcdoc="{html.escape(page)}" style="{html.escape(style)}"></iframe>'


def _select(name: str, columns: Optional[Sequence[str]], where: Optional[str]) -> str:
    chosen = "*" if columns is None else ", ".join(map(_quoted, columns))
    condition = "" if where is None else f" WHERE {where}"
    return f"SELECT {chosen} FROM {_quoted(name)}{condition}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _to_pandas(table: "pyarrow.Table") -> "pandas.DataFrame":
    pandas = _import("pandas", "pandas")
    arrow = _import("pyarrow", "arrow")
    types: Mapping[Any, Any] = {
        arrow.int32(): pandas.Int32Dtype(),
        arrow.int64(): pandas.Int64Dtype(),
        arrow.uint64(): pandas.UInt64Dtype(),
    }
    return table.to_pandas(types_mapper=types.get)


def _import(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _cli.Error("unavailable", f"this needs {module.split('.', maxsplit=1)[0]}", f"pip install 'neurolens[{extra}]'") from error
