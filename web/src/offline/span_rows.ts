// The spans of a time line as src/timeline/packed_rows.h packs them, and the questions that the server answers from its file (src/timeline/tile.h, area.h),
// by the same definitions: a bucket shows the longest of the spans that overlap it, by whole duration, of equals the earliest.

import type { AreaAnswer, AreaName, SearchAnswer, SpanFound } from "../api/answers";
import { idOf, tableOf, TILE_BUCKETS, type Tile } from "../timeline/tiles";

const MAGIC = 0x31534c4e;

/** Spans of a row by start; no two overlap. */
export interface SpanRow {
  start: Float64Array;
  length: Float64Array;
  name: Uint32Array;
  item: Uint32Array;
}

export interface SpanRows {
  rows: SpanRow[];
  names: string[];
}

/** Numbers of seven bits a byte, the lowest first. */
class Reader {
  constructor(
    private readonly bytes: Uint8Array,
    private at: number,
  ) {}

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  /** 0, -1, 1, -2, … */
  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  text(bytes: number): string {
    this.at += bytes;
    return new TextDecoder().decode(this.bytes.subarray(this.at - bytes, this.at));
  }
}

export function unpackRows(buffer: ArrayBuffer): SpanRows {
  if (new DataView(buffer).getUint32(0, true) !== MAGIC) throw new Error("The time line in this file is of another version.");
  const reader = new Reader(new Uint8Array(buffer), 4);
  const names = Array.from({ length: reader.number() }, () => reader.number()).map((bytes) => reader.text(bytes));
  const rows = Array.from({ length: reader.number() }, () => reader.number()).map((spans) => ({
    start: new Float64Array(spans), length: new Float64Array(spans), name: new Uint32Array(spans), item: new Uint32Array(spans),
  }));
  for (const row of rows) row.start.forEach((_, i) => (row.start[i] = reader.number())); // from the end of the span before
  for (const row of rows) row.length.forEach((_, i) => (row.length[i] = reader.number()));
  for (const row of rows) row.name.forEach((_, i) => (row.name[i] = reader.number()));
  for (const row of rows) {
    let before = 0;
    row.item.forEach((_, i) => (row.item[i] = before += reader.signed()));
  }
  for (const row of rows) row.start.forEach((gap, i) => (row.start[i] = gap + (i === 0 ? 0 : end(row, i - 1))));
  return { rows, names };
}

const start = (row: SpanRow, place: number): number => row.start[place] as number;
const length = (row: SpanRow, place: number): number => row.length[place] as number;
const end = (row: SpanRow, place: number): number => start(row, place) + length(row, place);
/** An instant is seen where it starts, although it takes no time. */
const reach = (row: SpanRow, place: number): number => start(row, place) + Math.max(1, length(row, place));

/** The first place for which it holds; once it does, it holds for all that follow. */
function firstPlace(row: SpanRow, holds: (place: number) => boolean): number {
  let [from, to] = [0, row.start.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

interface Item {
  bucket: number;
  buckets: number;
  place: number;
  count: number;
  busy: number;
}

export function itemsOf(row: SpanRow, level: number, number: number): Item[] {
  const wide = 2 ** level;
  const begin = number * TILE_BUCKETS * wide;
  const seen = new Array<Item | undefined>(TILE_BUCKETS);
  const bucketOf = (ns: number) => Math.floor((ns - begin) / wide);
  for (let place = firstPlace(row, (one) => reach(row, one) > begin); place < row.start.length && bucketOf(start(row, place)) < TILE_BUCKETS; place++) {
    const [first, last] = [bucketOf(start(row, place)), bucketOf(reach(row, place) - 1)];
    for (let bucket = Math.max(0, first); bucket <= Math.min(TILE_BUCKETS - 1, last); bucket++) {
      const low = begin + bucket * wide;
      const item = (seen[bucket] ??= { bucket, buckets: 1, place, count: 0, busy: 0 });
      if (length(row, place) > length(row, item.place)) item.place = place;
      if (bucket === first) item.count++;
      item.busy += Math.min(end(row, place), low + wide) - Math.max(start(row, place), low);
    }
  }
  return joined(seen.filter((one) => one !== undefined));
}

/** Neighbouring buckets that show the same span are one item. */
function joined(seen: Item[]): Item[] {
  const items: Item[] = [];
  for (const one of seen) {
    const last = items.at(-1);
    if (last && last.place === one.place && last.bucket + last.buckets === one.bucket) {
      last.buckets++;
      last.count += one.count;
      last.busy += one.busy;
    } else items.push(one);
  }
  return items;
}

const BYTES_OF_AN_ITEM = 40;

export function tileFrom({ rows, names }: SpanRows, level: number, number: number, asked: readonly number[]): Tile {
  const begin = number * TILE_BUCKETS * 2 ** level;
  const of: Tile["rows"] = new Map();
  const items: (Item & { row: SpanRow })[] = [];
  for (const one of asked) {
    const row = rows[one];
    const from = items.length;
    if (row) for (const item of itemsOf(row, level, number)) items.push({ ...item, row });
    of.set(one, { from, to: items.length });
  }
  const numbers = new Map<number, number>();
  const numberOf = (name: number) => numbers.get(name) ?? (numbers.set(name, numbers.size), numbers.size - 1);
  const name = Uint32Array.from(items, ({ row, place }) => numberOf(row.name[place] as number));
  return {
    level, begin, rows: of, name, bytes: items.length * BYTES_OF_AN_ITEM,
    names: [...numbers.keys()].map((one) => names[one] ?? ""),
    start: Float64Array.from(items, ({ row, place }) => start(row, place) - begin),
    length: Float64Array.from(items, ({ row, place }) => length(row, place)),
    busy: Float64Array.from(items, (item) => item.busy),
    item: Uint32Array.from(items, ({ row, place }) => row.item[place] as number),
    count: Uint32Array.from(items, (item) => item.count),
    bucket: Uint16Array.from(items, (item) => item.bucket),
    buckets: Uint16Array.from(items, (item) => item.buckets),
  };
}

interface Sums extends AreaName {
  whole: number;
  pieces: [number, number][];
  rows: Set<SpanRow>;
}

export function areaFrom({ rows, names }: SpanRows, asked: readonly number[], begin: number, until: number, top: number): AreaAnswer {
  const byName = new Map<number, Sums>();
  for (const row of asked.map((one) => rows[one]).filter((one) => one !== undefined)) {
    const to = firstPlace(row, (one) => start(row, one) >= until);
    for (let place = firstPlace(row, (one) => reach(row, one) > begin); place < to; place++) addTo(byName, names, row, place, begin, until);
  }
  const list = [...byName].sort(([a, x], [b, y]) => y.sum_ns - x.sum_ns || a - b).map(([, sums]) => sums);
  return {
    count: list.reduce((sum, one) => sum + one.count, 0), sum_ns: list.reduce((sum, one) => sum + one.sum_ns, 0), not_shown: Math.max(0, list.length - top),
    by_name: list.slice(0, top).map(({ whole, pieces, rows: of, ...one }) => ({
      ...one, mean_ns: whole / one.count, union_ns: { value: of.size === 1 ? one.sum_ns : unionOf(pieces) },
    })),
  };
}

function addTo(byName: Map<number, Sums>, names: string[], row: SpanRow, place: number, begin: number, until: number): void {
  const number = row.name[place] as number;
  const ns = length(row, place);
  const sums = byName.get(number) ?? {
    name: names[number] ?? "", count: 0, sum_ns: 0, union_ns: { value: 0 }, mean_ns: 0, min_ns: ns, max_ns: ns, whole: 0, pieces: [], rows: new Set(),
  };
  const piece: [number, number] = [Math.max(begin, start(row, place)), Math.min(until, end(row, place))];
  sums.count++;
  sums.sum_ns += Math.max(0, piece[1] - piece[0]);
  sums.whole += ns;
  sums.min_ns = Math.min(sums.min_ns, ns);
  sums.max_ns = Math.max(sums.max_ns, ns);
  sums.pieces.push(piece);
  sums.rows.add(row);
  byName.set(number, sums);
}

function unionOf(pieces: [number, number][]): number {
  let [covered, until] = [0, -Infinity];
  for (const [from, to] of pieces.sort((a, b) => a[0] - b[0])) {
    if (to <= until) continue;
    covered += to - Math.max(from, until);
    until = to;
  }
  return covered;
}

/** As the server compares names: letters of ASCII in upper or lower case. */
const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

export function searchFrom({ rows, names }: SpanRows, asked: readonly number[], text: string, from: number): SearchAnswer {
  const part = lower(text);
  const fits = names.map((name) => lower(name).includes(part));
  const found: SearchAnswer = { count: 0, next: null, previous: null };
  for (const number of asked) {
    const row = rows[number];
    if (!row) continue;
    const told = (place: number) => spanAt(row, number, place, names);
    const middle = firstPlace(row, (one) => start(row, one) >= from);
    const places = [...row.name.keys()].filter((place) => fits[row.name[place] as number]);
    const [next, previous] = [places.find((place) => place >= middle), places.findLast((place) => place < middle)];
    found.count += places.length;
    if (next !== undefined && start(row, next) < (found.next?.start_ns ?? Infinity)) found.next = told(next);
    if (previous !== undefined && start(row, previous) > (found.previous?.start_ns ?? -Infinity)) found.previous = told(previous);
  }
  return found;
}

function spanAt(row: SpanRow, number: number, place: number, names: string[]): SpanFound {
  const item = row.item[place] as number;
  return { row: number, table: tableOf(item), id: idOf(item), name: names[row.name[place] as number] ?? "", start_ns: start(row, place), dur_ns: length(row, place) };
}

/** The longest span for which it holds, of equals the earliest. */
export function longestSpan({ rows, names }: SpanRows, holds: (row: SpanRow, place: number) => boolean): SpanFound | null {
  let best: SpanFound | null = null;
  rows.forEach((row, number) => {
    for (let place = 0; place < row.start.length; place++)
      if (holds(row, place) && length(row, place) > (best?.dur_ns ?? -1)) best = spanAt(row, number, place, names);
  });
  return best;
}
