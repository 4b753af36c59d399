import { describe, expect, it } from "vitest";
import { endOf, nearestDrawn, nextOf, previousOf, startOf } from "./neighbours";
import { nearestEdge } from "./snap";
import { tileOf, wholePick, type PlainSpan } from "./tile_for_test";

/** Near and far from each other, touching, an instant, and another row that must not be met. */
const SPANS: PlainSpan[] = [
  { row: 3, start: 10, length: 5 },
  { row: 3, start: 15, length: 1 },
  { row: 3, start: 500, length: 100 },
  { row: 3, start: 700, length: 0 },
  { row: 3, start: 5_000_000, length: 3_000 },
  { row: 3, start: 5_003_010, length: 700_000 },
  { row: 3, start: 40_000_000_000, length: 77 },
  { row: 4, start: 800, length: 9_000 },
];

describe("neighbours on a row", () => {
  const own = SPANS.filter((span) => span.row === 3);
  const ask = async (level: number, tile: number) => tileOf(SPANS, level, tile);

  it("are exact in both directions, however far away", async () => {
    for (const [n, span] of own.entries()) {
      const next = await nextOf(ask, 3, span.start + Math.max(1, span.length));
      expect(next ? startOf(next) : null).toBe(own[n + 1]?.start ?? null);
      const previous = await previousOf(ask, 3, span.start);
      expect(previous ? startOf(previous) : null).toBe(own[n - 1]?.start ?? null);
    }
  });

  it("are asked for a few times only", async () => {
    let asked = 0;
    await nextOf(async (level, tile) => (asked++, tileOf(SPANS, level, tile)), 3, 5_703_010);
    expect(asked).toBeLessThanOrEqual(11);
  });

  it("bound a gap", async () => {
    const before = await previousOf(ask, 3, 1_000_000);
    const after = await nextOf(ask, 3, 1_000_000);
    expect([before && endOf(before), after && startOf(after)]).toEqual([700, 5_000_000]);
  });

  it("of what is drawn: the nearest in time, on that row", () => {
    const picks = [wholePick(tileOf(SPANS, 4, 0))];
    expect(nearestDrawn(picks, 3, 300)?.tile.rows.has(3)).toBe(true);
    const found = nearestDrawn(picks, 3, 450);
    expect(found && startOf(found)).toBe(500);
    expect(nearestDrawn(picks, 9, 450)).toBeNull();
  });
});

describe("edges", () => {
  const picks = [wholePick(tileOf(SPANS, 0, 0)), wholePick(tileOf(SPANS, 0, 1))];
  it("snap to the nearest within reach", () => {
    expect(nearestEdge(picks, 3, 497, 5)).toBe(500);
    expect(nearestEdge(picks, 3, 603, 5)).toBe(600);
    expect(nearestEdge(picks, 3, 300, 5)).toBeNull();
    expect(nearestEdge(picks, 4, 799, 5)).toBe(800);
  });
});
