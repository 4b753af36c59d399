import { describe, expect, it } from "vitest";
import { around, kept, marks, moved, pixelOf, spanOf, timeAt, viewOf, viewText, zoomed } from "./view";

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
    expect(spanOf(view)).toBeLessThanOrEqual(spanOf(all) * 1.2);
  });

  it("survives the address of the page", () => {
    const view = { begin: 1234, end: 567_890 };
    expect(viewOf(viewText(view), all)).toEqual(view);
    for (const nonsense of [null, "", "5-1", "a-b", "1", "-"]) expect(viewOf(nonsense, all)).toEqual(all);
  });

  it("marks round times, about as many as were asked for", () => {
    for (const view of [all, { begin: 3, end: 90 }, { begin: 12_345, end: 99_999 }]) {
      const list = marks(view, 8);
      expect(list.length).toBeGreaterThanOrEqual(3);
      expect(list.length).toBeLessThanOrEqual(10);
      for (const at of list) expect(pixelOf(view, at, 100)).toBeGreaterThanOrEqual(0);
    }
  });

  it("leaves room around what it goes to", () => {
    const view = around(500, 600, all);
    expect(view.begin).toBeLessThan(500);
    expect(view.end).toBeGreaterThan(600);
    expect(kept(view, all)).toEqual(view);
  });
});
