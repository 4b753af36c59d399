import { describe, expect, it } from "vitest";
import { pieces } from "./upload_queue";

describe("pieces of a file", () => {
  it("cover it once, from what was received on", () => {
    expect(pieces(10, 0, 4)).toEqual([[0, 4], [4, 8], [8, 10]]);
    expect(pieces(10, 7, 4)).toEqual([[7, 10]]);
    expect(pieces(10, 10, 4)).toEqual([]);
    expect(pieces(0, 0, 4)).toEqual([]);
  });
});
