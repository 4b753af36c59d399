import { describe, expect, it } from "vitest";
import { around, fitted, kept, marks, moved, pinched, pixelOf, showing, spanOf, timeAt, timeText, viewOf, viewText, zoomed } from "./view";

const all = { begin: 0, end: 1_000_000 };

describe("a view of the time line", () => {
  it("keeps the time under the cursor when it zooms", () => {
    const view = { begin: 100_000, end: 300_000 };
    const after = zoomed(view, 0.5, 0.25, all);
    expect(spanOf(after)).toBe(100_000);
    expect(timeAt(after, 25, 100)).toBe(timeAt(view, 25, 100));
  });

  it("never loses the run, nor shows less than a few nanoseconds", () => {
    let view = all;
    for (let i = 0; i < 100; i++) view = moved(view, 0.5, all);
    expect(view.begin).toBeLessThan(all.end);
    for (let i = 0; i < 200; i++) view = zoomed(view, 0.5, 0.5, all);
    expect(spanOf(view)).toBe(20);
    for (let i = 0; i < 200; i++) view = zoomed(view, 2, 0.5, all);
    expect(spanOf(view)).toBeLessThanOrEqual(spanOf(all) * 1.3);
  });

  it("survives the address of the page", () => {
    const view = { begin: 1234, end: 567_890 };
    expect(viewOf(viewText(view), all)).toEqual(view);
    for (const nonsense of [null, "", "5-1", "a-b", "1", "-"]) expect(viewOf(nonsense, all)).toEqual(all);
  });

  it("is of the run even if the address asks for far more", () => {
    for (const text of ["0-99999999999999999999999", "-9000000000000000-9000000000000000", "8000000000000000-9000000000000000"]) {
      const view = viewOf(text, all);
      expect(spanOf(view)).toBeLessThanOrEqual(1_300_000);
      expect(view.begin).toBeLessThan(all.end);
      expect(view.end).toBeGreaterThan(all.begin);
    }
    const widest = around(all.begin, all.end, all);
    expect(fitted(widest, all)).toEqual(widest);
  });

  it("keeps the times under two fingers", () => {
    const view = { begin: 100_000, end: 300_000 };
    const after = pinched(view, [0.25, 0.75], [0.1, 0.7], all);
    expect(timeAt(after, 10, 100)).toBeCloseTo(timeAt(view, 25, 100), 3);
    expect(timeAt(after, 70, 100)).toBeCloseTo(timeAt(view, 75, 100), 3);
    expect(spanOf(pinched(view, [0.4, 0.6], [0.5, 0.5], all))).toBeLessThanOrEqual(1_300_000);
  });

  it("marks round times, about as many as were asked for", () => {
    for (const view of [all, { begin: 3, end: 90 }, { begin: 12_345, end: 99_999 }]) {
      const list = marks(view, 8);
      expect(list.length).toBeGreaterThanOrEqual(3);
      expect(list.length).toBeLessThanOrEqual(10);
      for (const at of list) expect(pixelOf(view, at, 100)).toBeGreaterThanOrEqual(0);
    }
  });

  it("tells near times apart", () => {
    expect(timeText(1_446_520_000, 10_000)).toBe("1.44652\u2009s");
    expect(timeText(1_446_517_091, 1)).toBe("1.446517091\u2009s");
    expect(timeText(400_000_000, 200_000_000)).toBe("400\u2009ms");
    expect(timeText(930_500, 500)).toBe("930.5\u2009µs");
    expect(timeText(0, 20)).toBe("0\u2009ns");
  });

  it("leaves room around what it goes to", () => {
    const view = around(500, 600, all);
    expect(view.begin).toBeLessThan(500);
    expect(view.end).toBeGreaterThan(600);
    expect(kept(view, all)).toEqual(view);
  });

  it("moves only as far as it must to show a span, and zooms only to what is too short or too long", () => {
    const view = { begin: 100_000, end: 200_000 };
    expect(showing(view, 120_000, 130_000, 1000, all)).toEqual(view);
    const beside = showing(view, 300_000, 310_000, 1000, all);
    expect(spanOf(beside)).toBe(spanOf(view));
    expect(beside.begin < 300_000 && beside.end > 310_000).toBe(true);
    const tiny = showing(view, 150_000, 150_020, 1000, all);
    expect((20 / spanOf(tiny)) * 1000).toBeCloseTo(40);
    expect(showing(view, 150_000, 150_000, 1000, all)).toEqual(view); // an instant
    const long = showing(view, 0, 900_000, 1000, all);
    expect(long.begin <= 0 && long.end >= 900_000).toBe(true);
  });
});
