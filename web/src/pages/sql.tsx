import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { CopyAs, shellWord } from "../parts/copy_as";
import { Failure } from "../parts/state";

interface Rows {
  columns: string[];
  rows: unknown[][];
  truncated?: boolean;
}

const FIRST = "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns\nFROM kernels GROUP BY name ORDER BY total_ns DESC";

export default function SqlPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const run = search.get("run") ?? "@latest";
  const [sql, setSql] = useState(search.get("sql") ?? FIRST);
  const answer = useMutation({ mutationFn: async () => (await ask<Rows>("query", { run, sql, limit: 1000 })).data });
  const start = (event?: FormEvent) => {
    event?.preventDefault();
    setSearch({ run, sql }, { replace: true });
    answer.mutate();
  };
  return (
    <main id="main" data-ready="true">
      <h1>SQL</h1>
      <form onSubmit={start}>
        <label>
          Run <input value={run} onChange={(event) => setSearch({ run: event.target.value, sql }, { replace: true })} />
        </label>
        <label>
          Question in SQL over the tables of the run; <kbd>Ctrl Enter</kbd> asks
          <textarea
            rows={8}
            spellCheck={false}
            value={sql}
            onChange={(event) => setSql(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && start()}
          />
        </label>
        <button disabled={answer.isPending}>{answer.isPending ? "Asking…" : "Ask"}</button>
        <CopyAs ways={{ command: `neurolens query ${shellWord(run)} ${shellWord(sql)}`, link: location.href }} />
      </form>
      {answer.error ? <Failure error={answer.error} /> : null}
      {answer.data ? <Result data={answer.data} /> : null}
    </main>
  );
}

function Result({ data }: { data: Rows }): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Rows">
      <table>
        <thead>
          <tr>
            {data.columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, column) => (
                <td key={column} className={typeof cell === "string" ? "" : "number"} title={String(cell)}>
                  {cell === null ? "NULL" : shown(String(cell), 80)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p>{data.rows.length === 1000 ? "The first 1000 rows." : `${data.rows.length} rows.`}</p>
    </div>
  );
}
