import { describe, expect, it } from "vitest";
import type { TimelineRows } from "../api/answers";
import { groupText } from "./device_work";
import { groupsOf, linesOf, movedPin, numberOf, pinOf, rowOfLine, toggled, workRows, type Line } from "./lines";
import { pinsOfTitles, titlesAfter } from "./pins";

function run(ranks: (number | null)[]): TimelineRows {
  const tracks = ranks.flatMap((rank, n) => [
    { track: n * 2, title: "thread 1", process: rank === null ? "python" : `python (rank ${rank})`, kind: "thread", device: null, stream: null, rank },
    { track: n * 2 + 1, title: "stream 7 ", process: rank === null ? "GPU 0" : `GPU ${rank} (rank ${rank})`, kind: "stream", device: rank ?? 0, stream: 7, rank },
  ]);
  const rows = tracks.flatMap((track, n) => [
    { row: n * 2, track: track.track, depth: 0, lane: 0, spans: 10, busy_ns: 100 * (n + 1) },
    { row: n * 2 + 1, track: track.track, depth: 1, lane: 0, spans: 5, busy_ns: 50 },
  ]);
  return { run_id: "r", origin_ns: 0, begin_ns: 0, end_ns: 1000, spans: 30, not_placed: 0, tracks, rows };
}

const none = { pins: [], shut: [], filter: "" };
const texts = (lines: Line[]) => lines.map((line) => (line.kind === "group" ? `[${line.group.title}]` : `${line.source}/${numberOf(line)}`));

describe("lines", () => {
  it("are grouped by process, devices first", () => {
    const groups = groupsOf([{ id: "r", data: run([null]), shift: 0 }]);
    expect(texts(linesOf(groups, none))).toEqual(["[GPU 0]", "0/2", "0/3", "[python]", "0/0", "0/1"]);
    const sums = groups.map((group) => groupText(group, new Map([[1, { count: 9, sum: 200 }]])));
    expect(sums).toEqual(["1 stream, 15 spans, 9 kernels and copies, 200\u2009ns in sum", "1 thread, 15 spans"]);
  });

  it("are grouped by rank where there are several", () => {
    const groups = groupsOf([{ id: "r", data: run([1, 0]), shift: 0 }]);
    expect(groups.map((group) => group.title)).toEqual(["rank 0", "rank 1"]);
    expect(texts(linesOf(groups, none)).slice(0, 3)).toEqual(["[rank 0]", "0/6", "0/7"]);
  });

  it("know the row of a stream's work, beside one of annotations", () => {
    const data = run([null]);
    const rows = data.rows.map((row) => (row.row === 3 ? { ...row, depth: 0, lane: 1, spans: 99 } : row));
    expect([...workRows([{ id: "r", data: { ...data, rows }, shift: 0 }])]).toEqual(["0/3"]);
  });

  it("fold, and a folded group shows its fullest stream", () => {
    const lines = linesOf(groupsOf([{ id: "r", data: run([null]), shift: 0 }]), { ...none, shut: [0] });
    expect(texts(lines)).toEqual(["[GPU 0]", "[python]", "0/0", "0/1"]);
    expect(rowOfLine(lines[0] as Line)?.row).toBe(2);
    expect(rowOfLine(lines[1] as Line)).toBeNull();
  });

  it("are filtered by text, and pinned rows stay on top in their order", () => {
    const groups = groupsOf([{ id: "r", data: run([null]), shift: 0 }]);
    expect(texts(linesOf(groups, { pins: [1, 2, 99], shut: [], filter: "STREAM" }))).toEqual(["0/1", "0/2", "[GPU 0]", "0/2", "0/3"]);
  });

  it("are found by words in any order, else by letters in order", () => {
    const groups = groupsOf([{ id: "r", data: run([null]), shift: 0 }]);
    const found = (filter: string) => texts(linesOf(groups, { ...none, filter }));
    expect(found("7 gpu")).toEqual(["[GPU 0]", "0/2", "0/3"]);
    expect(found("gp0s7")).toEqual(["[GPU 0]", "0/2", "0/3"]);
    expect(found("depth")).toEqual(["[GPU 0]", "0/3", "[python]", "0/1"]);
    expect(found("7s0pg")).toEqual([]);
  });

  it("that were pinned are pinned again in a run that has them", () => {
    const [data, ranks] = [run([null]), run([0, 1])];
    const titles = titlesAfter([], [2, 0, pinOf(1, 2), 99], data);
    expect(titles).toEqual(["GPU 0 / stream 7", "python / thread 1"]);
    expect(pinsOfTitles(titles, data)).toEqual([2, 0]);
    expect(pinsOfTitles(titles, ranks)).toEqual([]);
    expect(titlesAfter(titles, [2], ranks)).toEqual(["GPU 0 (rank 0) / stream 7", ...titles]);
    expect(titlesAfter(titles, [], data)).toEqual([]);
  });

  it("of a second run come below, with pins of their own", () => {
    const data = run([null]);
    const groups = groupsOf([{ id: "r", data, shift: 0 }, { id: "q", data, shift: 5 }]);
    expect(groups.map((group) => group.number)).toEqual([0, 1, 2, 3]);
    expect(texts(linesOf(groups, { ...none, pins: [pinOf(1, 2)] }))[0]).toBe("1/2");
  });

  it("change places and are pinned by turns", () => {
    expect(movedPin([1, 2, 3], 3, -1)).toEqual([1, 3, 2]);
    expect(movedPin([1, 2, 3], 1, -1)).toEqual([1, 2, 3]);
    expect(toggled(toggled([], 4), 4)).toEqual([]);
  });
});
