// All runs: searched and filtered by the server, drawn as far as they are seen.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import { grouped } from "../format/numbers";
import { shown } from "../format/names";
import { OFFLINE } from "../offline/mode";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { focusAfter } from "../parts/focus";
import { Failure, Waiting } from "../parts/state";
import { namesByRun, PinnedBaselines, useBaselines } from "./runs/baselines";
import { allColumns, columnOf, keepColumns, keptColumns } from "./runs/columns";
import { conditionsFor, parsed, sentences, typed } from "./runs/conditions";
import { Facets, useFacets } from "./runs/facets";
import { pieceOf, RunList, type Order } from "./runs/list";
import { Menu } from "./runs/menu";
import { SelectionBar } from "./runs/selection";
import { DropTarget, UploadButton, UploadQueue } from "./runs/uploads";
import { SavedViews } from "./runs/views";
import "../style_pages.css";

const Sparklines = lazy(() => import("./runs/sparklines"));

const listOf = (text: string | null): string[] => (text ?? "").split(",").filter(Boolean);

/** What the address says, and ways to change it. */
function useRunsAddress() {
  const [search, setSearch] = useSearchParams();
  const change = (name: string, values: string[], replace = false) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        after.delete(name);
        for (const one of values) after.append(name, one);
        return after;
      },
      { replace },
    );
  const sort = search.get("sort") ?? "imported";
  return {
    where: search.getAll("where"),
    setWhere: (where: string[], replace = false) => change("where", where, replace),
    order: { key: sort.replace(/^-/, ""), isReverse: sort.startsWith("-") } as Order,
    setOrder: (order: Order) => change("sort", [(order.isReverse ? "-" : "") + order.key]),
    columns: search.has("columns") ? listOf(search.get("columns")) : keptColumns(),
    setColumns: (ids: string[]) => {
      keepColumns(ids);
      change("columns", [ids.join(",")], true);
    },
    chosen: listOf(search.get("chosen")),
    base: listOf(search.get("base")),
    /** Both at once: what becomes the base is no longer chosen. Made from what the address says by then, as runs may be chosen meanwhile. */
    setChosen: (change: (chosen: string[], base: string[]) => [string[], string[]]) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          const [chosen, base] = change(listOf(before.get("chosen")), listOf(before.get("base")));
          for (const [name, ids] of [["chosen", chosen], ["base", base]] as const) {
            if (ids.length > 0) after.set(name, ids.join(","));
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
  };
}

export function RunsPage(): ReactNode {
  const { where, setWhere, order, setOrder, columns, setColumns, chosen, base, setChosen } = useRunsAddress();
  const first = useQuery({ ...pieceOf(where, order, 0), placeholderData: keepPreviousData });
  const facets = useFacets(where);
  const baselines = useBaselines();
  const data = first.data;
  const choose = (ids: string[], isChosen: boolean) =>
    setChosen((before, own) => {
      const some = new Set(ids);
      const rest = before.filter((id) => !some.has(id));
      return [isChosen ? [...rest, ...ids] : rest, own];
    });
  const forget = (ids: string[]) => setChosen((before, own) => [before.filter((id) => !ids.includes(id)), own.filter((id) => !ids.includes(id))]);
  return (
    <main id="main" className={OFFLINE ? "runs-page no-filters" : "runs-page"} data-ready={data !== undefined || first.error !== null}>
      <h1>Runs</h1>
      {OFFLINE ? null : <DropTarget />}
      {data?.total === 0 ? (
        <>
          <UploadQueue />
          <NoRuns />
        </>
      ) : (
        <>
          {OFFLINE ? null : (
            <aside aria-label="Filters">
              <Facets facets={facets} where={where} setWhere={setWhere} />
            </aside>
          )}
          <section aria-label="List">
            <div className="line">
              <SearchBox where={where} setWhere={setWhere} />
              <ColumnMenu all={allColumns(facets.map((one) => one.key).filter((key) => !["format", "device", "tag"].includes(key)))}
                chosen={columns} set={setColumns} />
              {OFFLINE ? null : (
                <>
                  <SavedViews />
                  <UploadButton />
                </>
              )}
            </div>
            {OFFLINE ? null : <UploadQueue />}
            <PinnedBaselines baselines={baselines} chosen={chosen} />
            <Conditions where={where} setWhere={setWhere} />
            {first.error ? <Failure error={first.error} retry={() => void first.refetch()} /> : null}
            {first.isPending ? <Waiting what="Reading the list of runs" /> : null}
            {data ? (
              <>
                <p className="count" role="status">
                  {data.matching === data.total ? grouped(data.total) : `${grouped(data.matching)} of ${grouped(data.total)}`} runs
                  <CopyRuns where={where} order={order} />
                </p>
                {OFFLINE || data.matching === 0 ? null : (
                  <Suspense fallback={<div className="sparklines" />}>
                    <Sparklines where={where} />
                  </Suspense>
                )}
                <SelectionBar chosen={chosen} base={base} clear={() => setChosen(() => [[], []])} setBase={(ids) => setChosen(() => [[], ids])} forget={forget} />
                {data.matching === 0 ? (
                  <p>
                    No run meets all conditions. <button onClick={() => setWhere([])}>Show all runs</button>
                  </p>
                ) : (
                  <RunList
                    key={JSON.stringify([where, order])} where={where} order={order} setOrder={setOrder} count={data.matching} columns={columns}
                    chosen={chosen} choose={choose} baselines={namesByRun(baselines)}
                  />
                )}
              </>
            ) : null}
          </section>
        </>
      )}
    </main>
  );
}

function CopyRuns({ where, order }: { where: string[]; order: Order }): ReactNode {
  const conditions = useQuery({ queryKey: ["runs", "conditions", where], queryFn: async ({ signal }) => await conditionsFor(where, signal) });
  const sort = order.key === "imported" && !order.isReverse ? [] : [`--sort=${shellWord((order.isReverse ? "-" : "") + order.key)}`];
  const asked = conditions.data ?? where;
  const words = ["neurolens runs", ...asked.map((one) => `--where ${shellWord(one)}`), ...sort];
  const call = mcpCall("runs", { ...(asked.length > 0 ? { where: asked } : {}), ...(sort.length > 0 ? { sort: order.key, reverse: order.isReverse } : {}) });
  return <CopyAs ways={{ command: words.join(" "), link: location.href, ...call }} />;
}

function NoRuns(): ReactNode {
  return (
    <section className="no-runs">
      <p>
        <strong>There is no run yet.</strong> Drop a profile here: a trace of PyTorch, Nsight Systems, rocprof, TensorRT or ONNX Runtime, packed or not.
      </p>
      <p>
        <UploadButton label="Upload profiles" />
      </p>
      <p className="hint">Or on the command line; the second one brings examples:</p>
      <p className="line">
        <code className="mono">neurolens import trace.json.gz</code> <CopyAs ways={{ "the import": "neurolens import trace.json.gz" }} />
      </p>
      <p className="line">
        <code className="mono">neurolens demo</code> <CopyAs ways={{ "the demo": "neurolens demo" }} />
      </p>
    </section>
  );
}

/** Words search in the names of files at once; a condition such as batch>=8 is added by Enter. */
function SearchBox({ where, setWhere }: { where: string[]; setWhere: (where: string[], replace?: boolean) => void }): ReactNode {
  const searched = where.find((one) => one.startsWith("file~")) ?? "";
  const [text, setText] = useState(searched.slice("file~".length));
  useEffect(() => setText(searched.slice("file~".length)), [searched]);
  const rest = where.filter((one) => one !== searched);
  useEffect(() => {
    const isCondition = parsed(text) !== null;
    const wanted = isCondition ? "" : (typed(text) ?? "");
    if (isCondition || wanted === searched) return;
    const timer = setTimeout(() => setWhere(wanted ? [...rest, wanted] : rest, true), 250);
    return () => clearTimeout(timer);
  });
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = typed(text);
        if (!wanted || !parsed(text)) return;
        setWhere([...rest, wanted]);
        setText("");
      }}
    >
      <input
        id="search" type="search" aria-label="Search runs by file name, or a condition such as batch>=8" placeholder="Search names, or batch>=8 and Enter"
        value={text} onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}

function Conditions({ where, setWhere }: { where: string[]; setWhere: (where: string[]) => void }): ReactNode {
  if (where.length === 0) return null;
  return (
    <ul className="conditions" aria-label="Conditions">
      {sentences(where).map(({ words, of }) => (
        <li key={words}>
          {shown(words, 120)}
          <button
            className="plain" aria-label={`Remove: ${shown(words, 120)}`}
            onClick={() => {
              setWhere(where.filter((one) => !of.includes(one)));
              focusAfter(".conditions li:not(.all) button", "#search");
            }}
          >
            ✕
          </button>
        </li>
      ))}
      <li className="all">
        <button
          className="plain"
          onClick={() => {
            setWhere([]);
            focusAfter("#search");
          }}
        >
          Remove all
        </button>
      </li>
    </ul>
  );
}

function ColumnMenu({ all, chosen, set }: { all: string[]; chosen: string[]; set: (ids: string[]) => void }): ReactNode {
  return (
    <Menu title="Columns">
      {all.map((id) => (
        <label key={id}>
          <input
            type="checkbox" checked={chosen.includes(id)}
            onChange={() => set(chosen.includes(id) ? chosen.filter((one) => one !== id) : all.filter((one) => chosen.includes(one) || one === id))}
          />{" "}
          {columnOf(id)?.title ?? id}
        </label>
      ))}
    </Menu>
  );
}
