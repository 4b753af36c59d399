import { describe, expect, it } from "vitest";
import { completed, completions } from "./completion";

const table = (name: string, columns: string[]) => ({ name, doc: "", kind: "fact",
  columns: columns.map((one) => ({ name: one, type: "BIGINT", unit: "", doc: "" })) });
const TABLES = [table("kernels", ["kernel_id", "name", "dur_ns"]), table("copies", ["copy_id", "bytes"])];
const offered = (sql: string) => completions(sql, sql.length, TABLES).map((one) => one.text);

describe("completion", () => {
  it("offers tables after FROM", () => {
    expect(offered("SELECT * FROM ker")).toEqual(["kernels"]);
    expect(offered("SELECT * FROM kernels k, co")).toEqual(["copies"]);
  });

  it("offers columns of the tables that are used", () => {
    expect(completions("SELECT dur FROM kernels", 10, TABLES).map((one) => one.text)).toEqual(["dur_ns"]);
    expect(offered("SELECT * FROM kernels k WHERE k.ker")).toEqual(["kernel_id"]);
    expect(offered("SELECT * FROM kernels WHERE byt")).toEqual([]);
  });

  it("is silent inside a word, without one, and where it is whole", () => {
    expect(completions("SELECT dur_ns", 9, TABLES)).toEqual([]);
    expect(offered("SELECT ")).toEqual([]);
    expect(offered("SELECT * FROM kernels")).toEqual([]);
  });

  it("replaces the word", () => {
    expect(completed("SELECT du FROM kernels", 9, "dur_ns")).toEqual({ sql: "SELECT dur_ns FROM kernels", cursor: 13 });
  });
});
