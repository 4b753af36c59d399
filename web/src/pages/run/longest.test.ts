import { describe, expect, it } from "vitest";
import { longestSql, longestText } from "./longest";

describe("the longest call of a kernel", () => {
  it.each([
    ["kernels", "kernel_id", "k7"],
    ["copies", "copy_id", "c7"],
    ["spans", "span_id", "s7"],
  ])("is in the table that the answer names: %s", (longest_table, key, text) => {
    const kernel = { longest_table, longest_row: 7 };
    expect(longestSql(kernel)).toBe(`SELECT start_ns, dur_ns FROM ${longest_table} WHERE ${key} = 7`);
    expect(longestText(kernel)).toBe(text);
  });
});
