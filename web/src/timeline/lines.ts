// The lines of the picture: pinned rows first, then groups of rows under a header, of one run or of two.

import type { TimelineRow, TimelineRows, TimelineTrack } from "../api/answers";
import type { View } from "./view";

/** A run on the picture. Its time plus `shift` is the time of the picture. */
export interface Source {
  id: string;
  data: TimelineRows;
  shift: number;
}

export interface Group {
  number: number; // as the address names it
  title: string;
  isRank: boolean;
  source: number;
  streams: number;
  threads: number;
  spans: number;
  tracks: number[];
  rows: RowOfTrack[];
}

export interface RowOfTrack {
  row: TimelineRow;
  track: TimelineTrack;
}

export type Line =
  | { kind: "group"; source: number; group: Group; isShut: boolean }
  | { kind: "row"; source: number; row: TimelineRow; track: TimelineTrack; title: string; isFirst: boolean; isPinned: boolean }; // isFirst: of its track

/** Rows of the second run have numbers of their own in the list of pins. */
const SECOND = 1_000_000;

export function pinOf(source: number, row: number): number {
  return source * SECOND + row;
}

const isStream = (track: TimelineTrack) => track.kind === "stream";

/** One group a rank if there are several ranks, else one a process or device; streams of devices first. */
export function groupsOf(sources: readonly Source[]): Group[] {
  return sources.flatMap((source, number) => groupsOfSource(source, number)).map((group, number) => ({ ...group, number }));
}

function groupsOfSource({ data }: Source, source: number): Group[] {
  const tracks = new Map(data.tracks.map((track) => [track.track, track]));
  const isRanked = new Set(data.tracks.map((track) => track.rank)).size > 1;
  const rows = data.rows.map((row): RowOfTrack => ({ row, track: tracks.get(row.track) as TimelineTrack }));
  rows.sort(
    (a, b) =>
      (isRanked ? (a.track.rank ?? -1) - (b.track.rank ?? -1) : 0) ||
      Number(isStream(b.track)) - Number(isStream(a.track)) ||
      a.row.track - b.row.track || a.row.depth - b.row.depth || a.row.lane - b.row.lane,
  );
  const titleOf = (track: TimelineTrack) => (isRanked ? (track.rank === null ? "no rank" : `rank ${track.rank}`) : track.process);
  const byKey = new Map<string, RowOfTrack[]>();
  for (const one of rows) byKey.set(titleOf(one.track), [...(byKey.get(titleOf(one.track)) ?? []), one]);
  return [...byKey].map(([title, list]) => ({ number: 0, title, isRank: isRanked, source, rows: list, ...sumsOf(list) }));
}

function sumsOf(rows: RowOfTrack[]): Pick<Group, "streams" | "threads" | "spans" | "tracks"> {
  const tracks = new Map(rows.map(({ track }) => [track.track, track]));
  const streams = [...tracks.values()].filter(isStream).length;
  return { streams, threads: tracks.size - streams, spans: rows.reduce((sum, { row }) => sum + row.spans, 0), tracks: [...tracks.keys()] };
}

/** The process of a track, without the rank that the header of its group says. */
function processOf(track: TimelineTrack, isInGroup: boolean): string {
  return isInGroup ? track.process.replace(/ \(rank \d+\)$/, "").trim() : track.process.trim();
}

export function rowTitle({ row, track }: RowOfTrack): string {
  return `${processOf(track, false)} / ${track.title.trim()}${row.depth > 0 ? `, depth ${row.depth}` : ""}${row.lane > 0 ? `, lane ${row.lane}` : ""}`;
}

export interface Choice {
  pins: readonly number[];
  shut: readonly number[];
  filter: string;
}

export function linesOf(groups: readonly Group[], choice: Choice): Line[] {
  const words = choice.filter.toLowerCase();
  const all = groups.flatMap((group) => group.rows.map((one) => ({ ...one, source: group.source })));
  const pinned = choice.pins.map((pin) => all.find((one) => pinOf(one.source, one.row.row) === pin)).filter((one) => one !== undefined);
  const lines: Line[] = pinned.map((one) => ({ kind: "row", isPinned: true, isFirst: true, title: rowTitle(one), ...one }));
  for (const group of groups) {
    const rows = group.rows.filter((one) => words === "" || `${group.title} ${rowTitle(one)}`.toLowerCase().includes(words));
    if (rows.length === 0) continue;
    const isShut = choice.shut.includes(group.number);
    lines.push({ kind: "group", source: group.source, group, isShut });
    if (isShut) continue;
    let last = -1;
    for (const one of rows) {
      const isFirst = one.row.track !== last;
      last = one.row.track;
      const isOfGroup = one.track.process.trim() === group.title.trim();
      const title = isOfGroup ? one.track.title : `${processOf(one.track, group.isRank)} / ${one.track.title}`;
      lines.push({ kind: "row", source: group.source, row: one.row, track: one.track, title: title.trim(), isFirst, isPinned: false });
    }
  }
  return lines;
}

/** The row that a line shows: its own, or for a collapsed group the fullest of its streams, without any that of its threads. */
export function rowOfLine(line: Line): TimelineRow | null {
  if (line.kind === "row") return line.row;
  if (!line.isShut) return null;
  return fullest(line.group.rows.filter(({ row, track }) => row.depth === 0 && (isStream(track) || line.group.streams === 0)).map(({ row }) => row));
}

function fullest(rows: readonly TimelineRow[]): TimelineRow | null {
  return rows.reduce<TimelineRow | null>((best, row) => (best === null || row.spans > best.spans ? row : best), null);
}

/** Rows that show the work of a stream; another row of it may hold annotations. */
export function workRows(sources: readonly Source[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap(({ data }, source) =>
      data.tracks.filter(isStream).flatMap(({ track }) => {
        const row = fullest(data.rows.filter((one) => one.track === track && one.depth === 0));
        return row ? [`${source}/${row.row}`] : [];
      }),
    ),
  );
}

/** A pin moved by one place. */
export function movedPin(pins: readonly number[], pin: number, by: -1 | 1): number[] {
  const at = pins.indexOf(pin);
  const to = at + by;
  if (at < 0 || to < 0 || to >= pins.length) return [...pins];
  const after = [...pins];
  [after[at], after[to]] = [after[to] as number, after[at] as number];
  return after;
}

export function toggled(list: readonly number[], one: number): number[] {
  return list.includes(one) ? list.filter((other) => other !== one) : [...list, one];
}

/** All that the runs have, in the time of the picture. */
export function hullOf(sources: readonly Source[]): View {
  return {
    begin: Math.min(...sources.map(({ data, shift }) => data.begin_ns + shift)),
    end: Math.max(...sources.map(({ data, shift }) => data.end_ns + shift)),
  };
}
