// All runs: searched and filtered by the server, drawn as far as they are seen.

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { RunRow, Runs } from "../api/answers";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { grouped, when } from "../format/numbers";
import { CopyAs, shellWord } from "../parts/copy_as";
import { Empty, Failure, Waiting } from "../parts/state";

const PAGE = 200;
const FACETS = ["model", "device", "backend", "format", "precision"];

export function RunsPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const where = search.getAll("where");
  const list = useInfiniteQuery({
    queryKey: ["runs", where],
    staleTime: 0,
    placeholderData: keepPreviousData,
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => (await ask<Runs>("runs", { where, limit: PAGE, offset: pageParam }, signal)).data,
    getNextPageParam: (last, pages) => (last.runs.length < PAGE ? undefined : pages.length * PAGE),
  });
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.runs) ?? [], [list.data]);
  const first = list.data?.pages[0];
  const toggle = (condition: string) => {
    const rest = where.filter((one) => one !== condition);
    setSearch(rest.length < where.length ? rest.map((one) => ["where", one]) : [...where, condition].map((one) => ["where", one]));
  };
  return (
    <main id="main" className="runs" data-ready={first !== undefined}>
      <h1>Runs</h1>
      <aside aria-label="Filters">
        <Facets where={where} toggle={toggle} />
      </aside>
      <section aria-label="List">
        {list.error ? <Failure error={list.error} retry={() => void list.refetch()} /> : null}
        {list.isPending ? <Waiting what="Reading the list of runs" /> : null}
        {first && first.total === 0 ? <NoRuns /> : null}
        {first && first.total > 0 ? (
          <>
            <p className="count" role="status">
              {first.matching === first.total ? grouped(first.total) : `${grouped(first.matching)} of ${grouped(first.total)}`} runs
              <CopyAs ways={{ command: `neurolens runs ${where.map((one) => `--where ${shellWord(one)}`).join(" ")}`.trim(), link: location.href }} />
            </p>
            <RunTable rows={rows} more={() => list.hasNextPage && !list.isFetching && void list.fetchNextPage()} />
          </>
        ) : null}
      </section>
    </main>
  );
}

function NoRuns(): ReactNode {
  return (
    <Empty>
      <p>There is no run yet. Import a profile, or look at the examples:</p>
      <pre>neurolens import trace.json.gz{"\n"}neurolens demo</pre>
    </Empty>
  );
}

function Facets({ where, toggle }: { where: string[]; toggle: (condition: string) => void }): ReactNode {
  const facets = useQuery({
    queryKey: ["facets", where],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<Runs>("runs", { where, limit: 1, facets: FACETS.join(",") }, signal)).data.facets ?? [],
  });
  return (
    <>
      {(facets.data ?? []).map(({ key, values }) =>
        values.length === 0 ? null : (
          <fieldset key={key}>
            <legend>{key}</legend>
            {values.slice(0, 12).map(({ value, runs }) => (
              <label key={value}>
                <input type="checkbox" checked={where.includes(`${key}=${value}`)} onChange={() => toggle(`${key}=${value}`)} />
                <span title={value}>{shown(value, 28)}</span> <span className="number">{grouped(runs)}</span>
              </label>
            ))}
          </fieldset>
        ),
      )}
    </>
  );
}

function RunTable({ rows, more }: { rows: RunRow[]; more: () => void }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const [, go] = useLocation();
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => 32, overscan: 12 });
  const seen = virtual.getVirtualItems();
  if (rows.length > 0 && (seen.at(-1)?.index ?? 0) >= rows.length - 20) queueMicrotask(more);
  const choose = (id: string) => setChosen((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]));
  return (
    <>
      <div className="chosen" role="toolbar" aria-label="Chosen runs">
        {chosen.length === 0 ? "Choose two runs to compare them." : `${chosen.length} chosen`}
        <button disabled={chosen.length !== 2} onClick={() => go(`/compare?base=${chosen[0]}&new=${chosen[1]}`)}>
          Compare
        </button>
        <button disabled={chosen.length === 0} onClick={() => setChosen([])}>
          Clear
        </button>
      </div>
      <div ref={box} className="rows" role="table" aria-label="Runs" aria-rowcount={rows.length} tabIndex={0}>
        <div role="row" className="row head">
          {["", "Name", "Model", "Device", "Format", "Kernels", "Imported"].map((title) => (
            <span role="columnheader" key={title}>
              {title}
            </span>
          ))}
        </div>
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {seen.map((item) => (
            <Row key={item.key} run={rows[item.index] as RunRow} top={item.start} chosen={chosen} choose={choose} index={item.index} />
          ))}
        </div>
      </div>
    </>
  );
}

function Row(props: { run: RunRow; top: number; index: number; chosen: string[]; choose: (id: string) => void }): ReactNode {
  const { run, top, chosen, choose, index } = props;
  const name = run.file_names || run.run_id.slice(0, 12);
  return (
    <div role="row" className="row" aria-rowindex={index + 1} style={{ transform: `translateY(${top}px)` }}>
      <span role="cell">
        <input type="checkbox" aria-label={`Choose ${shown(name, 40)}`} checked={chosen.includes(run.run_id)} onChange={() => choose(run.run_id)} />
      </span>
      <span role="cell">
        <Link href={`/runs/${run.run_id}`} title={name}>
          {shown(name.split("/").at(-1) ?? name, 60)}
        </Link>
        {run.tags.map((tag) => (
          <span className="tag" key={tag}>
            {shown(tag, 24)}
          </span>
        ))}
      </span>
      <span role="cell">{shown(run.labels["model"] ?? "—", 30)}</span>
      <span role="cell">{run.device ? shown(run.device, 30) : "—"}</span>
      <span role="cell">{run.format}</span>
      <span role="cell" className="number">
        {grouped(run.kernels)}
      </span>
      <span role="cell" className="number">
        {when(run.imported_at_ns)}
      </span>
    </div>
  );
}
