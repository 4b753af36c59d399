import { describe, expect, it } from "vitest";
import { definitionOf } from "./definitions";

describe("a definition", () => {
  const metric = { id: "comm_overlap", name: "Overlap of communication", formula: "overlap_time / comm_time", of: "comm_time", unit: "ratio" };

  it("is that of the metric, with its unit and of what it is a share", () => {
    expect(definitionOf("comm_overlap", [metric])).toEqual(["Overlap of communication", "overlap_time / comm_time", "comm_overlap, in ratio, of comm_time"]);
  });

  it("tells what letters of its formula stand for", () => {
    expect(definitionOf("x", [{ ...metric, id: "x", formula: "M without C" }])).toContain("M: communication kernels");
  });

  it("is in words where the figure is no metric", () => {
    expect(definitionOf("mean of its calls", [metric])).toEqual(["", "mean of its calls"]);
  });
});
