// What extra rows say in words: values with their unit, and stacks.

import { shown } from "../format/names";
import { duration, grouped, percent } from "../format/numbers";
import { inUnit } from "../pages/run/parts";
import { rate } from "../pages/run/plot";
import type { SeriesRow } from "./extras";
import type { ExtraLine } from "./lines";
import { rangeIn, valueAt, type Point } from "./series";
import { sliceAt, type Slice } from "./stacks";
import type { ExtraData } from "./use_extras";
import type { View } from "./view";

const MOST_FRAMES = 12;

export function valueText(value: number, unit: string): string {
  return unit === "Hz" ? rate(value, unit) : inUnit(value, unit);
}

/** The unit is said once if it is the same. */
export function between({ low, high }: { low: number; high: number }, unit: string): string {
  if (low === high) return valueText(low, unit);
  const [from, to] = [valueText(low, unit), valueText(high, unit)];
  const shared = /\u2009[^\d\u2009]+$/.exec(to)?.[0] ?? "";
  return `${shared !== "" && from.endsWith(shared) ? from.slice(0, -shared.length) : from} to ${to}`;
}

/** From the smallest to the largest value in the view, and the value at the mark. */
export function seriesRange(one: SeriesRow, points: readonly Point[], view: View, mark: number | null): string {
  if (!one.isKnown) return "— no sample has a value";
  const range = rangeIn(points, view);
  const at = mark === null ? null : valueAt(points, mark);
  return `${range ? between(range, one.unit) : "— no sample here"}${at ? `; ${between(at, one.unit)} at the mark` : ""}`;
}

/** What is under the cursor. */
export function extraHint({ extra, title }: ExtraLine, at: number, data: ExtraData | undefined): string {
  if (extra.kind === "stacks") return stackHint(sliceAt(data?.slices.get(extra.track.track) ?? [], at));
  const value = valueAt(data?.points.get(extra.row) ?? [], at);
  return `${shown(title, 120)}\n${value ? between(value, extra.unit) : "— no value is known here"}\nat ${duration(at)}`;
}

function stackHint(slice: Slice | null): string {
  if (!slice) return "";
  const frames = slice.stack.slice(-MOST_FRAMES);
  const isCut = slice.isCut || frames.length < slice.stack.length;
  const lines = frames.map((frame) => shown(frame, 80));
  const many = `${grouped(slice.samples)} ${slice.samples === 1 ? "sample" : "samples"}`;
  return `${shown(slice.leaf, 120)}\n${percent(slice.share)} of ${many} here\n${isCut ? "…\n" : ""}${lines.join("\n")}`;
}
