// Memory of the devices: peaks and copies by the metrics, and what was allocated over time.

import { useMemo, type ReactNode } from "react";
import { Link } from "wouter";
import type { QueryRows, RunAnalysis, RunDevice } from "../../api/answers_run";
import { shown } from "../../format/names";
import { bytes, duration, grouped } from "../../format/numbers";
import { Absent, Time } from "../../parts/figure";
import { Failure, Waiting } from "../../parts/state";
import { useAnalysis, useMetrics, useRows } from "./asked";
import { COPIES, SERIES, seriesOf, type Series } from "./memory_series";
import { Body, MetricValue, Nothing, Scroll, sqlLink, Stretch, usePlace, Value } from "./parts";
import { stairs } from "./plot";

const RECORD = "With PyTorch record `profile_memory=True`, which keeps every allocation.";
const FIGURES = [
  "memory_peak_bytes", "memory_reserved_peak_bytes", "memory_slack", "allocation_count", "alloc_count", "alloc_time", "idle_host_alloc_time",
  "h2d_bytes", "h2d_time", "h2d_bandwidth", "d2h_bytes", "d2h_time", "d2d_time", "memset_time", "pageable_time",
];

export default function Memory({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id);
  return (
    <Body asked={analysis} what="Summing up the memory">
      {({ data }) => <Content id={id} data={data} />}
    </Body>
  );
}

function Content({ id, data }: { id: string; data: RunAnalysis }): ReactNode {
  const [device, choice] = usePlace(data.devices);
  const series = useRows(id, SERIES);
  const copies = useRows(id, COPIES);
  return (
    <>
      <p className="controls">{choice}</p>
      {device ? null : <Nothing why="the run has no work with times on a device" record={RECORD} />}
      <Allocated id={id} asked={series} why={device?.metrics["memory_peak_bytes"]?.absent} />
      {device ? <Figures device={device} /> : null}
      <Copies id={id} asked={copies} />
    </>
  );
}

interface Rows {
  data: QueryRows | undefined;
  error: unknown;
}

function Allocated({ id, asked, why }: { id: string; asked: Rows; why: string | undefined }): ReactNode {
  const list = useMemo(() => (asked.data ? seriesOf(asked.data.rows) : []), [asked.data]);
  if (asked.error) return <Failure error={asked.error} />;
  if (!asked.data) return <Waiting what="Reading the allocations" />;
  if (list.length === 0) return why ? <Nothing why={why} record={RECORD} /> : null;
  return (
    <section aria-label="Allocated over time">
      <h2>Allocated over time</h2>
      {list.map((one) => (
        <SeriesChart key={one.title} id={id} series={one} />
      ))}
      <p className="hint">
        Solid: allocated. Dashed: reserved. A line shows the largest value in each 1/300 of the time.{" "}
        <Link href={sqlLink(id, SERIES)}>SQL of these figures</Link>
      </p>
    </section>
  );
}

function SeriesChart({ id, series }: { id: string; series: Series }): ReactNode {
  const top = Math.max(...series.points.map((one) => Math.max(one.allocated, one.reserved ?? 0)), 1);
  const line = (value: (one: Series["points"][number]) => number | null) =>
    stairs(series.points.flatMap((one): [number, number][] => (value(one) === null ? [] : [[one.bucket, Math.max(0, value(one) as number)]])), 0, 300, top);
  const { peak } = series;
  const words = `Bytes allocated on the ${series.title} over time, at most ${bytes(peak.allocated)}`;
  return (
    <figure className="memory">
      <figcaption>
        <strong>{series.title}</strong>: at most {bytes(peak.allocated)} allocated
        {series.isRelative ? " more than at its first event: the source gives changes, not totals" : ""}.{" "}
        <Stretch id={id} start={peak.at} length={1000}>
          Show that moment
        </Stretch>
      </figcaption>
      <div className="plot">
        <span className="scale" aria-hidden="true">
          <span>{bytes(top)}</span>
          <span>{bytes(0)}</span>
        </span>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={words}>
          <path className="reserved" d={line((one) => one.reserved)} />
          <path className="allocated" d={line((one) => one.allocated)} />
        </svg>
      </div>
      <table>
        <tbody>
          <tr>
            <th scope="row">Events</th>
            <td className="number">{grouped(series.events)}</td>
            <th scope="row">Peak allocated</th>
            <td className="number">
              <Value value={peak.allocated} unit="B" />
            </td>
            <th scope="row">Peak reserved</th>
            <td className="number">
              <Value value={series.reservedPeak} unit="B" absent="the source does not give what is reserved" />
            </td>
            <th scope="row">At the start</th>
            <td className="number">
              <Value value={series.atStart} unit="B" />
            </td>
            <th scope="row">At the end</th>
            <td className="number">
              <Value value={series.atEnd} unit="B" />
            </td>
            <th scope="row">Over</th>
            <td className="number">{duration(series.length)}</td>
          </tr>
        </tbody>
      </table>
    </figure>
  );
}

function Figures({ device }: { device: RunDevice }): ReactNode {
  const known = new Map(useMetrics().data?.metrics.map((one) => [one.id, one]));
  return (
    <section aria-label="Figures of the window">
      <h2>In the window</h2>
      <Scroll label="Table of figures">
        <table>
          <thead>
            <tr>
              <th>Figure</th>
              <th className="number">Value</th>
              <th>How it is computed</th>
            </tr>
          </thead>
          <tbody>
            {FIGURES.map((id) => (
              <tr key={id}>
                <td>{titleOf(id, known.get(id)?.name)}</td>
                <td className="number">
                  <MetricValue metric={device.metrics[id]} />
                </td>
                <td className="hint">{device.metrics[id]?.absent ?? known.get(id)?.formula ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** Copies of one direction have the same name as bytes and as time. */
function titleOf(id: string, name: string | undefined): string {
  const title = name ?? id.replaceAll("_", " ");
  return /^[hd]2[hd]_(bytes|time)$/.test(id) ? `${title}, ${id.slice(4)}` : title;
}

function Copies({ id, asked: { data, error } }: { id: string; asked: Rows }): ReactNode {
  if (error) return <Failure error={error} />;
  if (!data) return <Waiting what="Reading the copies" />;
  if (data.rows.length === 0) return null;
  return (
    <section aria-label="Copies">
      <h2>
        Copies of the whole capture <Link href={sqlLink(id, COPIES)}>SQL</Link>
      </h2>
      <Scroll label="Table of copies">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th className="number">Count</th>
              <th className="number">Bytes</th>
              <th className="number">Time</th>
              <th className="number">Bandwidth</th>
            </tr>
          </thead>
          <tbody>
            {data.rows.map(([name, count, size, ns], n) => (
              <tr key={n}>
                <td title={String(name ?? "")}>{shown(String(name ?? ""), 60)}</td>
                <td className="number">{grouped(Number(count))}</td>
                <td className="number">{size === null ? <Absent reason="the source gives no sizes" /> : bytes(Number(size))}</td>
                <td className="number">{ns === null ? <Absent reason="the source gives no times" /> : <Time ns={Number(ns)} />}</td>
                <td className="number">
                  {size === null || !ns ? <Absent reason="sizes or times are missing" /> : `${bytes(Number(size) / (Number(ns) / 1e9))}/s`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
