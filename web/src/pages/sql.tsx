// Questions in SQL over the tables of a run, which are listed beside it.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { ask } from "../api/ask";
import type { QueryRows, Table } from "../api/answers_pages";
import { grouped } from "../format/numbers";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { staleOf } from "../parts/fresh";
import { Failure, Waiting } from "../parts/state";
import { RunName, RunPicker } from "./runs/picker";
import { Editor } from "./sql/editor";
import { Chart, ResultTable } from "./sql/result";
import { chartColumns, csvOf } from "./sql/rows";

const FIRST = "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns\nFROM kernels GROUP BY name ORDER BY total_ns DESC";
const MOST = 10_000;

export default function SqlPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const run = search.get("run") ?? "@latest";
  const asked = search.get("sql");
  const [sql, setSql] = useState(asked ?? FIRST);
  const [before, setBefore] = useState(asked);
  if (asked !== before) {
    setBefore(asked); // Back and Forward change the question, too
    setSql(asked ?? FIRST);
  }
  const field = useRef<HTMLTextAreaElement>(null);
  const schema = useQuery({ queryKey: ["schema"], queryFn: async ({ signal }) => (await ask<{ tables: Table[] }>("schema", {}, signal)).data.tables });
  const answer = useQuery({
    queryKey: ["query", run, asked],
    staleTime: staleOf(run),
    enabled: asked !== null,
    gcTime: 60_000,
    queryFn: async ({ signal }) => (await ask<QueryRows>("query", { run, sql: asked, limit: MOST }, signal)).data,
  });
  useEffect(() => {
    if (new URLSearchParams(location.search).has("sql")) return;
    field.current?.focus();
    field.current?.select(); // what one types replaces the example
  }, []);
  const set = (changes: Record<string, string>) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      for (const [name, value] of Object.entries(changes)) after.set(name, value);
      return after;
    });
  const start = (text: string) => {
    if (text === asked) void answer.refetch();
    else set({ sql: text });
  };
  const insert = (text: string) => {
    const at = field.current?.selectionEnd ?? sql.length;
    setSql(sql.slice(0, at) + text + sql.slice(at));
    field.current?.focus();
  };
  const rows = answer.data;
  const copies = {
    command: `neurolens query ${shellWord(run)} ${shellWord(sql)}`, link: location.href, SQL: sql, ...mcpCall("query", { run, sql }),
    ...(rows ? { CSV: () => csvOf(rows) } : {}),
  };
  const preview = (table: string) => {
    const text = `SELECT * FROM ${table} LIMIT 100`;
    setSql(text);
    start(text);
  };
  return (
    <main id="main" className="sql-page" data-ready={(asked === null || !answer.isFetching) && !schema.isPending}>
      <h1>SQL</h1>
      <aside aria-label="Tables">
        {schema.error ? <Failure error={schema.error} /> : null}
        <Tables tables={schema.data ?? []} insert={insert} preview={preview} />
      </aside>
      <section aria-label="Question">
        <div className="line">
          <span>
            Of <Link href={`/runs/${encodeURIComponent(run)}`}><RunName id={run} /></Link>
          </span>
          <RunPicker label="Ask another run" placeholder="another run" choose={(id) => set({ run: id })} />
        </div>
        <Editor sql={sql} setSql={setSql} start={() => start(sql)} tables={schema.data ?? []} field={field} />
        <div className="line">
          <button className="main" disabled={answer.isFetching} onClick={() => start(sql)}>
            {answer.isFetching ? "Asking…" : "Ask"}
          </button>
          <span className="hint">
            <kbd>Ctrl Enter</kbd> asks, <kbd>Tab</kbd> takes an offered name, <kbd>Esc</kbd> hides them
          </span>
          <CopyAs ways={copies} />
        </div>
        {answer.error ? <Failure error={answer.error} /> : null}
        {answer.isFetching ? <Waiting what="Asking the run" /> : null}
        {answer.data && !answer.error ? (
          <Result data={answer.data} run={run} sql={asked ?? ""} chart={search.get("chart")} setChart={(columns) => set({ chart: columns })} />
        ) : null}
      </section>
    </main>
  );
}

function Tables({ tables, insert, preview }: { tables: Table[]; insert: (text: string) => void; preview: (table: string) => void }): ReactNode {
  return (
    <>
      {tables.map((table) => (
        <details key={table.name} className="facet">
          <summary title={table.doc}>
            <span className="mono">{table.name}</span> <span className="hint">{table.kind === "fact" ? "" : table.kind}</span>
          </summary>
          <p className="hint">{table.doc}</p>
          <button onClick={() => preview(table.name)}>First rows</button>
          <ul>
            {table.columns.map((column) => (
              <li key={column.name} title={column.doc}>
                <button className="plain mono" onClick={() => insert(column.name)} aria-label={`Insert ${column.name}`}>
                  {column.name}
                </button>
                <span className="hint">{[column.type.toLowerCase(), column.unit].filter(Boolean).join(", ")}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  );
}

/** Split at the bar, since names of columns may hold commas. */
function Result({ data, run, sql, chart, setChart }: { data: QueryRows; run: string; sql: string; chart: string | null;
  setChart: (columns: string) => void }): ReactNode {
  const guess = chartColumns(data);
  const [label, value] = (chart ?? "").split("|");
  const isCharted = chart !== null && chart !== "";
  return (
    <>
      <div className="line">
        <strong role="status">
          {grouped(data.rows.length)} {data.rows.length === 1 ? "row" : "rows"}
          {data.rows_left_out ? `, ${grouped(data.rows_left_out)} more are not shown` : ""}
        </strong>
        {guess ? (
          <button aria-pressed={isCharted} onClick={() => setChart(isCharted ? "" : `${guess.label}|${guess.value}`)}>
            Chart
          </button>
        ) : null}
        <Download run={run} sql={sql} />
      </div>
      {isCharted && guess ? <Chart data={data} label={label ?? guess.label} value={value ?? guess.value} set={(one, two) => setChart(`${one}|${two}`)} />
        : null}
      {data.rows.length > 0 ? <ResultTable data={data} run={run} /> : <p>No row meets the question.</p>}
    </>
  );
}

/** All rows, not only those that are shown. */
function Download({ run, sql }: { run: string; sql: string }): ReactNode {
  const [error, setError] = useState<unknown>(null);
  const save = async () => {
    const response = await fetch("api/v1/query", {
      method: "POST", headers: { "Content-Type": "application/json", Accept: "text/csv" }, body: JSON.stringify({ run, sql, format: "csv" }),
        credentials: "same-origin",
    });
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = "rows.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <>
      <button onClick={() => void save().catch(setError)}>Save all rows as CSV</button>
      {error ? <Failure error={error} /> : null}
    </>
  );
}
