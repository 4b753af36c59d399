import { describe, expect, it } from "vitest";
import { isOnlyTheView } from "./use_page_state";

const leavesNoTrail = (before: string, after: string) => isOnlyTheView(new URLSearchParams(before), new URLSearchParams(after));

describe("the history", () => {
  it("has no entry for each pause while one moves, types or drags", () => {
    expect(leavesNoTrail("at=0-9&find=ge", "at=0-9&find=gemm")).toBe(true);
    expect(leavesNoTrail("at=0-9", "at=3-9&rows=stream&area=1-2")).toBe(true);
  });

  it("has one for a selection", () => {
    expect(leavesNoTrail("at=0-9", "at=0-9&sel=k1")).toBe(false);
  });
});
