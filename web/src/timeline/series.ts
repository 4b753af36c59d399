// Counters over time, in pieces of a view: asked for once for each view that is rested at.

import type { Whole } from "../api/answers";
import { whole, type SeriesRow } from "./extras";
import type { Row } from "./records";
import type { View } from "./view";

/** A view with as much again around it, in pieces: moving a bit needs no new question. */
export interface Pieces {
  begin: number; // ns from the origin
  end: number;
  step: number;
}

export function piecesOf(view: View, most: number): Pieces {
  const room = (view.end - view.begin) / 2;
  const begin = Math.floor(view.begin - room);
  const step = Math.max(1, Math.ceil((view.end - view.begin + 2 * room) / Math.max(1, most)));
  return { begin, end: begin + step * Math.max(1, most), step };
}

const MOST_POINTS = 2000; // a series

export function seriesPieces(view: View, width: number): Pieces {
  return piecesOf(view, Math.min(MOST_POINTS, Math.ceil(width) * 2));
}

function literal(value: string | null): string {
  return value === null ? "NULL::VARCHAR" : `'${value.replaceAll("'", "''")}'`;
}

/** The wanted rows of the table of counters, as a relation. */
function joinedTo(wanted: readonly SeriesRow[]): string {
  const rows = wanted.map((one) => `(${one.row}, ${one.track.track}, ${literal(one.name)}, ${literal(one.series)})`).join(", ");
  return (
    `counters AS c JOIN (VALUES ${rows}) AS w(n, track, name, series)` +
    " ON c.track_id = w.track AND c.name = w.name AND c.series IS NOT DISTINCT FROM w.series"
  );
}

/** Smallest and largest value of each piece, so that no peak is lost; piece -1 is all that was before. */
export function seriesSql(wanted: readonly SeriesRow[], { begin, end, step }: Pieces, origin: Whole): string {
  const at = `start_ns - ${origin}`;
  return (
    `SELECT w.n, greatest(-1, (${at} - (${begin})) // ${step}) AS piece, min(value) AS low, max(value) AS high, arg_max(value, start_ns) AS last,` +
    ` min(start_ns) - ${origin} AS first_ns, max(start_ns) FILTER (value IS NOT NULL) - ${origin} AS last_ns,` +
    ` max(start_ns) FILTER (value IS NULL) - ${origin} AS gone_ns FROM ${joinedTo(wanted)} WHERE ${at} < ${end} GROUP BY ALL ORDER BY 1, 2`
  );
}

/** Samples of one piece of a series. Between them the value is that of the sample before. */
export interface Point {
  first: number; // ns from the origin
  until: number;
  low: number;
  high: number;
  last: number | null; // null: the source said that it has none any more
}

export function pointsOf(rows: readonly Row[]): Map<number, Point[]> {
  const points = new Map<number, Point[]>();
  for (const row of rows) {
    const n = Number(row["n"]);
    const list = points.get(n) ?? [];
    points.set(n, list);
    const [last, gone] = [whole(row["last_ns"]), whole(row["gone_ns"])];
    const isGone = gone !== null && (last === null || gone > last);
    const before = list.at(-1)?.last ?? null;
    const value = last === null ? null : Number(row["last"]);
    if (last === null && before === null) continue;
    if (last === null) list.push({ first: Number(row["first_ns"]), until: Number(row["first_ns"]), low: before as number, high: before as number, last: null });
    else if (Number(row["piece"]) < 0) list.push({ first: last, until: last, low: value as number, high: value as number, last: isGone ? null : value });
    else list.push({ first: Number(row["first_ns"]), until: last, low: Number(row["low"]), high: Number(row["high"]), last: isGone ? null : value });
  }
  return points;
}

function indexAt(points: readonly Point[], ns: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] as Point).first <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at a time: one, or from the smallest to the largest of the samples that lie in one piece; null where there is none. */
export function valueAt(points: readonly Point[], ns: number): { low: number; high: number } | null {
  const point = points[indexAt(points, ns)];
  if (!point) return null;
  if (ns < point.until) return { low: point.low, high: point.high };
  return point.last === null ? null : { low: point.last, high: point.last };
}

/** Smallest and largest value that is seen; null if nothing is. */
export function rangeIn(points: readonly Point[], view: View): { low: number; high: number } | null {
  let range: { low: number; high: number } | null = null;
  const take = (low: number, high: number) => (range = range ? { low: Math.min(range.low, low), high: Math.max(range.high, high) } : { low, high });
  const held = valueAt(points, view.begin);
  if (held) take(held.low, held.high);
  for (let n = indexAt(points, view.begin) + 1, point = points[n]; point && point.first <= view.end; point = points[++n]) take(point.low, point.high);
  return range;
}

/** Smallest, mean and largest of the samples in a stretch. */
export function seriesAreaSql(wanted: readonly SeriesRow[], area: View, origin: Whole): string {
  const at = `start_ns - ${origin}`;
  return (
    `SELECT w.n, count(value) AS many, min(value) AS low, avg(value) AS mean, max(value) AS high FROM ${joinedTo(wanted)}` +
    ` WHERE ${at} >= ${Math.round(area.begin)} AND ${at} < ${Math.round(area.end)} GROUP BY ALL ORDER BY 1`
  );
}
