// What an area has beside its spans: the functions that were sampled most, and what the counters were.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { TimelineRows } from "../api/answers";
import { shown } from "../format/names";
import { grouped } from "../format/numbers";
import { CopyAs } from "../parts/copy_as";
import { Absent } from "../parts/figure";
import { Failure } from "../parts/state";
import { Share } from "../pages/run/parts";
import { valueText } from "./extra_text";
import { firstSeries, FIRST_EXTRA, seriesTitle, type Extra, type SeriesRow } from "./extras";
import type { Area } from "./page_state";
import { select, type Row } from "./records";
import { seriesAreaSql } from "./series";
import { functionsSql } from "./stacks";

const MOST_FUNCTIONS = 20;

/** Tracks whose samples count: of all threads, or of those with a chosen row. Both kinds of stacks say where the same time went. */
export function sampledTracks(area: Area, extras: readonly Extra[], data: TimelineRows, isPython: boolean): number[] {
  const stacks = extras.filter((one) => one.kind === "stacks" && one.isPython === isPython);
  if (area.rows === null) return stacks.map((one) => one.track.track);
  const chosen = new Set(area.rows);
  const tracks = new Set(data.rows.filter((row) => chosen.has(row.row)).map((row) => row.track));
  return stacks.filter((one) => chosen.has(one.row) || (one.home !== null && tracks.has(one.home))).map((one) => one.track.track);
}

/** Counters that are told: the first ones, or those that were chosen. */
export function countersOf(area: Area, extras: readonly Extra[]): SeriesRow[] {
  const series = extras.filter((one): one is SeriesRow => one.kind === "series");
  return area.rows === null ? firstSeries(series) : series.filter((one) => area.rows?.includes(one.row));
}

/** Rows of the area that hold spans; null: all. */
export function spanRows(area: Area): number[] | null {
  return area.rows?.filter((row) => row < FIRST_EXTRA) ?? null;
}

interface AreaExtrasProps {
  id: string;
  data: TimelineRows;
  area: Area;
  extras: readonly Extra[];
}

export function AreaExtras({ id, data, area, extras }: AreaExtrasProps): ReactNode {
  const counters = countersOf(area, extras);
  return (
    <>
      {[true, false].map((isPython) => {
        const tracks = sampledTracks(area, extras, data, isPython);
        const sql = functionsSql(tracks, area, data.origin_ns, MOST_FUNCTIONS);
        return tracks.length > 0 ? <Functions key={String(isPython)} id={id} sql={sql} title={isPython ? "Python functions" : "Functions"} /> : null;
      })}
      {counters.length > 0 ? <Counters id={id} sql={seriesAreaSql(counters, area, data.origin_ns)} counters={counters} all={extras} /> : null}
    </>
  );
}

function useArea(id: string, sql: string): ReturnType<typeof useQuery<Row[]>> {
  return useQuery({ queryKey: ["area-extras", id, sql], gcTime: 10_000, placeholderData: keepPreviousData, queryFn: ({ signal }) => select(id, sql, signal) });
}

function Functions({ id, sql, title }: { id: string; sql: string; title: string }): ReactNode {
  const found = useArea(id, sql);
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (!found.data) return null;
  if (found.data.length === 0) return <p className="hint">{title}: no stack was sampled in it.</p>;
  const more = Number(found.data[0]?.["functions"]) - found.data.length;
  return (
    <table className="functions" data-ready={!found.isPlaceholderData}>
      <caption>
        {title} that were sampled in it <CopyAs ways={{ SQL: sql }} />
      </caption>
      <thead>
        <tr>
          <th>Function</th>
          <th className="number">Samples</th>
          <th className="number" title="by what each sample stands for">
            Share of the samples
          </th>
        </tr>
      </thead>
      <tbody>
        {found.data.map((row, n) => (
          <tr key={n}>
            <td className="mono" title={String(row["leaf"])}>
              {shown(String(row["leaf"]), 60)}
            </td>
            <td className="number">{grouped(Number(row["many"]))}</td>
            <td className="number">
              <Share value={Number(row["total"]) > 0 ? Number(row["own"]) / Number(row["total"]) : null} absent="the samples stand for nothing" />
            </td>
          </tr>
        ))}
        {more > 0 ? (
          <tr>
            <td colSpan={3} className="hint">
              and {grouped(more)} more
            </td>
          </tr>
        ) : null}
      </tbody>
    </table>
  );
}

function Counters({ id, sql, counters, all }: { id: string; sql: string; counters: readonly SeriesRow[]; all: readonly Extra[] }): ReactNode {
  const found = useArea(id, sql);
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  if (!found.data) return null;
  const byRow = new Map(found.data.map((row) => [Number(row["n"]), row]));
  return (
    <table className="counters-of-area" data-ready={!found.isPlaceholderData}>
      <caption>
        Counters in it <CopyAs ways={{ SQL: sql }} />
      </caption>
      <thead>
        <tr>
          <th>Counter</th>
          <th className="number">Samples</th>
          <th className="number">Min</th>
          <th className="number" title="of the samples, however far apart they are">
            Mean
          </th>
          <th className="number">Max</th>
        </tr>
      </thead>
      <tbody>
        {counters.map((one) => (
          <tr key={one.row}>
            <td title={seriesTitle(one, all)}>{shown(seriesTitle(one, all), 60)}</td>
            <td className="number">{grouped(Number(byRow.get(one.row)?.["many"] ?? 0))}</td>
            {["low", "mean", "high"].map((which) => (
              <td className="number" key={which}>
                <CounterValue value={byRow.get(one.row)?.[which]} unit={one.unit} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CounterValue({ value, unit }: { value: Row[string] | undefined; unit: string }): ReactNode {
  if (value === null || value === undefined) return <Absent reason="no sample with a value lies in the area" />;
  return <span title={`${String(value)} ${unit}`.trim()}>{valueText(Number(value), unit)}</span>;
}
