// Tiles of the time line as the server packs them (src/timeline/packed_tile.h): columns that are drawn without a parse.

export const TILE_BUCKETS = 512;
const MAGIC = 0x32544c4e;

export interface Tile {
  level: number; // a bucket has 2^level ns
  begin: number; // ns from the origin
  rows: Map<number, { from: number; to: number }>; // items of each row
  start: Float64Array; // of the item's span, from the begin of the tile
  length: Float64Array;
  busy: Float64Array;
  name: Uint32Array; // number in `names`
  item: Uint32Array; // table and row, see tableOf and idOf
  count: Uint32Array;
  bucket: Uint16Array;
  buckets: Uint16Array;
  names: string[];
  bytes: number;
}

export const TABLES = ["spans", "kernels", "copies", "syncs"] as const;
export type Table = (typeof TABLES)[number];

export function tableOf(item: number): Table {
  return TABLES[(item >>> 30) as 0 | 1 | 2 | 3];
}

export function idOf(item: number): number {
  return item & 0x3fffffff;
}

export function unpack(bytes: ArrayBuffer): Tile {
  const head = new Uint32Array(bytes, 0, 6);
  const [magic, rows, items, names, level] = head as unknown as [number, number, number, number, number];
  if (magic !== MAGIC) throw new Error("the answer is no tile of this version");
  const begin = new Float64Array(bytes, 24, 1)[0] as number;
  let at = 32;
  const take = <T>(make: new (buffer: ArrayBuffer, offset: number, length: number) => T, count: number, size: number): T => {
    const column = new make(bytes, at, count);
    at += count * size;
    return column;
  };
  const start = take(Float64Array, items, 8);
  const length = take(Float64Array, items, 8);
  const busy = take(Float64Array, items, 8);
  const numbers = take(Uint32Array, rows, 4);
  const ends = take(Uint32Array, rows, 4);
  const name = take(Uint32Array, items, 4);
  const item = take(Uint32Array, items, 4);
  const count = take(Uint32Array, items, 4);
  const nameEnds = take(Uint32Array, names, 4);
  const bucket = take(Uint16Array, items, 2);
  const buckets = take(Uint16Array, items, 2);
  const texts = textsOf(bytes, at, nameEnds);
  const of = { start, length, busy, name, item, count, bucket, buckets };
  return { level, begin, rows: rowsOf(numbers, ends), ...of, names: texts, bytes: bytes.byteLength };
}

function rowsOf(numbers: Uint32Array, ends: Uint32Array): Tile["rows"] {
  const rows: Tile["rows"] = new Map();
  numbers.forEach((number, i) => rows.set(number, { from: i === 0 ? 0 : (ends[i - 1] as number), to: ends[i] as number }));
  return rows;
}

function textsOf(bytes: ArrayBuffer, at: number, ends: Uint32Array): string[] {
  const decoder = new TextDecoder();
  let from = 0;
  return Array.from(ends, (end) => {
    const text = decoder.decode(new Uint8Array(bytes, at + from, end - from));
    from = end;
    return text;
  });
}

/** The finest level whose buckets are not narrower than a pixel would show. */
export function levelFor(nsPerPixel: number): number {
  return Math.max(0, Math.min(50, Math.floor(Math.log2(Math.max(1, nsPerPixel)))));
}

/** Numbers of the tiles that cover a stretch. */
export function tilesOf(level: number, begin: number, end: number): number[] {
  const width = TILE_BUCKETS * 2 ** level;
  const list: number[] = [];
  for (let tile = Math.floor(begin / width); tile * width < end; tile++) list.push(tile);
  return list;
}

export function tileKey(level: number, tile: number, group: number): string {
  return `${level}/${tile}/${group}`;
}
