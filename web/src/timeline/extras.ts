// Rows beside the spans: counters over time, and stacks that were sampled. Which there are is asked for once.

import type { TimelineRows, TimelineTrack, Whole } from "../api/answers";
import type { Cell } from "../api/answers_timeline";
import { difference } from "../api/exact_json";
import type { Row } from "./records";

/** Numbers of rows from here on are ours, not those of the server. */
export const FIRST_EXTRA = 500_000;
export const MOST_EXTRAS = 1000;
export const MOST_AT_FIRST = 12; // series that are seen without asking

interface OfTrack {
  row: number;
  track: TimelineTrack;
  home: number | null; // track of the same thread that has rows of spans
  samples: number;
}

export interface SeriesRow extends OfTrack {
  kind: "series";
  name: string;
  series: string | null;
  unit: string;
  isKnown: boolean; // some sample has a value
  isFlat: boolean;
}

export interface StacksRow extends OfTrack {
  kind: "stacks";
  isPython: boolean; // functions of the interpreter, beside those of the machine
}

export type Extra = SeriesRow | StacksRow;

/** A table with a time and its rows: the same columns for both kinds. */
const KINDS =
  "SELECT 'series' AS of_kind, track_id, name, series, unit, count(*) AS many, min(value) AS low, max(value) AS high," +
  " min(start_ns) AS first_ns, max(start_ns) AS last_ns FROM counters WHERE start_ns IS NOT NULL GROUP BY ALL UNION ALL" +
  " SELECT 'stacks', track_id, NULL, NULL, NULL, count(*), NULL, NULL, min(start_ns), max(start_ns) FROM samples WHERE start_ns IS NOT NULL GROUP BY ALL";

export const EXTRAS_SQL =
  "SELECT e.*, count(*) OVER () AS of_all, t.kind, t.process_id, t.process_name, t.process_labels, t.thread_id, t.thread_name," +
  ` t.device, t.stream, t.rank, t.source_process, t.source_thread FROM (${KINDS}) AS e LEFT JOIN tracks AS t USING (track_id)` +
  ` ORDER BY of_kind, t.device IS NULL, track_id, name, series, unit LIMIT ${MOST_EXTRAS}`;

export const text = (cell: Cell | undefined): string => (cell === null || cell === undefined ? "" : String(cell));
export const whole = (cell: Cell | undefined): number | null => (cell === null || cell === undefined ? null : Number(cell));

/** The rows in the order of the answer, each with its track: of the time line, else as the table of tracks has it. */
export function extrasOf(rows: readonly Row[], data: TimelineRows): Extra[] {
  const known = new Map(data.tracks.map((track) => [track.track, track]));
  const isRanked = new Set(data.tracks.map((track) => track.rank).filter((rank) => rank !== null)).size > 1;
  const threadOf = (row: Row) => `${text(row["process_id"])}/${text(row["thread_id"])}`;
  const withSpans = rows.filter((row) => row["thread_id"] !== null && known.has(Number(row["track_id"])));
  const homes = new Map(withSpans.map((row) => [threadOf(row), Number(row["track_id"])]));
  return rows.map((row, n) => {
    const number = Number(row["track_id"] ?? -1);
    const track = known.get(number) ?? trackOf(number, row, isRanked);
    const home = known.has(number) ? number : (homes.get(threadOf(row)) ?? null);
    const one = { row: FIRST_EXTRA + n, track, home, samples: Number(row["many"]) };
    if (row["of_kind"] === "stacks") return { kind: "stacks", ...one, isPython: row["kind"] === "python" };
    const isKnown = row["low"] !== null;
    const series = row["series"] === null ? null : text(row["series"]);
    return { kind: "series", ...one, name: text(row["name"]), series, unit: text(row["unit"]), isKnown, isFlat: row["low"] === row["high"] };
  });
}

/** As the server titles tracks (src/exports/timeline/trace_tracks.cpp). */
function trackOf(track: number, row: Row, isRanked: boolean): TimelineTrack {
  const isStream = row["kind"] === "stream";
  const [device, stream, rank] = [whole(row["device"]), whole(row["stream"]), whole(row["rank"])];
  const process = text(row["process_name"]) || text(row["source_process"]) || (row["process_id"] === null ? "process" : `process ${text(row["process_id"])}`);
  const own = device === null ? process : text(row["process_labels"]) || `GPU ${device}`;
  const numbered = row["thread_id"] === null ? `track ${track}` : `thread ${text(row["thread_id"])}`;
  const thread = text(row["thread_name"]) || text(row["source_thread"]) || numbered;
  return {
    track, device, stream, rank, kind: isStream ? "stream" : "thread", process: isRanked && rank !== null ? `${own} (rank ${rank})` : own,
    title: `${isStream && stream !== null ? `stream ${stream}` : thread}${row["kind"] === "python" ? " (Python)" : ""}`,
  };
}

/** Rows that there would be beyond those of the answer. */
export function extrasLeftOut(rows: readonly Row[]): number {
  return rows.length === 0 ? 0 : Number(rows[0]?.["of_all"]) - rows.length;
}

/** From the first to the last sample, on the clock; null without any. */
export function hullOfExtras(rows: readonly Row[]): { first: Whole; last: Whole } | null {
  if (rows.length === 0) return null;
  const least = (a: Whole, b: Whole) => (a < b ? a : b);
  const most = (a: Whole, b: Whole) => (a > b ? a : b);
  return { first: rows.map((row) => row["first_ns"] as Whole).reduce(least), last: rows.map((row) => row["last_ns"] as Whole).reduce(most) };
}

/** A run whose spans have no time still has that of its samples. */
export function withTimeOf(data: TimelineRows, rows: readonly Row[]): TimelineRows {
  const hull = hullOfExtras(rows);
  if (data.rows.length > 0 || !hull) return data;
  return { ...data, origin_ns: hull.first, begin_ns: 0, end_ns: Math.max(1, difference(hull.last, hull.first)) };
}

/** The series that are seen at first: of each counter one, then of each another one; those that never change come last. */
export function firstSeries(all: readonly SeriesRow[], most = MOST_AT_FIRST): SeriesRow[] {
  const seen = new Map<string, number>();
  const turns = all.map((one) => {
    const turn = seen.get(one.name) ?? 0;
    seen.set(one.name, turn + 1);
    return { one, turn: turn + (one.isKnown ? (one.isFlat ? 1000 : 0) : 2000) };
  });
  const chosen = new Set([...turns].sort((a, b) => a.turn - b.turn).slice(0, most).map(({ one }) => one));
  return all.filter((one) => chosen.has(one));
}

/** The counter; where several tracks have it, also whose it is. */
export function seriesTitle(one: SeriesRow, all: readonly Extra[]): string {
  const own = one.series === null || one.series === "" ? one.name : `${one.name}, ${one.series}`;
  const isAlike = (other: Extra) => other.kind === "series" && other.name === one.name && other.series === one.series;
  const isShared = all.some((other) => isAlike(other) && other.track.track !== one.track.track);
  return isShared ? `${own}, ${one.track.device === null ? `${one.track.process} / ${one.track.title}` : one.track.process}` : own;
}
