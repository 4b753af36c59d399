// What of the page is in its address, so that a link restores it: short texts, and only what differs from the usual.

import { stretchOf, viewOf, viewText, type View } from "./view";

/** A stretch of time that is summed up; without rows: all of them. */
export interface Area extends View {
  rows: number[] | null;
}

export type SortedBy = "name" | "count" | "sum" | "union" | "mean" | "min" | "max";
const SORTS: readonly SortedBy[] = ["name", "count", "sum", "union", "mean", "min", "max"];

export interface PageState {
  view: View;
  selected: string; // see item.ts
  area: Area | null;
  by: SortedBy;
  pins: number[]; // rows, the first on top
  shut: number[]; // groups that are collapsed
  rows: string; // only rows with this text
  find: string;
  only: boolean; // spans that are not found are dimmed
  beside: string; // another run
  step: number; // the step that both runs begin with
}

/** Whole numbers as ranges: 3-5.9. */
export function rangesText(numbers: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const one of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && one === last[1] + 1) last[1] = one;
    else parts.push([one, one]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(".");
}

export function readRanges(text: string, most = 4096): number[] {
  const numbers: number[] = [];
  for (const part of text.split(".")) {
    const found = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part);
    if (!found) continue;
    for (let one = Number(found[1]); one <= Number(found[2] ?? found[1]) && numbers.length < most; one++) numbers.push(one);
  }
  return numbers;
}

export function areaText(area: Area): string {
  return `${viewText(area)}${area.rows ? `_${rangesText(area.rows)}` : ""}`;
}

export function readArea(text: string | null): Area | null {
  const found = /^([^_]*)(?:_([\d.-]+))?$/.exec(text ?? "");
  const stretch = stretchOf(found?.[1] ?? null);
  return stretch && { ...stretch, rows: found?.[2] === undefined ? null : readRanges(found[2]) };
}

function readList(text: string | null): number[] {
  return [...new Set((text ?? "").split(".").filter((one) => /^\d{1,7}$/.test(one)).map(Number))];
}

/** With a run beside, the view is as it was written: it may lie where only that run has something, which is not known yet. */
export function readState(search: URLSearchParams, all: View): PageState {
  const by = search.get("by") as SortedBy;
  const beside = search.get("with") ?? "";
  return {
    view: (beside === "" ? null : stretchOf(search.get("at"))) ?? viewOf(search.get("at"), all),
    selected: search.get("sel") ?? "",
    area: readArea(search.get("area")),
    by: SORTS.includes(by) ? by : "sum",
    pins: readList(search.get("pin")),
    shut: readList(search.get("shut")),
    rows: search.get("rows") ?? "",
    find: search.get("find") ?? "",
    only: search.get("only") === "1",
    beside,
    step: Number(/^\d{1,6}$/.exec(search.get("step") ?? "")?.[0] ?? 0),
  };
}

/** The parameters with this state in them; others stay as they are. */
export function writeState(state: PageState, before: URLSearchParams): URLSearchParams {
  const after = new URLSearchParams(before);
  after.delete("gap");
  after.delete("show");
  const put = (name: string, value: string) => (value === "" ? after.delete(name) : after.set(name, value));
  put("at", viewText(state.view));
  put("sel", state.selected);
  put("area", state.area ? areaText(state.area) : "");
  put("by", state.by === "sum" ? "" : state.by);
  put("pin", state.pins.join("."));
  put("shut", state.shut.join("."));
  put("rows", state.rows);
  put("find", state.find);
  put("only", state.only ? "1" : "");
  put("with", state.beside);
  put("step", state.step === 0 ? "" : String(state.step));
  return after;
}
