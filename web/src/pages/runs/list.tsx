// The list of runs: pieces of it are asked for where one scrolls to, so 100,000 runs are as fast as ten.

import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { ListedRun } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { grouped } from "../../format/numbers";
import { Failure } from "../../parts/state";
import { columnOf, nameOf, shortNameOf, type Column } from "./columns";
import { askRuns } from "./conditions";

export const PIECE = 200;
const ROW = 32;
const MOST_IN_RANGE = 1000; // what is chosen is in the address

export interface Order {
  key: string;
  isReverse: boolean;
}

/** One piece of the list, as `runs` is asked for it. */
export function pieceOf(where: string[], order: Order, piece: number) {
  return {
    queryKey: ["runs", "piece", where, order, piece],
    staleTime: 5_000,
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      await askRuns(where, { limit: PIECE, offset: piece * PIECE, sort: order.key, reverse: order.isReverse }, signal),
  };
}

/** The pieces in which these rows lie. */
export function piecesOf(from: number, to: number): number[] {
  const first = Math.floor(from / PIECE);
  return Array.from({ length: Math.floor(to / PIECE) - first + 1 }, (_, n) => first + n);
}

interface ListProps {
  where: string[];
  order: Order;
  setOrder: (order: Order) => void;
  count: number;
  columns: string[];
  chosen: string[];
  choose: (ids: string[], isChosen: boolean) => void;
  baselines: Map<string, string[]>;
}

export const idOf = (run: ListedRun): string => run.run_id.slice(0, 12);

export function RunList(props: ListProps): ReactNode {
  const { where, order, count, chosen, choose } = props;
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [, go] = useLocation();
  const client = useQueryClient();
  const [failure, setFailure] = useState<unknown>(null);
  const columns = props.columns.map(columnOf).filter((one): one is Column => one !== null);
  const virtual = useVirtualizer({ count, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 10, scrollPaddingStart: ROW });
  const seen = virtual.getVirtualItems();
  const first = Math.floor((seen[0]?.index ?? 0) / PIECE);
  const last = Math.floor((seen.at(-1)?.index ?? 0) / PIECE);
  const pieces = useQueries({ queries: Array.from({ length: last - first + 1 }, (_, n) => pieceOf(where, order, first + n)) });
  const runAt = (index: number): ListedRun | undefined => pieces[Math.floor(index / PIECE) - first]?.data?.runs[index % PIECE];

  const toggle = async (index: number, isRange: boolean) => {
    const run = runAt(index);
    if (!run) return;
    const isChosen = !chosen.includes(idOf(run));
    setAnchor(index);
    setFailure(null);
    try {
      choose(isRange && anchor !== null ? await idsBetween(Math.min(anchor, index), Math.max(anchor, index)) : [idOf(run)], isChosen);
    } catch (error) {
      setFailure(error);
    }
  };
  /** A range may reach over pieces that were never seen. */
  const idsBetween = async (from: number, to: number): Promise<string[]> => {
    if (to - from >= MOST_IN_RANGE) throw new Error(`A range has at most ${grouped(MOST_IN_RANGE)} runs, and this one has ${grouped(to - from + 1)}. Filter the list first.`);
    const numbers = piecesOf(from, to);
    const lists = await Promise.all(numbers.map(async (piece) => await client.fetchQuery(pieceOf(where, order, piece))));
    return lists.flatMap(({ runs }, n) => {
      const begin = (numbers[n] as number) * PIECE;
      return runs.slice(Math.max(0, from - begin), to - begin + 1).map(idOf);
    });
  };
  const move = (to: number) => {
    const index = Math.max(0, Math.min(count - 1, to));
    setActive(index);
    virtual.scrollToIndex(index);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const page = Math.floor((box.current?.clientHeight ?? 320) / ROW) - 2;
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(active + 1),
      ArrowUp: () => move(active - 1),
      PageDown: () => move(active + page),
      PageUp: () => move(active - page),
      Home: () => move(0),
      End: () => move(count - 1),
      " ": () => void toggle(active, event.shiftKey),
      Enter: () => {
        const run = runAt(active);
        if (run) go(`/runs/${run.run_id}`);
      },
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const layout = { gridTemplateColumns: `24px minmax(180px, 3fr) ${columns.map((one) => one.width).join(" ")}` };
  return (
    <>
      {failure ? <Failure error={failure} /> : null}
      <div
        ref={box} className="run-list" role="grid" tabIndex={0} aria-label="Runs. Arrows move, space chooses, Enter opens." aria-rowcount={count + 1}
        aria-multiselectable="true" aria-activedescendant={seen.some((item) => item.index === active) ? `run-${active}` : undefined} onKeyDown={press}
      >
        <div role="rowgroup" className="head">
          <div role="row" className="row" aria-rowindex={1} style={layout}>
            <span role="columnheader" aria-label="Chosen" />
            <Title title="Name" sort="file" order={order} setOrder={props.setOrder} />
            {columns.map((one) => (
              <Title key={one.id} title={one.title} sort={one.sort} isNumber={one.isNumber} order={order} setOrder={props.setOrder} />
            ))}
          </div>
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {seen.map((item) => {
            const run = runAt(item.index);
            return (
              <div
                key={item.key} id={`run-${item.index}`} role="row" aria-rowindex={item.index + 2} aria-selected={run !== undefined && chosen.includes(idOf(run))}
                className={item.index === active ? "row active" : "row"} style={{ ...layout, transform: `translateY(${item.start}px)` }}
              >
                {run ? (
                  <Cells run={run} columns={columns} isChosen={chosen.includes(idOf(run))} toggle={(isRange) => void toggle(item.index, isRange)}
                    names={props.baselines.get(run.run_id) ?? []} />
                ) : (
                  <span role="gridcell" className="hint wide">
                    …
                  </span>
                )}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

function Title(props: { title: string; sort: string | undefined; isNumber?: boolean | undefined; order: Order; setOrder: (order: Order) => void }): ReactNode {
  const { title, sort, isNumber, order, setOrder } = props;
  const isSorted = sort !== undefined && order.key === sort;
  // Newest first is the natural order of `imported`, smallest first of all others.
  const isDown = isSorted && order.isReverse !== (sort === "imported");
  return (
    <span role="columnheader" className={isNumber ? "number" : ""} aria-sort={isSorted ? (isDown ? "descending" : "ascending") : undefined}>
      {sort ? (
        <button className="plain" onClick={() => setOrder({ key: sort, isReverse: isSorted ? !order.isReverse : false })}>
          {title}
          {isSorted ? (isDown ? " ↓" : " ↑") : ""}
        </button>
      ) : (
        title
      )}
    </span>
  );
}

function Cells(props: { run: ListedRun; columns: Column[]; isChosen: boolean; toggle: (isRange: boolean) => void; names: string[] }): ReactNode {
  const { run, columns, isChosen, toggle, names } = props;
  return (
    <>
      <span role="gridcell">
        <input
          type="checkbox" aria-label={`Choose ${shortNameOf(run, 40)}`} checked={isChosen} onChange={() => undefined}
          onClick={(event) => toggle(event.shiftKey)}
        />
      </span>
      <span role="gridcell">
        <Link href={`/runs/${run.run_id}`} title={nameOf(run)}>
          {shortNameOf(run)}
        </Link>
        {names.map((name) => (
          <span className="tag" key={`baseline ${name}`} title="a baseline">
            ⚑ {shown(name, 24)}
          </span>
        ))}
        {run.tags.map((tag) => (
          <span className="tag" key={tag}>
            {shown(tag, 24)}
          </span>
        ))}
      </span>
      {columns.map((one) => (
        <span role="gridcell" key={one.id} className={one.isNumber ? "number" : ""}>
          {one.cell(run)}
        </span>
      ))}
    </>
  );
}
