import { describe, expect, it } from "vitest";
import { readSelected, selectedText } from "./item";
import { areaText, rangesText, readArea, readRanges, readState, writeState, type PageState } from "./page_state";

const all = { begin: 0, end: 1_000_000 };

describe("the address of the page", () => {
  const state: PageState = {
    view: { begin: 10, end: 500 }, selected: "k5000", area: { begin: -5, end: 90, rows: [1, 2, 3, 9] }, by: "max", pins: [7, 2], shut: [0, 4],
    rows: "stream 7", find: "gemm & <b>", only: true, beside: "abc", step: 3,
  };

  it("restores all of it", () => {
    const text = writeState(state, new URLSearchParams()).toString();
    expect(readState(new URLSearchParams(text), all)).toEqual(state);
    expect(text).toContain("area=-5-90_1-3.9");
  });

  it("is short where nothing was chosen, and keeps what is not ours", () => {
    const usual: PageState = { ...state, selected: "", area: null, by: "sum", pins: [], shut: [], rows: "", find: "", only: false, beside: "", step: 0 };
    expect(writeState(usual, new URLSearchParams("x=1&gap=5-6&pin=3")).toString()).toBe("x=1&at=10-500");
  });

  it("may hold nonsense", () => {
    const read = readState(new URLSearchParams("at=z&area=9-1&by=colour&pin=a.-1.5.5&shut=99999999999&step=-1&only=yes"), all);
    expect(read).toMatchObject({ view: all, area: null, by: "sum", pins: [5], shut: [], step: 0, only: false });
    for (const text of ["", "1", "5-5", "1-2_x", null]) expect(readArea(text)).toBeNull();
  });

  it("leaves the view as it was where another run is beside, which may be longer", () => {
    const view = (text: string) => readState(new URLSearchParams(text), all).view;
    expect(view("at=3000000-4000000&with=abc")).toEqual({ begin: 3_000_000, end: 4_000_000 });
    expect(view("at=3000000-4000000").begin).toBeLessThan(1_000_000);
    expect(view("at=0-99999999999999999999999&with=abc")).toEqual(all);
    expect(readArea("0-99999999999999999999999")).toBeNull();
  });

  it("writes lists of rows as ranges", () => {
    expect(rangesText([9, 1, 2, 3])).toBe("1-3.9");
    expect(readRanges("1-3.9.z.")).toEqual([1, 2, 3, 9]);
    expect(readRanges("0-9999999").length).toBe(4096);
    expect(readArea(areaText({ begin: 1.4, end: 99.6, rows: null }))).toEqual({ begin: 1, end: 100, rows: null });
  });

  it("names spans and gaps of both runs", () => {
    const span = { kind: "span", source: 1, row: 4, table: "copies", id: 12, name: "x", start: 1, length: 2 } as const;
    expect(readSelected(selectedText(span))).toEqual({ source: 1, table: "copies", id: 12 });
    expect(selectedText({ ...span, source: 0, table: "kernels" })).toBe("k12");
    expect(readSelected(selectedText({ kind: "gap", source: 0, row: 4, start: 100, length: 50 }))).toEqual({ source: 0, row: 4, at: 125 });
    for (const text of [null, "", "z1", "k", "kk1", "g5", "3k1"]) expect(readSelected(text)).toBeNull();
  });
});
