import { describe, expect, it } from "vitest";
import { staleOf, staleOfKey } from "./fresh";

describe("an answer", () => {
  it("stays true only for runs that are named by their id", () => {
    expect(staleOf("a85ba683", null)).toBe(Infinity);
    expect([staleOf("@latest"), staleOf("a85ba683", "@baseline:main"), staleOf("nightly"), staleOf("a85b")]).toEqual([0, 0, 0, 0]);
  });

  it("is asked for again where its key has a name", () => {
    expect(staleOfKey(["timeline", "a85ba683"])).toBe(Infinity);
    expect(staleOfKey(["timeline", "@latest"])).toBe(0);
    expect(staleOfKey(["compare", ["@baseline:main"], ["a85ba683"], "auto"])).toBe(0);
  });
});
