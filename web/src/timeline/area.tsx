// Sums by name of a stretch of time and some rows.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { memo, useState, type ReactNode } from "react";
import type { AreaAnswer, AreaName, TimelineRows } from "../api/answers";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { duration, exactNs, grouped } from "../format/numbers";
import { CopyAs } from "../parts/copy_as";
import { KnownTime, Time } from "../parts/figure";
import { Failure, Waiting } from "../parts/state";
import { AreaExtras, spanRows } from "./area_extras";
import { AreaWindow } from "./area_window";
import type { Extra } from "./extras";
import type { Area, SortedBy } from "./page_state";
import { windowOf, type Step } from "./steps";

const COLUMNS: [SortedBy, string, string][] = [
  ["name", "Name", "name of the spans"],
  ["count", "Count", "spans that touch the area"],
  ["sum", "Sum", "sum of what lies in the area"],
  ["union", "Union", "time that at least one of them covers"],
  ["mean", "Mean", "of whole spans, also of what lies outside of the area"],
  ["min", "Min", "shortest whole span"],
  ["max", "Max", "longest whole span"],
];

const FIRST = 50;
const MOST = 10_000;

export function sortedNames(names: readonly AreaName[], by: SortedBy): AreaName[] {
  const union = (one: AreaName) => ("value" in one.union_ns ? one.union_ns.value : -1);
  const figure: Record<Exclude<SortedBy, "name">, (one: AreaName) => number> = {
    count: (one) => one.count, sum: (one) => one.sum_ns, union, mean: (one) => one.mean_ns, min: (one) => one.min_ns, max: (one) => one.max_ns,
  };
  return [...names].sort(by === "name" ? (a, b) => a.name.localeCompare(b.name) : (a, b) => figure[by](b) - figure[by](a));
}

export function areaCommand(id: string, area: Area, top: number): string {
  const own = spanRows(area);
  const rows = own ? ` --rows ${own.join(" ")}` : "";
  return `neurolens timeline ${id.slice(0, 12)} area --begin-ns ${Math.round(area.begin)} --end-ns ${Math.round(area.end)} --top ${top}${rows}`;
}

interface AreaProps {
  id: string;
  data: TimelineRows;
  area: Area;
  extras: readonly Extra[];
  step: Step | null; // that the area lies in
  by: SortedBy;
  sort: (by: SortedBy) => void;
  zoom: (begin: number, end: number) => void;
  allRows: () => void;
  close: () => void;
  light: (name: string | null) => void;
  link: string; // to this page as it is
}

export const AreaSums = memo(function AreaSums({ id, data, area, extras, step, by, sort, zoom, allRows, close, light, link }: AreaProps): ReactNode {
  const [top, setTop] = useState(FIRST);
  const rows = spanRows(area);
  const hasSpans = data.rows.length > 0 && rows?.length !== 0;
  const asked = { what: "area", begin_ns: Math.round(area.begin), end_ns: Math.round(area.end), top, ...(rows ? { rows } : {}) };
  const sums = useQuery({
    queryKey: ["area", id, asked],
    enabled: hasSpans,
    gcTime: 10_000,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<AreaAnswer>("timeline", { run: id, ...asked }, signal)).data,
  });
  const length = asked.end_ns - asked.begin_ns;
  return (
    <section aria-label="Sums of the area" className="area">
      <h2>
        <span title={exactNs(length)}>{duration(length)}</span>
        {hasSpans && sums.data ? `: ${grouped(sums.data.count)} spans, ${duration(sums.data.sum_ns)} in sum` : ""}
        {area.rows ? `, on ${area.rows.length} ${area.rows.length === 1 ? "row" : "rows"}` : ", on all rows"}
      </h2>
      <p>
        <button onClick={() => zoom(area.begin, area.end)}>Zoom here</button> {area.rows ? <button onClick={allRows}>All rows</button> : null}{" "}
        <button onClick={close} title="⇧M">
          Clear
        </button>
        <CopyAs ways={hasSpans ? { command: areaCommand(id, area, top), "as call": JSON.stringify({ operation: "timeline", run: id, ...asked }), link } : { link }} />
      </p>
      {sums.error ? <Failure error={sums.error} retry={() => void sums.refetch()} /> : null}
      <AreaWindow id={id} window={windowOf(area, { begin: data.begin_ns, end: data.end_ns }, data.origin_ns)} step={step} />
      {hasSpans && sums.isPending ? <Waiting what="Summing up" /> : null}
      <div className="area-tables">
        {hasSpans && sums.data ? (
          <div className="scroll" tabIndex={0} role="region" aria-label="Table of the area by name">
            <table data-ready={!sums.isPlaceholderData}>
              <thead>
                <tr>
                  {COLUMNS.map(([key, title, what]) => (
                    <th key={key} className={key === "name" ? "" : "number"} aria-sort={by === key ? (key === "name" ? "ascending" : "descending") : undefined}>
                      <button className="plain" title={what} onClick={() => sort(key)}>
                        {title}
                        {by === key ? (key === "name" ? " ▲" : " ▼") : ""}
                      </button>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {sortedNames(sums.data.by_name, by).map((one) => (
                  <tr key={one.name} onPointerEnter={() => light(one.name)} onPointerLeave={() => light(null)}>
                    <td className="mono" title={one.name}>
                      {shown(one.name, 60)}
                    </td>
                    <td className="number">{grouped(one.count)}</td>
                    <td className="number"><Time ns={one.sum_ns} /></td>
                    <td className="number"><KnownTime figure={one.union_ns} /></td>
                    <td className="number"><Time ns={one.mean_ns} /></td>
                    <td className="number"><Time ns={one.min_ns} /></td>
                    <td className="number"><Time ns={one.max_ns} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
            {sums.data.not_shown > 0 ? (
              <p className="hint">
                The {grouped(sums.data.by_name.length)} names with the largest sums are sorted; {grouped(sums.data.not_shown)} more are left out.{" "}
                {top < MOST ? <button onClick={() => setTop(MOST)}>Show them</button> : null}
              </p>
            ) : null}
          </div>
        ) : null}
        <AreaExtras id={id} data={data} area={area} extras={extras} />
      </div>
    </section>
  );
});
