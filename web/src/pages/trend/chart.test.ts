import { describe, expect, it } from "vitest";
import type { TrendGroup } from "../../api/answers_pages";
import { chartOf, groupTitle, HEIGHT, median, nearest, valueText, WIDTH } from "./chart";

const series = (values: number[], at: number[] = []): TrendGroup => ({
  group: {}, summary: { n: values.length, min: 0, median: 0, max: 0 }, silent: null,
  points: values.map((value, n) => ({ run_id: String(n), imported_at_ns: n, value })),
  change_points: at.map((one) => ({ at: one, run_id: "", imported_at_ns: one, previous_run_id: "", before: 0, after: 0, ratio: 1, p: 0, alert: true,
    meaning: "worse", differences: [], work: null })),
});

describe("a chart of a series", () => {
  it("stays in its box, the largest value on top", () => {
    const { points } = chartOf(series([1, 3, 2]));
    expect(points.every(({ x, y }) => x >= 0 && x <= WIDTH && y >= 0 && y <= HEIGHT)).toBe(true);
    expect(Math.min(...points.map((one) => one.y))).toBe(points[1]?.y);
  });

  it("has a level between changes", () => {
    const chart = chartOf(series([1, 1, 1, 5, 5, 5], [3]));
    expect(chart.levels).toHaveLength(2);
    expect(chart.levels[0]?.y).toBeGreaterThan(chart.levels[1]?.y as number);
    expect(chart.changes).toHaveLength(1);
  });

  it("is drawn for one point and for none", () => {
    expect(chartOf(series([7])).points).toEqual([{ x: WIDTH / 2, y: HEIGHT / 2 }]);
    expect(chartOf(series([])).points).toEqual([]);
  });

  it("finds the point at a place", () => {
    expect([nearest(11, 0), nearest(11, 0.5), nearest(11, 1)]).toEqual([0, 5, 10]);
  });
});

describe("words of a series", () => {
  it("have units", () => {
    expect(valueText(518482, "ns")).toBe("518.5\u2009µs");
    expect(valueText(0.5, "ratio")).toBe("50.0\u2009%");
  });
  it("name the group", () => {
    expect(groupTitle({ model: "a", device: null })).toBe("a");
    expect(groupTitle({ model: null, device: null })).toBe("runs without model and device");
    expect(median([3, 1, 2, 4])).toBe(2.5);
  });
});
