// The lines of the picture: pinned rows first, then groups of rows under a header, of one run or of two.

import type { TimelineRow, TimelineRows, TimelineTrack } from "../api/answers";
import { firstSeries, seriesTitle, type Extra, type SeriesRow, type StacksRow } from "./extras";
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
  extras: TitledExtra[]; // below the rows of their track, else at the end
  isFolded: boolean; // closed unless it is opened
}

export interface TitledExtra {
  extra: Extra;
  title: string;
}

export interface RowOfTrack {
  row: TimelineRow;
  track: TimelineTrack;
}

export type Line =
  | { kind: "group"; source: number; group: Group; isShut: boolean }
  | { kind: "row"; source: number; row: TimelineRow; track: TimelineTrack; title: string; isFirst: boolean; isPinned: boolean } // isFirst: of its track
  | { kind: "extra"; source: number; extra: Extra; title: string; isPinned: boolean };

export type ExtraLine = Extract<Line, { kind: "extra" }>;

/** Rows of the second run have numbers of their own in the list of pins. */
const SECOND = 1_000_000;

export function pinOf(source: number, row: number): number {
  return source * SECOND + row;
}

/** The pins of the run of the page. */
export function ownPins(pins: readonly number[]): number[] {
  return pins.filter((pin) => pin < SECOND);
}

const rankTitle = (track: TimelineTrack) => (track.rank === null ? "no rank" : `rank ${track.rank}`);
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
  const titleOf = (track: TimelineTrack) => (isRanked ? rankTitle(track) : track.process);
  const byKey = new Map<string, RowOfTrack[]>();
  for (const one of rows) byKey.set(titleOf(one.track), [...(byKey.get(titleOf(one.track)) ?? []), one]);
  return [...byKey].map(([title, list]) => ({ number: 0, title, isRank: isRanked, source, rows: list, extras: [], isFolded: false, ...sumsOf(list) }));
}

/** Groups of their own, and of threads without spans, have numbers that do not depend on what else is there. */
const OF_COUNTERS = 2000;
const OF_STACKS = 1000;

/** The groups with what each run has beside its spans: stacks below their thread, counters in groups of their own. */
export function withExtras(groups: readonly Group[], extras: readonly (readonly Extra[])[]): Group[] {
  return extras.flatMap((list, source) => {
    const own = groups.filter((group) => group.source === source).map((group) => ({ ...group, extras: [] as TitledExtra[] }));
    const series = list.filter((one): one is SeriesRow => one.kind === "series");
    for (const one of list) if (one.kind === "stacks") putStacks(own, one, source);
    const first = firstSeries(series);
    const more = series.filter((one) => !first.includes(one));
    return [...own, ...counterGroup("Counters", first, list, source, 0), ...counterGroup("More counters", more, list, source, 1)];
  });
}

function putStacks(groups: Group[], extra: StacksRow, source: number): void {
  const { track } = extra;
  const isRank = groups.some((one) => one.isRank);
  const title = isRank ? rankTitle(track) : track.process;
  let group = groups.find((one) => one.tracks.includes(extra.home ?? track.track)) ?? groups.find((one) => one.title === title);
  if (!group) groups.push((group = emptyGroup(title, source, OF_STACKS * (1 + source) + groups.length)));
  group.extras.push({ extra, title: `${track.title.trim()}, sampled` });
}

function counterGroup(title: string, series: SeriesRow[], all: readonly Extra[], source: number, n: number): Group[] {
  if (series.length === 0) return [];
  const extras = series.map((extra) => ({ extra, title: seriesTitle(extra, all) }));
  return [{ ...emptyGroup(title, source, OF_COUNTERS + 10 * source + n), extras, isFolded: n > 0 }];
}

function emptyGroup(title: string, source: number, number: number): Group {
  return { number, title, isRank: false, source, streams: 0, threads: 0, spans: 0, tracks: [], rows: [], extras: [], isFolded: false };
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

/** `shut` names the groups that are closed, of those that are folded the ones that are open; a filter looks into folded groups, too. */
export function isShut(group: Group, { shut, filter }: Pick<Choice, "shut" | "filter">): boolean {
  return group.isFolded ? filter === "" && !shut.includes(group.number) : shut.includes(group.number);
}

export function linesOf(groups: readonly Group[], choice: Choice): Line[] {
  const isWanted = wantedBy(choice.filter, groups);
  return [...pinnedLines(groups, choice.pins), ...groups.flatMap((group) => linesOfGroup(group, choice, isWanted))];
}

type IsWanted = (group: Group, title: string) => boolean;

/** All words of a filter, in any order. If no row has them, their letters in order are enough: "gp0s7" finds "GPU 0 / stream 7". */
function wantedBy(filter: string, groups: readonly Group[]): IsWanted {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const by = (has: (title: string, word: string) => boolean): IsWanted => (group, title) => {
    const whole = `${group.title} ${title}`.toLowerCase();
    return words.every((word) => has(whole, word));
  };
  const exact = by((title, word) => title.includes(word));
  const isAny = groups.some((group) => group.rows.some((one) => exact(group, rowTitle(one))) || group.extras.some((one) => exact(group, one.title)));
  return isAny ? exact : by(hasLetters);
}

function hasLetters(title: string, word: string): boolean {
  let from = 0;
  for (const letter of word) {
    from = title.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}

function pinnedLines(groups: readonly Group[], pins: readonly number[]): Line[] {
  const lines = groups.flatMap((group): Line[] => [
    ...group.rows.map((one): Line => ({ kind: "row", source: group.source, isPinned: true, isFirst: true, title: rowTitle(one), ...one })),
    ...group.extras.map((one): Line => ({ kind: "extra", source: group.source, isPinned: true, ...one })),
  ]);
  const byPin = new Map(lines.map((line) => [pinOf(line.source, numberOf(line) as number), line]));
  return pins.map((pin) => byPin.get(pin)).filter((line) => line !== undefined);
}

function linesOfGroup(group: Group, choice: Choice, isWanted: IsWanted): Line[] {
  const rows = group.rows.filter((one) => isWanted(group, rowTitle(one)));
  const extras = group.extras.filter((one) => isWanted(group, one.title));
  if (rows.length + extras.length === 0) return [];
  const isClosed = isShut(group, choice);
  const header: Line = { kind: "group", source: group.source, group, isShut: isClosed };
  if (isClosed) return [header];
  const extraLine = (one: TitledExtra): Line => ({ kind: "extra", source: group.source, isPinned: false, ...one });
  const below = new Set<TitledExtra>();
  const lines = rows.flatMap(({ row, track }, n): Line[] => {
    const isOfGroup = track.process.trim() === group.title.trim();
    const title = isOfGroup ? track.title : `${processOf(track, group.isRank)} / ${track.title}`;
    const own: Line = { kind: "row", source: group.source, row, track, title: title.trim(), isFirst: row.track !== rows[n - 1]?.row.track, isPinned: false };
    if (extras.length === 0 || row.track === rows[n + 1]?.row.track) return [own];
    const strips = extras.filter(({ extra }) => extra.kind === "stacks" && extra.home === row.track);
    strips.forEach((one) => below.add(one));
    return [own, ...strips.map(extraLine)];
  });
  return [header, ...lines, ...extras.filter((one) => !below.has(one)).map(extraLine)];
}

/** The number of the row that a line is: also of one that shows no spans. */
export function numberOf(line: Line): number | null {
  return line.kind === "extra" ? line.extra.row : line.kind === "row" ? line.row.row : null;
}

/** The row that a line shows: its own, or for a collapsed group the fullest of its streams, without any that of its threads. */
export function rowOfLine(line: Line): TimelineRow | null {
  if (line.kind === "row") return line.row;
  if (line.kind === "extra" || !line.isShut) return null;
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
