import { describe, expect, it } from "vitest";
import { areaCommand, sortedNames } from "./area";
import { arrowsOf, arrowText, pairsOf } from "./arrows";
import { argumentLines, sized } from "./details";
import type { Span } from "./item";
import { rowWith } from "./place";
import { countersSql, recordSql, unplaced, upwardsSql, workSql, type Linked, type Unplaced } from "./records";
import { tileOf } from "./tile_for_test";

const kernel: Span = { kind: "span", source: 0, row: 5, table: "kernels", id: 12, name: "gemm", start: 900, length: 50 };
const one = (table: Unplaced["table"], id: number): Unplaced => ({ table, id, track: 0, name: `n${id}`, start: id, length: 1 });
const links: Linked = { launch: one("spans", 3), op: one("spans", 2), caller: null, work: [], workInAll: 0, sql: [] };
const place = async (end: Unplaced): Promise<Span | null> => (end.id === 404 ? null : { ...kernel, row: 1, table: end.table, id: end.id, name: end.name, start: end.start });

describe("arrows", () => {
  it("lead from op to launch to kernel", async () => {
    expect((await arrowsOf(kernel, links, place)).map(arrowText)).toEqual(["spans 2 > spans 3", "spans 3 > kernels 12"]);
  });

  it("lead from a span to the work launched in it, and from its op", async () => {
    const span: Span = { ...kernel, table: "spans", id: 7 };
    const down: Linked = { ...links, launch: null, work: [one("kernels", 12), one("copies", 4), one("kernels", 404)] };
    expect((await arrowsOf(span, down, place)).map(arrowText)).toEqual(["spans 2 > spans 7", "spans 7 > kernels 12", "spans 7 > copies 4"]);
  });

  it("are absent where nothing is linked, and an op that is the launch is one end", () => {
    expect(pairsOf(kernel, { ...links, launch: null, op: null })).toEqual([]);
    expect(pairsOf(kernel, { ...links, op: one("spans", 3) })).toHaveLength(1);
  });
});

describe("records", () => {
  it("are asked for by one SELECT each", () => {
    expect(recordSql("copies", 4)).toBe("SELECT * FROM copies WHERE copy_id = 4");
    expect(upwardsSql([3, 2])).toContain("span_id IN (3, 2)");
    expect(workSql(0, 1_700_000_003_045_550_765n, 10)).toContain("start_ns < 1700000003045550775");
    expect(workSql(0, 5, null)).toContain("start_ns < 6");
    expect(countersSql(9)).toContain("kernel_id = 9");
  });

  it("keep times exact, and have no place without one", () => {
    const row = { kernel_id: 5, track_id: 2, name: "k", start_ns: 1_623_142_624_125_947_001n, dur_ns: 365 };
    expect(unplaced("kernels", row, 1_623_142_624_125_947_000n)).toMatchObject({ id: 5, start: 1, length: 365, track: 2 });
    expect(unplaced("kernels", { ...row, start_ns: null }, 0)).toBeNull();
  });

  it("are found on their row by the finest tile", () => {
    const tile = tileOf([{ row: 4, start: 3, length: 9, item: (1 << 30) | 6 }, { row: 5, start: 1, length: 2, item: 6 }], 0, 0);
    expect(rowWith(tile, "kernels", 6)).toBe(4);
    expect(rowWith(tile, "spans", 6)).toBe(5);
    expect(rowWith(tile, "syncs", 6)).toBeNull();
  });

  it("are shown with units, grid and block in one line", () => {
    expect(sized([["grid_x", 16], ["grid_y", 7], ["grid_z", 32], ["shared_memory_bytes", 3328], ["occupancy_pct", 31], ["category", "Kernel"]])).toEqual([
      ["grid", "16 × 7 × 32"], ["shared memory", "3.328\u2009kB"], ["occupancy", "31.00 %"], ["category", "Kernel"],
    ]);
    expect(argumentLines('{"a":"b","c":[1,2]}')).toEqual([["a", "b"], ["c", "[1,2]"]]);
    expect(argumentLines("no json")).toEqual([["args", "no json"]]);
  });
});

describe("an area", () => {
  const name = (text: string, count: number, sum: number) => ({ name: text, count, sum_ns: sum, union_ns: { value: sum }, mean_ns: sum / count, min_ns: 1, max_ns: sum });
  it("is sorted by any figure, an unknown union last", () => {
    const names = [name("b", 5, 10), name("a", 1, 30), { ...name("c", 9, 20), union_ns: { absent_reason: "too many" } }];
    expect(sortedNames(names, "sum").map((each) => each.name)).toEqual(["a", "c", "b"]);
    expect(sortedNames(names, "name").map((each) => each.name)).toEqual(["a", "b", "c"]);
    expect(sortedNames(names, "union").map((each) => each.name)).toEqual(["a", "b", "c"]);
  });

  it("can be asked for on the command line", () => {
    expect(areaCommand("0123456789abcdef", { begin: 1.2, end: 9.9, rows: [3, 4] }, 50)).toBe(
      "neurolens timeline 0123456789ab area --begin-ns 1 --end-ns 10 --top 50 --rows 3 4",
    );
  });
});
