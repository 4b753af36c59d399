import { describe, expect, it } from "vitest";
import { PIECE, piecesOf } from "./list";

describe("a range of runs", () => {
  it("lies in all pieces from its first to its last row", () => {
    expect(piecesOf(0, PIECE - 1)).toEqual([0]);
    expect(piecesOf(PIECE - 1, 3 * PIECE)).toEqual([0, 1, 2, 3]);
  });
});
