// Tiles as the server would answer, from plain spans: for tests alone.

import { TILE_BUCKETS, type Tile } from "./tiles";

export interface PlainSpan {
  row: number;
  start: number;
  length: number;
  name?: string;
  item?: number;
}

/** The longest span of each bucket; neighbouring buckets of the same one are one item (src/timeline/tile.h). */
export function tileOf(spans: readonly PlainSpan[], level: number, number: number): Tile {
  const wide = 2 ** level;
  const begin = number * TILE_BUCKETS * wide;
  const names = [...new Set(spans.map((span) => span.name ?? "x"))];
  const rows: Tile["rows"] = new Map();
  const items: { span: PlainSpan; bucket: number; buckets: number; busy: number }[] = [];
  for (const row of new Set(spans.map((span) => span.row))) {
    const from = items.length;
    for (let bucket = 0; bucket < TILE_BUCKETS; bucket++) {
      const [low, high] = [begin + bucket * wide, begin + (bucket + 1) * wide];
      const here = spans.filter((span) => span.row === row && span.start < high && span.start + Math.max(1, span.length) > low);
      const longest = here.reduce<PlainSpan | null>((best, span) => (best === null || span.length > best.length ? span : best), null);
      if (!longest) continue;
      const busy = here.reduce((sum, span) => sum + Math.min(high, span.start + span.length) - Math.max(low, span.start), 0);
      const last = items.at(-1);
      if (items.length > from && last && last.span === longest && last.bucket + last.buckets === bucket) {
        last.buckets++;
        last.busy += busy;
      } else items.push({ span: longest, bucket, buckets: 1, busy });
    }
    rows.set(row, { from, to: items.length });
  }
  return {
    level, begin, rows, names, bytes: 100,
    start: Float64Array.from(items, (one) => one.span.start - begin),
    length: Float64Array.from(items, (one) => one.span.length),
    busy: Float64Array.from(items, (one) => one.busy),
    name: Uint32Array.from(items, (one) => names.indexOf(one.span.name ?? "x")),
    item: Uint32Array.from(items, (one) => one.span.item ?? 0),
    count: Uint32Array.from(items, () => 1),
    bucket: Uint16Array.from(items, (one) => one.bucket),
    buckets: Uint16Array.from(items, (one) => one.buckets),
  };
}

export function wholePick(tile: Tile): { tile: Tile; begin: number; end: number } {
  return { tile, begin: tile.begin, end: tile.begin + TILE_BUCKETS * 2 ** tile.level };
}
