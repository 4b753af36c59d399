// Rows that were pinned last, by their titles: runs of the same kind have the same rows. They are pinned again where the address says nothing.

import type { TimelineRows } from "../api/answers";
import { keep, kept } from "../parts/kept";
import { rowTitle } from "./lines";

const NAME = "timeline-pins";
const MOST = 64; // titles, of all kinds of runs

function titlesOf({ rows, tracks }: TimelineRows): Map<number, string> {
  const byNumber = new Map(tracks.map((track) => [track.track, track]));
  return new Map(
    rows.flatMap((row) => {
      const track = byNumber.get(row.track);
      return track ? [[row.row, rowTitle({ row, track })] as const] : [];
    }),
  );
}

/** The titles to keep: what is pinned now, and what was pinned in runs that have other rows. */
export function titlesAfter(before: readonly string[], pins: readonly number[], data: TimelineRows): string[] {
  const titles = titlesOf(data);
  const own = new Set(titles.values());
  const pinned = pins.map((pin) => titles.get(pin)).filter((title) => title !== undefined);
  return [...new Set([...pinned, ...before.filter((title) => !own.has(title))])].slice(0, MOST);
}

export function pinsOfTitles(wanted: readonly string[], data: TimelineRows): number[] {
  const titles = [...titlesOf(data)];
  return wanted.flatMap((title) => titles.filter(([, own]) => own === title).slice(0, 1).map(([row]) => row));
}

function keptTitles(): string[] {
  try {
    const list: unknown = JSON.parse(kept(NAME) ?? "[]");
    return Array.isArray(list) ? list.filter((one): one is string => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function rememberPins(pins: readonly number[], data: TimelineRows): void {
  keep(NAME, JSON.stringify(titlesAfter(keptTitles(), pins, data)));
}

export function rememberedPins(data: TimelineRows): number[] {
  return pinsOfTitles(keptTitles(), data);
}
