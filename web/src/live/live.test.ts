import { describe, expect, it } from "vitest";
import { lostWords, pictureOf, programOf, sourceOf, stateWords, totalLost, type Live } from "./live_data";
import { questionOf } from "./use_live";

const DATA: Live = {
  recording: "1-a", command: "neurolens record", state: "running", why: "", run_id: null, started_at_ns: 1n, now_ns: 5e9, newest_ns: 4.9e9, keep_ns: 30e9,
  totals: { recorded: 10, followed: 5, kept: 3, left: 2, open: 1, skipped: 0 }, lost: {}, behind_bytes: 0, missed_segments: 0, rate_per_s: 2, names_ns: 10e9,
  names: [], tracks: [], rows: [],
};

describe("what is said of a recording", () => {
  it("names losses by their reason, the most first", () => {
    expect(lostWords({})).toBe("No marker was lost.");
    expect(lostWords({ no_ring: 1, ring_full: 12_345 })).toBe("12\u2009345: the recorder did not keep up; 1: more threads than the memory limit allows.");
    expect(lostWords({ something_new: 2 })).toContain("something new");
    expect(totalLost({ a: 1, b: 2 })).toBe(3);
  });

  it("says when it has ended, and why", () => {
    expect(stateWords(DATA)).toBe("Running.");
    expect(stateWords({ ...DATA, behind_bytes: 1 })).toContain("catching up");
    expect(stateWords({ ...DATA, state: "ended" })).toContain("is being imported");
    expect(stateWords({ ...DATA, state: "ended", run_id: "ab" })).toBe("The program has ended.");
    expect(stateWords({ ...DATA, state: "ended", why: "The file was cut." })).toBe("The file was cut.");
  });

  it("names the program without what records it", () => {
    expect(programOf("neurolens record --live -- python serve.py -- x")).toBe("python serve.py -- x");
    expect(programOf("neurolens record")).toBe("neurolens record");
  });

  it("has rows as a time line has them", () => {
    const source = sourceOf({ ...DATA, rows: [{ row: 3, track: 1, depth: 2, lane: 0, spans: 4 }] });
    expect(source.data.rows).toEqual([{ row: 3, track: 1, depth: 2, lane: 0, spans: 4, busy_ns: 0 }]);
    expect(pictureOf(DATA)).toBeNull();
  });
});

describe("what is asked for", () => {
  const wanted = { keep: 30, span: 10e9, rest: null, width: 800 };

  it("is the newest stretch while it is followed", () => {
    expect(questionOf("1-a", wanted, null)).toEqual({ recording: "1-a", keep: 30, top: 12, picture: true, width: 800, span_ns: 10e9 });
  });

  it("is a stretch that rests once, and then only the figures", () => {
    const rest = { begin: 1e9, end: 3e9 };
    expect(questionOf("1-a", { ...wanted, rest }, null)).toMatchObject({ picture: true, span_ns: 2e9, end_ns: 3e9 });
    expect(questionOf("1-a", { ...wanted, rest }, { begin: 1e9, end: 3e9 })).toEqual({ recording: "1-a", keep: 30, top: 12 });
    expect(questionOf("1-a", { ...wanted, rest }, { begin: 1e9, end: 4e9 })).toMatchObject({ picture: true });
  });

  it("is no picture before there is room for one", () => {
    expect(questionOf("1-a", { ...wanted, width: 0 }, null)).toEqual({ recording: "1-a", keep: 30, top: 12 });
  });
});
