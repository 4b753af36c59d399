// A figure over the history of runs: since when it is another one, and what else changed there.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { ask } from "../api/ask";
import type { ChangePoint, Trend, TrendGroup } from "../api/answers_pages";
import { sentence, shown } from "../format/names";
import { grouped, percent, signedDuration, when } from "../format/numbers";
import { CopyAs, mcpCall } from "../parts/copy_as";
import { Time } from "../parts/figure";
import { Empty, Failure, Waiting } from "../parts/state";
import { RunName } from "./runs/picker";
import { commandOf, HistoryChoice, historyOf, NEWEST } from "./trend/history_choice";
import { Meaning } from "./trend/meaning";
import { chartOf, groupTitle, HEIGHT, nearest, valueText, WIDTH } from "./trend/chart";

const FIRST = 12;
const LIMITS = [200, NEWEST, 10_000, 100_000];

export default function TrendPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const asked = historyOf(search);
  const trend = useQuery({
    queryKey: ["trend", asked],
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<Trend>("trend", asked, signal)).data,
  });
  return (
    <main id="main" data-ready={(trend.data !== undefined && !trend.isFetching) || trend.error !== null}>
      <h1>Trend</h1>
      <HistoryChoice search={search} choose={setSearch} groups="One series for each" limits={LIMITS} withKernels />
      {trend.error ? <Failure error={trend.error} retry={() => void trend.refetch()} /> : null}
      {trend.isFetching ? <Waiting what="Reading the history" /> : null}
      {trend.data && !trend.error ? (
        <>
          <p className="verdict">
            <strong>{verdict(trend.data)}</strong>
            <CopyAs ways={{ command: commandOf("trend", asked), link: location.href, ...mcpCall("trend", asked) }} />
          </p>
          <Series data={trend.data} />
        </>
      ) : null}
    </main>
  );
}

function verdict({ groups, alerts, figure }: Trend): string {
  const name = figure.id.replaceAll("_", " ");
  if (groups.length === 0) return `No run has the figure “${name}”.`;
  const series = `${grouped(groups.length)} series of ${name}`;
  return alerts === 0 ? `${series}: no change has lasted.` : `${series}: ${grouped(alerts)} ${alerts === 1 ? "change has" : "changes have"} lasted.`;
}

function Series({ data }: { data: Trend }): ReactNode {
  const [count, setCount] = useState(FIRST);
  const alertsOf = (group: TrendGroup) => group.change_points.filter((one) => one.alert).length;
  const groups = useMemo(() => [...data.groups].sort((a, b) => alertsOf(b) - alertsOf(a) || b.summary.n - a.summary.n), [data]);
  if (groups.length === 0) return <Nothing data={data} />;
  return (
    <>
      {groups.slice(0, count).map((group) => (
        <OneSeries key={JSON.stringify(group.group)} group={group} unit={data.figure.unit} order={data.order} />
      ))}
      {groups.length > count ? <button onClick={() => setCount(count + 50)}>{grouped(groups.length - count)} more series</button> : null}
    </>
  );
}

function Nothing({ data: { matching, silent, figure } }: { data: Trend }): ReactNode {
  if (matching === 0) return <Empty>{sentence(silent ?? "no run matches the conditions")} Change “Only runs with” above, or leave it empty for all runs.</Empty>;
  const why = figure.id === "step_time" ? "Runs need marked steps for the step time." : sentence(silent ?? "no run has this figure");
  return <Empty>{why} Try the figure total_time, or import more runs of the same model.</Empty>;
}

function OneSeries({ group, unit, order }: { group: TrendGroup; unit: string; order: string }): ReactNode {
  const { summary } = group;
  return (
    <section className="series" aria-label={shown(groupTitle(group.group), 80)}>
      <h2>
        {shown(groupTitle(group.group), 80)}{" "}
        <span className="hint">
          {grouped(summary.n)} {summary.n === 1 ? "run" : "runs"} by {order === "imported" ? "time of import" : order.replaceAll("_", " ")},
          median {valueText(summary.median, unit)}
        </span>
      </h2>
      <Picture group={group} unit={unit} />
      {group.change_points.map((one) => (
        <Changed key={one.at} change={one} unit={unit} />
      ))}
      {group.silent ? <p className="hint">{group.silent}</p> : null}
    </section>
  );
}

/** Arrows go from run to run, Enter or a click opens it. */
function Picture({ group, unit }: { group: TrendGroup; unit: string }): ReactNode {
  const chart = useMemo(() => chartOf(group), [group]);
  const [at, setAt] = useState<number | null>(null);
  const [, go] = useLocation();
  const count = group.points.length;
  const point = at === null ? null : group.points[at];
  const open = () => point && go(`/runs/${point.run_id}`);
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") open();
    else if (event.key === "ArrowRight") setAt(at === null ? 0 : Math.min(count - 1, at + 1));
    else if (event.key === "ArrowLeft") setAt(at === null ? count - 1 : Math.max(0, at - 1));
    else return;
    event.preventDefault();
  };
  return (
    <div className="trend-picture">
      <div className="scale" aria-hidden="true">
        <span>{valueText(chart.high, unit)}</span>
        <span>{valueText(chart.low, unit)}</span>
      </div>
      <div
        role="application" tabIndex={0} aria-label={`Chart of ${shown(groupTitle(group.group), 60)}. Left and right go from run to run, Enter opens one.`}
        onKeyDown={press} onClick={open} onPointerLeave={() => setAt(null)}
        onPointerMove={(event) => {
          const bounds = event.currentTarget.getBoundingClientRect();
          setAt(nearest(count, (event.clientX - bounds.left) / bounds.width));
        }}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {chart.changes.map(({ x }, n) => (
            <line key={n} className={`change ${group.change_points[n]?.meaning ?? ""}`} x1={x} x2={x} y1={0} y2={HEIGHT} />
          ))}
          <polyline points={chart.points.map(({ x, y }) => `${x},${y}`).join(" ")} />
          {chart.levels.map(({ x1, x2, y }, n) => (
            <line key={n} className="level" x1={x1} x2={x2} y1={y} y2={y} />
          ))}
        </svg>
        {chart.points.length <= 500
          ? chart.points.map(({ x, y }, n) => (
              <i key={n} className={n === at ? "dot active" : "dot"} style={{ left: `${(x / WIDTH) * 100}%`, top: `${(y / HEIGHT) * 100}%` }} />
            ))
          : null}
      </div>
      <p role="status" className="readout">
        {point ? (
          <>
            <RunName id={point.run_id} />: <strong>{valueText(point.value, unit)}</strong>, imported {when(point.imported_at_ns)}
          </>
        ) : (
          <span className="hint">Point at a run to see it; a click opens it.</span>
        )}
      </p>
    </div>
  );
}

function Changed({ change, unit }: { change: ChangePoint; unit: string }): ReactNode {
  return (
    <div className="changed">
      <p>
        <Meaning of={change.meaning} />{" "}
        since{" "}
        <Link href={`/runs/${change.run_id}`}>
          <RunName id={change.run_id} />
        </Link>
        : {valueText(change.before, unit)} → <strong>{valueText(change.after, unit)}</strong>
        {change.ratio === null ? "" : ` (${change.ratio >= 1 ? "+" : "−"}${percent(Math.abs(change.ratio - 1))} of the level before)`}
        {change.alert ? ", and it lasts" : ", too new to say whether it lasts"}.{" "}
        <Link href={`/compare?base=${change.previous_run_id}&new=${change.run_id}`}>Compare both sides</Link>
      </p>
      {change.differences.length > 0 ? (
        <p>
          What else changed there:{" "}
          {change.differences.map((one, n) => (
            <span key={one.what}>
              {n > 0 ? ", " : ""}
              {one.lasts ? <strong title="it lasts: runs further away differ in it, too">{shown(one.what, 80)}</strong>
                : <span className="hint">{shown(one.what, 80)}</span>}
            </span>
          ))}
        </p>
      ) : (
        <p className="hint">No label or fact changed from the run before.</p>
      )}
      {change.work && change.work.length > 0 ? (
        <table>
          <caption>Work whose time per step changed most</caption>
          <thead>
            <tr>
              <th>Kernel or class</th>
              <th className="number">Before</th>
              <th className="number">After</th>
              <th className="number">Difference</th>
            </tr>
          </thead>
          <tbody>
            {change.work.map((one) => (
              <tr key={`${one.kind} ${one.name}`}>
                <td className="mono" title={one.name}>
                  {shown(one.name, 70)} <span className="hint">{one.kind}</span>
                </td>
                <td className="number">
                  <Time ns={one.before_ns} />
                </td>
                <td className="number">
                  <Time ns={one.after_ns} />
                </td>
                <td className={`number ${one.delta_ns > 0 ? "worse" : "better"}`}>{signedDuration(one.delta_ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </div>
  );
}
