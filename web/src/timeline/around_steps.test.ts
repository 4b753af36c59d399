import { describe, expect, it } from "vitest";
import type { TimelineAnalysis } from "../api/answers_timeline";
import { shiftFor } from "./beside";
import { crumbsAfter } from "./crumbs";
import { differencesOf, differenceText } from "./differences";
import { targetOf } from "./go_to";
import { gapsOf, namedIn } from "./idle";
import { busyText } from "./stage";
import { busyOf, outsideOf, stepFrom, stepsOf, windowOf } from "./steps";

const ORIGIN = 1_623_142_623_460_016_000n;
const at = (ns: number) => ORIGIN + BigInt(ns);
const device = { device: 0, rank: null, busy_ns: 60, window_ns: 100 };

const analysis: TimelineAnalysis = {
  window: { outside: [{ what: "first_step", why: "the host's part", start_ns: at(0), dur_ns: 100 }] },
  steps: {
    count: 3, source: "profiler_step",
    list: [0, 1, 2].map((n) => ({ label: n === 1 ? null : `s${n}`, phase: null, window: `step:${n}`, start_ns: at(100 + n * 100), dur_ns: 100, devices: [device] })),
  },
  devices: [{ device: 0, rank: null, longest_gaps: [{ start_ns: at(120), dur_ns: 30, cause: "host_data", host_span: "loader" }] }],
};

describe("steps", () => {
  const steps = stepsOf(analysis, ORIGIN);
  it("lie on the time line", () => {
    expect(steps.map(({ label, begin, end }) => [label, begin, end])).toEqual([["s0", 100, 200], ["step:1", 200, 300], ["s2", 300, 400]]);
    expect(outsideOf(analysis, ORIGIN)[0]).toMatchObject({ what: "first step", begin: 0, end: 100 });
  });

  it("follow one another from what is seen", () => {
    const from = (begin: number, end: number, way: "next" | "previous") => stepFrom(steps, { begin, end }, way)?.window ?? null;
    expect(from(0, 50, "next")).toBe("step:0");
    expect(from(90, 210, "next")).toBe("step:1");
    expect(from(290, 410, "next")).toBeNull();
    expect(from(190, 310, "previous")).toBe("step:0");
    expect(from(90, 210, "previous")).toBeNull();
    expect(from(450, 550, "previous")).toBe("step:2");
  });

  it("name the window of a file", () => {
    const all = { begin: 0, end: 400 };
    expect(windowOf({ begin: 185.4, end: 315 }, all, 1_700_000_000_000_000_001n)).toBe("ns:1700000000000000186..1700000000000000316");
    expect(windowOf({ begin: -5, end: 400 }, all, 7)).toBe("whole");
  });

  it("align two runs", () => {
    expect(shiftFor(steps[0], { ...(steps[0] as (typeof steps)[0]), begin: 900 })).toBe(-800);
    expect(shiftFor(steps[0], undefined)).toBeNull();
    expect(busyOf(steps[0])).toBe(60);
    expect(busyOf(undefined)).toBeNull();
  });
});

describe("steps beside", () => {
  const step = (begin: number, length: number, label = "step:0") => ({ label, phase: null, window: label, devices: [], begin, end: begin + length });
  it("differ by their length, the largest difference last", () => {
    const list = differencesOf([step(0, 1000), step(1000, 1000), step(2000, 1000), step(3000, 9)], [step(50, 1500), step(1550, 1000), step(2550, 900)]);
    expect(list.map(({ number, begin, more }) => [number, begin, more])).toEqual([[1, 1000, 0], [2, 2000, -100], [0, 0, 500]]);
    const texts = list.map((one) => differenceText(one).replaceAll("\u2009", " "));
    expect(texts[2]).toBe("Step 0: 1.000 µs here, 1.500 µs beside\n▲ +500 ns (+500 ns), 50.0 % slower beside");
    expect(texts[1]).toContain("▼ −100 ns (−100 ns), 10.0 % faster beside");
  });

  it("say how busy each device is, and of which rank it is", () => {
    const text = busyText({ ...step(0, 100), devices: [{ ...device, rank: 3 }, { ...device, rank: 4, window_ns: 0 }] });
    expect(text.replaceAll("\u2009", " ")).toBe("\n60.0 % of it busy on rank 3, device 0");
  });
});

describe("gaps", () => {
  const track = { track: 1, title: "stream 7", process: "GPU 0", kind: "stream", device: 0, stream: 7, rank: null };
  it("have a cause where the analysis names one, for their device alone", () => {
    const gaps = gapsOf(analysis, ORIGIN, new Map([["host_data", "the device waits while the host loads data"]]));
    expect(namedIn(gaps, track, { begin: 110, end: 160 }).map((gap) => gap.words)).toEqual(["the device waits while the host loads data"]);
    expect(namedIn(gaps, { ...track, device: 1 }, { begin: 110, end: 160 })).toEqual([]);
    expect(namedIn(gaps, { ...track, kind: "thread", device: null }, { begin: 110, end: 160 })).toEqual([]);
    expect(namedIn(gaps, track, { begin: 150, end: 160 })).toEqual([]);
    expect(gapsOf(analysis, ORIGIN, new Map())[0]?.words).toBe("host data"); // the words are not read yet
  });
});

describe("breadcrumbs", () => {
  const all = { begin: 0, end: 1000 };
  it("hold the stretches around, the widest first", () => {
    const one = crumbsAfter([], all, { begin: 100, end: 300 });
    const two = crumbsAfter(one, { begin: 100, end: 300 }, { begin: 150, end: 160 });
    expect(two).toEqual([all, { begin: 100, end: 300 }]);
    expect(crumbsAfter(two, { begin: 150, end: 160 }, { begin: 151, end: 161 })).toEqual(two); // moved a little
    expect(crumbsAfter(two, { begin: 150, end: 160 }, { begin: 800, end: 810 })).toEqual([all]); // elsewhere
    expect(crumbsAfter(two, { begin: 150, end: 160 }, all)).toEqual([]);
  });
});

describe("go to", () => {
  it("takes times, times of the tables, and rows", () => {
    expect(targetOf("12.5 ms", ORIGIN)).toEqual({ at: 12_500_000 });
    expect(targetOf("350us", 0)).toEqual({ at: 350_000 });
    expect(targetOf("1\u2009234 ns", 0)).toEqual({ at: 1234 });
    expect(targetOf("1623142623460016005", ORIGIN)).toEqual({ at: 5 });
    expect(targetOf("kernel 123", 0)).toEqual({ table: "kernels", id: 123 });
    expect(targetOf("span 7", 0)).toEqual({ table: "spans", id: 7 });
    expect(targetOf("s7", 0)).toEqual({ table: "spans", id: 7 });
    expect(targetOf("y2", 0)).toEqual({ table: "syncs", id: 2 });
    for (const text of ["", "x 5", "5 hours", "--"]) expect(targetOf(text, 0)).toBeNull();
  });
});
