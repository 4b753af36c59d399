import { describe, expect, it } from "vitest";
import type { Part } from "../../api/answers_pages";
import { axisOf, byKind, sidesOf, stairs } from "./waterfall";

const part = (name: string, base_ns: number, new_ns: number,
  kind: Part["kind"] = "compute"): Part => ({ kind, name, words: name, base_ns, new_ns, delta_ns: new_ns - base_ns });

describe("a waterfall", () => {
  it("goes from the base to the new side", () => {
    const list = stairs([part("a", 10, 30), part("b", 90, 60)], 100, 90);
    expect(list.map((one) => [one.from, one.to])).toEqual([[100, 120], [120, 90]]);
  });

  it("says what its parts do not explain", () => {
    expect(stairs([part("a", 10, 30)], 100, 130).at(-1)).toMatchObject({ part: null, from: 120, to: 130 });
  });

  it("begins at zero unless the steps would be too small to see", () => {
    expect(axisOf(stairs([part("a", 0, 100)], 100, 200), 100, 200).begin).toBe(0);
    expect(axisOf(stairs([part("a", 0, 10)], 1000, 1010), 1000, 1010).begin).toBeGreaterThan(990);
    expect(axisOf([], 0, 0)).toEqual({ begin: 0, end: 1 });
  });

  it("is about one unit of the window", () => {
    expect(sidesOf([part("a", 10, 30), part("b", 90, 60)], -10)).toEqual({ base: 100, end: 90 });
  });

  it("sums up sides by kind", () => {
    expect(byKind([part("a", 5, 1, "idle"), part("b", 3, 1), part("c", 2, 0)], "base_ns")).toEqual([{ kind: "compute", ns: 5 }, { kind: "idle", ns: 5 }]);
  });
});
