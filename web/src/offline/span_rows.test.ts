import { expect, test } from "vitest";
import { tileOf } from "../timeline/tile_for_test";
import { areaFrom, itemsOf, longestSpan, searchFrom, tileFrom, unpackRows, type SpanRow, type SpanRows } from "./span_rows";

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % below;
  };
}

/** Spans that never overlap, instants and long ones among them. */
function someRow(seed: number, spans: number): SpanRow {
  const next = random(seed);
  let at = next(1000);
  const list = Array.from({ length: spans }, (_, i) => {
    const length = next(5) === 0 ? 0 : next(4) === 0 ? next(20_000) : next(40);
    const one = { start: at, length, name: next(5), item: i };
    at += Math.max(1, length) + (next(3) === 0 ? 0 : next(60));
    return one;
  });
  return {
    start: Float64Array.from(list, (one) => one.start), length: Float64Array.from(list, (one) => one.length),
    name: Uint32Array.from(list, (one) => one.name), item: Uint32Array.from(list, (one) => one.item),
  };
}

const NAMES = ["gemm", "Relu", "softmax", "copy", "norm"];
const plain = (row: SpanRow, number: number) =>
  [...row.start.keys()].map((i) => ({
    row: number, start: row.start[i] as number, length: row.length[i] as number, name: NAMES[row.name[i] as number] as string, item: row.item[i] as number,
  }));

test("tiles are those of plain spans, bucket by bucket", () => {
  const spans: SpanRows = { rows: [someRow(1, 400), someRow(2, 300)], names: NAMES };
  const all = spans.rows.flatMap(plain);
  for (const [level, number] of [[0, 0], [1, 3], [3, 0], [5, 1], [9, 0], [14, 0], [20, 0], [5, -1], [2, 90]] as const) {
    const [tile, expected] = [tileFrom(spans, level, number, [0, 1]), tileOf(all, level, number)];
    for (const column of ["start", "length", "busy", "item", "bucket", "buckets"] as const) expect([...tile[column]], `${level}/${number} ${column}`).toEqual([...expected[column]]);
    expect([...tile.name].map((one) => tile.names[one])).toEqual([...expected.name].map((one) => expected.names[one]));
    expect(tile.rows).toEqual(expected.rows);
    const begin = tile.begin;
    const started = all.filter((one) => one.start >= begin && one.start < begin + 512 * 2 ** level).length;
    expect(tile.count.reduce((sum, one) => sum + one, 0)).toBe(started);
  }
});

test("of equally long spans the earliest is seen", () => {
  const row = { start: Float64Array.of(0, 4, 8), length: Float64Array.of(2, 3, 3), name: Uint32Array.of(0, 0, 0), item: Uint32Array.of(7, 8, 9) };
  expect(itemsOf(row, 4, 0)).toEqual([{ bucket: 0, buckets: 1, place: 1, count: 3, busy: 8 }]);
});

test("an area sums up what lies in it, and the time that several rows cover together once", () => {
  const rows = [
    { start: Float64Array.of(0, 100), length: Float64Array.of(50, 100), name: Uint32Array.of(0, 1), item: Uint32Array.of(0, 1) },
    { start: Float64Array.of(25), length: Float64Array.of(50), name: Uint32Array.of(0), item: Uint32Array.of(2) },
  ];
  expect(areaFrom({ rows, names: ["a", "b"] }, [0, 1], 10, 150, 1)).toEqual({
    count: 3, sum_ns: 140, not_shown: 1,
    by_name: [{ name: "a", count: 2, sum_ns: 90, union_ns: { value: 65 }, mean_ns: 50, min_ns: 50, max_ns: 50 }],
  });
});

test("a search finds the nearest around a time, in upper or lower case", () => {
  const spans: SpanRows = { rows: [someRow(3, 200)], names: NAMES };
  const found = searchFrom(spans, [0], "RELU", 3000);
  const all = plain(spans.rows[0] as SpanRow, 0).filter((one) => one.name === "Relu");
  expect(found.count).toBe(all.length);
  expect(found.next?.start_ns).toBe(all.find((one) => one.start >= 3000)?.start);
  expect(found.previous?.start_ns).toBe(all.findLast((one) => one.start < 3000)?.start);
  expect(searchFrom(spans, [0], "none", 0)).toEqual({ count: 0, next: null, previous: null });
});

test("the longest span that is looked for", () => {
  const spans: SpanRows = { rows: [someRow(4, 100)], names: NAMES };
  const lengths = plain(spans.rows[0] as SpanRow, 0).filter((one) => one.name === "gemm").map((one) => one.length);
  expect(longestSpan(spans, (row, place) => row.name[place] === 0)?.dur_ns).toBe(Math.max(...lengths));
});

/** As src/timeline/packed_rows.cpp writes them. */
function packed(spans: SpanRows): ArrayBuffer {
  const bytes: number[] = [0x4e, 0x4c, 0x53, 0x31];
  const put = (number: number) => {
    for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
    bytes.push(number);
  };
  const texts = spans.names.map((name) => new TextEncoder().encode(name));
  put(texts.length);
  texts.forEach((text) => put(text.length));
  texts.forEach((text) => bytes.push(...text));
  put(spans.rows.length);
  spans.rows.forEach((row) => put(row.start.length));
  for (const row of spans.rows) row.start.forEach((start, i) => put(start - (i === 0 ? 0 : (row.start[i - 1] as number) + (row.length[i - 1] as number))));
  for (const row of spans.rows) row.length.forEach(put);
  for (const row of spans.rows) row.name.forEach(put);
  for (const row of spans.rows)
    row.item.forEach((item, i) => {
      const step = item - (i === 0 ? 0 : (row.item[i - 1] as number));
      put(step < 0 ? -step * 2 - 1 : step * 2);
    });
  return new Uint8Array(bytes).buffer;
}

test("rows are unpacked as they were", () => {
  const far = { start: Float64Array.of(2 ** 50), length: Float64Array.of(3), name: Uint32Array.of(1), item: Uint32Array.of(2 ** 31 + 5) };
  const spans: SpanRows = { rows: [someRow(5, 50), far, someRow(6, 0)], names: ["ä", "<b>", "", "x", "y"] };
  expect(unpackRows(packed(spans))).toEqual(spans);
  expect(() => unpackRows(new ArrayBuffer(8))).toThrow("version");
});
