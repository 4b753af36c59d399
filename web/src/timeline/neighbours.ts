// The next and the previous span of a row, exactly: tiles are asked for at levels whose tile is one bucket of the level above,
// upwards until something is found, then downwards to the single nanosecond.

import { TILE_BUCKETS, type Tile } from "./tiles";
import type { Pick } from "./tile_store";

const UP = 9; // 2^9 buckets a tile
const HIGHEST = 45;

export interface Found {
  tile: Tile;
  index: number;
}

/** A tile with one row in it. */
export type AskTile = (level: number, tile: number) => Promise<Tile>;

export function startOf({ tile, index }: Found): number {
  return tile.begin + (tile.start[index] as number);
}

export function endOf(found: Found): number {
  return startOf(found) + (found.tile.length[found.index] as number);
}

const tileAt = (level: number, ns: number) => Math.floor(ns / (TILE_BUCKETS * 2 ** level));

/** The first span that starts at this time or later, which no span covers before. */
export async function nextOf(ask: AskTile, row: number, ns: number): Promise<Found | null> {
  const at0 = await ask(0, tileAt(0, ns));
  const near = indexes(at0, row).find((index) => startOf({ tile: at0, index }) >= ns);
  if (near !== undefined) return { tile: at0, index: near };
  for (let level = UP; level <= HIGHEST; level += UP) {
    const tile = await ask(level, tileAt(level, ns));
    const own = Math.floor((ns - tile.begin) / 2 ** level);
    const index = indexes(tile, row).find((one) => (tile.bucket[one] as number) > own);
    if (index !== undefined) return down(ask, row, level, tile.begin + (tile.bucket[index] as number) * 2 ** level, "next");
  }
  return null;
}

/** The last span that ends at this time or earlier, which no span covers after. */
export async function previousOf(ask: AskTile, row: number, ns: number): Promise<Found | null> {
  const last = ns - 1;
  const at0 = await ask(0, tileAt(0, last));
  const near = indexes(at0, row).findLast((index) => reachOf({ tile: at0, index }) <= ns);
  if (near !== undefined) return { tile: at0, index: near };
  for (let level = UP; level <= HIGHEST; level += UP) {
    const tile = await ask(level, tileAt(level, last));
    const own = Math.floor((last - tile.begin) / 2 ** level);
    const index = indexes(tile, row).findLast((one) => endBucket(tile, one) <= own);
    if (index !== undefined) return down(ask, row, level, tile.begin + (endBucket(tile, index) - 1) * 2 ** level, "previous");
  }
  return null;
}

/** An instant takes a place as a span of 1 ns does. */
function reachOf(found: Found): number {
  return startOf(found) + Math.max(1, found.tile.length[found.index] as number);
}

function endBucket(tile: Tile, index: number): number {
  return (tile.bucket[index] as number) + (tile.buckets[index] as number);
}

/** From a bucket that has something in it to the span at its border. */
async function down(ask: AskTile, row: number, level: number, begin: number, way: "next" | "previous"): Promise<Found | null> {
  for (let finer = level - UP, at = begin; ; finer -= UP) {
    const tile = await ask(finer, tileAt(finer, at));
    const index = indexes(tile, row).at(way === "next" ? 0 : -1);
    if (index === undefined) return null;
    if (finer === 0) return { tile, index };
    at = tile.begin + (way === "next" ? (tile.bucket[index] as number) : endBucket(tile, index) - 1) * 2 ** finer;
  }
}

function indexes(tile: Tile, row: number): number[] {
  const range = tile.rows.get(row);
  return range ? Array.from({ length: range.to - range.from }, (_, i) => range.from + i) : [];
}

/** Of what is drawn on a row, the span nearest to a time. */
export function nearestDrawn(picks: readonly Pick[], row: number, ns: number): Found | null {
  let best: Found | null = null;
  let least = Infinity;
  for (const { tile } of picks)
    for (const index of indexes(tile, row)) {
      const found = { tile, index };
      const far = Math.max(startOf(found) - ns, ns - endOf(found), 0);
      if (far < least) [best, least] = [found, far];
    }
  return best;
}
