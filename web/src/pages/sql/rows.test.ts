import { describe, expect, it } from "vitest";
import { barsOf, cellText, chartColumns, csvOf, idColumn } from "./rows";

const DATA = { columns: ["name", "total_ns"], rows: [["a,\"b\"", 5], ["c", null], ["d", 12345678901234567890n]], truncated: false, rows_left_out: 0 };

describe("rows", () => {
  it("become CSV with exact numbers", () => {
    expect(csvOf(DATA)).toBe('name,total_ns\n"a,""b""",5\nc,\nd,12345678901234567890\n');
  });
  it("show what is NULL", () => {
    expect(cellText(null)).toBe("NULL");
    expect(cellText(12345)).toBe("12\u2009345");
  });
  it("know which column leads to the time line", () => {
    expect(idColumn(["name", "kernel_id"])).toEqual({ at: 1, table: "kernels" });
    expect(idColumn(["name"])).toBeNull();
  });
  it("become bars, without what has no number", () => {
    expect(chartColumns(DATA)).toEqual({ label: "name", value: "total_ns" });
    expect(barsOf(DATA, "name", "total_ns").map((one) => one.label)).toEqual(['a,"b"', "d"]);
  });
});
