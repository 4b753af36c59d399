import { describe, expect, it } from "vitest";
import type { TimelineRows } from "../api/answers";
import { extraHint, seriesRange } from "./extra_text";
import { EXTRAS_SQL, extrasOf, FIRST_EXTRA, firstSeries, withTimeOf, type Extra, type SeriesRow } from "./extras";
import { lineAt, topsOf } from "./layout";
import { groupsOf, isShut, linesOf, numberOf, withExtras, type Group, type Line } from "./lines";
import type { Row } from "./records";
import { piecesOf, pointsOf, rangeIn, seriesPieces, seriesSql, valueAt, type Point } from "./series";
import { functionsSql, joined, sliceAt, slicesOf, stackPieces } from "./stacks";

const NO_TRACK = {
  kind: "thread", process_id: null, process_name: null, process_labels: null, thread_id: null, thread_name: null, device: null, stream: null,
  rank: null, source_process: null, source_thread: null,
};

function found(kind: "series" | "stacks", track: number, own: Row = {}): Row {
  const figures = { many: 5, low: 1, high: 2, first_ns: 1000n, last_ns: 5000n };
  return { of_kind: kind, track_id: track, name: null, series: null, unit: null, ...figures, ...NO_TRACK, ...own };
}

function run(): TimelineRows {
  return {
    run_id: "r", origin_ns: 0, begin_ns: 0, end_ns: 1000, spans: 2, not_placed: 0,
    tracks: [{ track: 0, title: "main", process: "python", kind: "thread", device: null, stream: null, rank: null }],
    rows: [{ row: 0, track: 0, depth: 0, lane: 0, spans: 1, busy_ns: 1 }, { row: 1, track: 0, depth: 1, lane: 0, spans: 1, busy_ns: 1 }],
  };
}

const series = (n: number, own: Partial<SeriesRow> = {}): SeriesRow => ({
  kind: "series", row: FIRST_EXTRA + n, home: null, samples: 5, name: `c${n}`, series: null, unit: "W", isKnown: true, isFlat: false,
  track: { track: 2, title: "track 2", process: "GPU 0", kind: "thread", device: 0, stream: null, rank: null }, ...own,
});

const titleOf = (line: Line) => (line.kind === "group" ? `[${line.group.title}]` : line.kind === "row" ? `row ${line.row.row}` : line.title);
const titles = (lines: Line[]) => lines.map(titleOf);

describe("extra rows", () => {
  it("have the track of the time line, or one that is titled as the server would", () => {
    const own = { process_name: "python", process_id: 7, thread_id: 8 };
    const extras = extrasOf([found("series", 2, { name: "power", device: 0 }), found("stacks", 0, own), found("stacks", 3, { ...own, kind: "python" })], run());
    expect(extras.map(({ row, track }) => [row, track.process, track.title])).toEqual([
      [FIRST_EXTRA, "GPU 0", "track 2"], [FIRST_EXTRA + 1, "python", "main"], [FIRST_EXTRA + 2, "python", "thread 8 (Python)"],
    ]);
    expect(extras.map(({ home }) => home)).toEqual([null, 0, 0]);
  });

  it("lie below their thread, counters in groups of their own, and the rest of them is folded", () => {
    const data = run();
    const strips = extrasOf([found("stacks", 0), found("stacks", 9, { process_name: "loader" })], data);
    const many = Array.from({ length: 13 }, (_, n) => series(n));
    const groups = withExtras(groupsOf([{ id: "r", data, shift: 0 }]), [[...strips, ...many] as Extra[], []]);
    const lines = linesOf(groups, { pins: [], shut: [], filter: "" });
    expect(titles(lines).slice(0, 7)).toEqual(["[python]", "row 0", "row 1", "main, sampled", "[loader]", "track 9, sampled", "[Counters]"]);
    expect(titles(lines).slice(-2)).toEqual(["c11", "[More counters]"]);
    expect(titles(linesOf(groups, { pins: [FIRST_EXTRA + 12], shut: [], filter: "c12" }))).toEqual(["c12", "[More counters]", "c12"]);
    const more = groups.at(-1) as Group;
    expect([isShut(more, { shut: [], filter: "" }), isShut(more, { shut: [more.number], filter: "" })]).toEqual([true, false]);
    expect(numberOf(lines.at(-2) as Line)).toBe(FIRST_EXTRA + 11);
  });

  it("show each counter once before any of them twice, and those that never change last", () => {
    const flat = series(2, { name: "b", isFlat: true });
    const all = [series(0, { name: "a" }), series(1, { name: "a" }), flat, series(3, { name: "c" }), series(4, { isKnown: false })];
    expect(firstSeries(all, 2).map(({ row }) => row - FIRST_EXTRA)).toEqual([0, 3]);
    expect(firstSeries(all, 4).map(({ row }) => row - FIRST_EXTRA)).toEqual([0, 1, 2, 3]);
  });

  it("give a run without spans its time", () => {
    const data = { ...run(), rows: [], tracks: [] };
    expect(withTimeOf(data, [found("series", 0), found("series", 0, { first_ns: 900n })])).toMatchObject({ origin_ns: 900n, begin_ns: 0, end_ns: 4100 });
    expect(withTimeOf(data, [])).toBe(data);
    expect(EXTRAS_SQL).toContain("LIMIT");
  });

  it("are as high as they are", () => {
    const extra = (one: Extra): Line => ({ kind: "extra", source: 0, extra: one, title: "x", isPinned: false });
    const strip = extrasOf([found("stacks", 0)], run())[0] as Extra;
    const tops = topsOf([extra(strip), extra(series(1)), extra(strip)], 10);
    expect(tops).toEqual([0, 10, 30, 40]);
    expect([0, 9, 10, 29, 30, 39, 40, 99].map((y) => lineAt(tops, y))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  });
});

describe("series", () => {
  const points: Point[] = pointsOf([
    { n: 1, piece: -1, low: 0, high: 99, last: 5, first_ns: -500, last_ns: -10, gone_ns: null },
    { n: 1, piece: 0, low: 1, high: 8, last: 2, first_ns: 100, last_ns: 110, gone_ns: null },
    { n: 1, piece: 3, low: null, high: null, last: null, first_ns: 300, last_ns: null, gone_ns: 300 },
    { n: 1, piece: 4, low: 4, high: 4, last: 4, first_ns: 400, last_ns: 400, gone_ns: null },
  ]).get(1) as Point[];

  it("keep peaks, hold a value until the next sample, and have none where the source says so", () => {
    expect(valueAt(points, -600)).toBeNull();
    expect(valueAt(points, 50)).toEqual({ low: 5, high: 5 });
    expect(valueAt(points, 105)).toEqual({ low: 1, high: 8 });
    expect(valueAt(points, 200)).toEqual({ low: 2, high: 2 });
    expect(valueAt(points, 350)).toBeNull();
    expect(valueAt(points, 1e9)).toEqual({ low: 4, high: 4 });
  });

  it("range over what is seen, also over what began before", () => {
    expect(rangeIn(points, { begin: 0, end: 90 })).toEqual({ low: 5, high: 5 });
    expect(rangeIn(points, { begin: 0, end: 100 })).toEqual({ low: 1, high: 8 });
    expect(rangeIn(points, { begin: 310, end: 390 })).toBeNull();
    expect(rangeIn([], { begin: 0, end: 1 })).toBeNull();
  });

  it("are said with their unit", () => {
    expect(seriesRange(series(0), points, { begin: 0, end: 500 }, 150)).toBe("1 to 8\u2009W; 2\u2009W at the mark");
    expect(seriesRange(series(0, { unit: "Hz" }), points, { begin: 400, end: 500 }, null)).toBe("4\u2009Hz");
    expect(seriesRange(series(0, { isKnown: false }), [], { begin: 0, end: 1 }, null)).toBe("— no sample has a value");
    const data = { points: new Map([[FIRST_EXTRA, points]]), slices: new Map(), isWaiting: false, error: null };
    expect(extraHint({ kind: "extra", source: 0, extra: series(0), title: "c0", isPinned: false }, 350, data)).toContain("— no value is known here");
  });

  it("are asked for in at most 2000 pieces, names as text", () => {
    const pieces = seriesPieces({ begin: 0, end: 1e9 }, 5000);
    expect((pieces.end - pieces.begin) / pieces.step).toBe(2000);
    expect(pieces.begin).toBe(-5e8);
    expect(pieces.end).toBeGreaterThanOrEqual(1.5e9);
    expect(piecesOf({ begin: 0, end: 10 }, 100).step).toBe(1);
    expect(seriesSql([series(0, { name: "a' OR 1=1 --" })], pieces, 17n)).toContain("'a'' OR 1=1 --', NULL::VARCHAR");
  });
});

describe("sampled stacks", () => {
  const pieces = { begin: 100, end: 200, step: 10 };
  const slice = (piece: number, leaf: string, stack = `main;${leaf}`): Row => ({ track_id: 4, piece, leaf, stack, own: 3, total: 4, many: 2 });
  const slices = slicesOf([slice(0, "f"), slice(1, "f"), slice(3, "f"), slice(4, "g", "x".repeat(590) + ";main;g;h")], pieces).get(4) ?? [];

  it("are pieces of time with the function that has most of them", () => {
    expect(sliceAt(slices, 105)).toMatchObject({ leaf: "f", stack: ["main", "f"], share: 0.75, samples: 2, isCut: false });
    expect(sliceAt(slices, 125)).toBeNull();
  });

  it("leave out the outer frames of a deep stack", () => {
    const cut = slicesOf([slice(0, "g", `${"x".repeat(595)};main`)], pieces).get(4)?.[0];
    expect(cut).toMatchObject({ stack: ["main"], isCut: true });
  });

  it("are joined where they follow each other", () => {
    expect(joined(slices)).toEqual([{ leaf: "f", begin: 100, end: 120 }, { leaf: "f", begin: 130, end: 140 }, { leaf: "g", begin: 140, end: 150 }]);
  });

  it("are asked for by what can be seen", () => {
    expect(stackPieces({ begin: 0, end: 800 }, 400).step).toBe(8);
    expect(functionsSql([1, 2], { begin: 0.4, end: 9.6 }, 17n, 20)).toContain("start_ns - 17 >= 0 AND start_ns - 17 < 10 AND track_id IN (1, 2)");
  });
});
