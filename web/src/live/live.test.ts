import { describe, expect, it } from "vitest";
import { LOSS_REASONS } from "../format/loss_reasons";
import { TOLD } from "./live.test.data";
import { addressOf, lengthWords, lookOf, lostWords, pictureOf, programOf, sourceOf, stateWords, totalLost } from "./live_data";

describe("what is said of a recording", () => {
  it("names losses by their reason, the most first", () => {
    expect(lostWords({})).toBe("No marker was lost.");
    expect(lostWords({ no_ring: 1, ring_full: 12_345 })).toBe("12\u2009345: the recorder did not keep up; 1: more threads than the memory limit allows.");
    expect(lostWords({ something_new: 2 })).toContain("something new");
    expect(totalLost({ a: 1, b: 2 })).toBe(3);
  });

  it("says when it has ended, and why", () => {
    expect(stateWords(TOLD, 0, false)).toBe("Running.");
    expect(stateWords(TOLD, 1, false)).toContain("catching up");
    expect(stateWords({ ...TOLD, state: "ended" }, 0, false)).toContain("is being imported");
    expect(stateWords({ ...TOLD, state: "ended" }, 0, true)).toContain("No run of it was found");
    expect(stateWords({ ...TOLD, state: "ended", run_id: "ab" }, 0, false)).toBe("The program has ended.");
    expect(stateWords({ ...TOLD, state: "ended", why: "The file was cut." }, 0, true)).toBe("The file was cut.");
  });

  it("names the program without what records it", () => {
    expect(programOf("neurolens record --live -- python serve.py -- x")).toBe("python serve.py -- x");
    expect(programOf("neurolens record")).toBe("neurolens record");
  });

  it("has rows as a time line has them", () => {
    const source = sourceOf({ ...TOLD, rows: [{ row: 3, track: 1, depth: 2, lane: 0, spans: 4 }] });
    expect(source.data.rows).toEqual([{ row: 3, track: 1, depth: 2, lane: 0, spans: 4, busy_ns: 0 }]);
    expect(pictureOf(TOLD)).toBeNull();
  });
});

describe("why markers are lost", () => {
  it("has words for every reason that the recorder knows", () => {
    const header = Object.values(import.meta.glob<string>("../../../src/wire/record.h", { query: "?raw", import: "default", eager: true }))[0] as string;
    const names = /kLossNames\[kLossCount\] = \{([^}]*)\}/.exec(header)?.[1]?.match(/\w+/g) as string[];
    expect(names.length).toBeGreaterThan(10);
    expect(Object.keys(LOSS_REASONS).sort()).toEqual([...names].sort());
  });
});

describe("the address", () => {
  const read = (text: string) => lookOf(new URLSearchParams(text));
  const written = (text: string) => new URLSearchParams(Object.entries(addressOf(read(text))).filter((one): one is [string, string] => one[1] !== null)).toString();

  it("restores what was looked at", () => {
    expect(read("")).toEqual({ keep: 30, span: 10e9, rest: null });
    for (const text of ["", "keep=300", "keep=60&span=2000000000", "rest=1000-5000"]) expect(written(text)).toBe(text);
  });

  it("takes nothing that cannot be", () => {
    expect(read("keep=7&span=-1&rest=5-1")).toEqual({ keep: 30, span: 10e9, rest: null });
    expect(read("span=1e99").span).toBe(300e9);
    expect(read("span=x&keep=1e9")).toEqual({ keep: 30, span: 10e9, rest: null });
  });
});

describe("a length in words", () => {
  it("has no zeros at its end", () => {
    expect([10e9, 1.5e9, 300e9, 8.235e9, 100e6, 5].map(lengthWords)).toEqual(["10 s", "1.5 s", "300 s", "8.235 s", "100 ms", "5 ns"].map((one) => one.replace(" ", "\u2009")));
  });
});
