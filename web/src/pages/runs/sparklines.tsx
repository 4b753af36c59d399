// A figure of the newest runs that meet the conditions, as small as it can be: a line for each group, each point a link to its run.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link } from "wouter";
import type { Trend, TrendGroup } from "../../api/answers_pages";
import { ask } from "../../api/ask";
import { shown } from "../../format/names";
import { when } from "../../format/numbers";
import { useAddress } from "../../parts/address";
import { Absent } from "../../parts/figure";
import { chartOf, groupTitle, HEIGHT, nearest, valueText, WIDTH } from "../trend/chart";
import { METRICS } from "../trend/history_choice";
import { conditionsFor } from "./conditions";

const NEWEST = 100;
const MOST_LINES = 3;
const NONE = "none";

export default function Sparklines({ where }: { where: string[] }): ReactNode {
  const [search, set] = useAddress();
  const metric = search.get("line") ?? (METRICS[0] as string);
  const trend = useQuery({
    queryKey: ["sparklines", metric, where],
    staleTime: 60_000,
    enabled: metric !== NONE,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<Trend>("trend", { metric, limit: NEWEST, where: await conditionsFor(where, signal) }, signal)).data,
  });
  return (
    <section className="sparklines" aria-label="The newest runs">
      <label>
        Lately{" "}
        <select value={metric} onChange={(event) => set({ line: event.target.value === METRICS[0] ? null : event.target.value }, true)}>
          {[...METRICS, NONE].map((one) => (
            <option key={one} value={one}>
              {one.replaceAll("_", " ")}
            </option>
          ))}
        </select>
      </label>
      {metric === NONE ? null : trend.error ? <Absent word="not known" reason={trend.error.message} /> : trend.data ? <Lines data={trend.data} metric={metric} where={where} /> : null}
    </section>
  );
}

function Lines({ data, metric, where }: { data: Trend; metric: string; where: string[] }): ReactNode {
  const groups = useMemo(() => [...data.groups].sort((a, b) => b.summary.n - a.summary.n), [data]);
  if (groups.length === 0) return <Absent reason={data.left_out[0]?.reason ?? data.silent ?? "no run has this figure"} />;
  const more = new URLSearchParams([["metric", metric], ...where.map((one): [string, string] => ["where", one])]);
  return (
    <>
      {groups.slice(0, MOST_LINES).map((group) => (
        <Line key={JSON.stringify(group.group)} group={group} unit={data.figure.unit} />
      ))}
      <Link href={`/trend?${more.toString()}`}>{groups.length > MOST_LINES ? `${groups.length - MOST_LINES} more` : "Trend"}</Link>
    </>
  );
}

/** Left and right go from run to run, as the pointer does; the link is that of the run. */
function Line({ group, unit }: { group: TrendGroup; unit: string }): ReactNode {
  const chart = useMemo(() => chartOf(group), [group]);
  const [at, setAt] = useState<number | null>(null);
  const count = group.points.length;
  const number = Math.min(at ?? count - 1, count - 1);
  const point = group.points[number];
  const place = chart.points[number];
  if (!point || !place) return null;
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowRight") setAt(Math.min(count - 1, number + 1));
    else if (event.key === "ArrowLeft") setAt(Math.max(0, number - 1));
    else return;
    event.preventDefault();
  };
  const words = `${shown(groupTitle(group.group), 60)}, ${valueText(point.value, unit)}, imported ${when(point.imported_at_ns)}`;
  return (
    <Link
      href={`/runs/${point.run_id}`} className="sparkline" title={words} aria-label={`${words}. Left and right go to other runs.`} onKeyDown={press}
      onBlur={() => setAt(null)} onPointerLeave={() => setAt(null)}
      onPointerMove={(event) => {
        const bounds = event.currentTarget.querySelector("svg")?.getBoundingClientRect();
        if (bounds) setAt(nearest(count, (event.clientX - bounds.left) / bounds.width));
      }}
    >
      <span>{shown(groupTitle(group.group), 28)}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={chart.points.map(({ x, y }) => `${x},${y}`).join(" ")} />
        {chart.changes.map(({ x }, n) => (
          <line key={n} className={group.change_points[n]?.meaning ?? ""} x1={x} x2={x} y1={0} y2={HEIGHT} />
        ))}
        <line className="at" x1={place.x} x2={place.x} y1={place.y - 1} y2={place.y + 1} />
      </svg>
      <strong>{valueText(point.value, unit)}</strong>
    </Link>
  );
}
