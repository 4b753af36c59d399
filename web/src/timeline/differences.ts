// How the steps of a run beside differ from those of the same number here.

import { shown } from "../format/names";
import { duration, grouped, percent, signedDuration } from "../format/numbers";
import type { Step } from "./steps";
import type { View } from "./view";

/** It lies where the step lies in the run of the page. */
export interface Difference extends View {
  number: number;
  label: string;
  beside: number; // ns: length of the step in the run beside
  more: number; // ns: below 0 the run beside is faster
}

/** The largest comes last: it is drawn above the others where a pixel has several. */
export function differencesOf(own: readonly Step[], beside: readonly Step[]): Difference[] {
  const list = own.slice(0, beside.length).map(({ begin, end, label }, number): Difference => {
    const other = beside[number] as Step;
    const length = other.end - other.begin;
    return { begin, end, number, label, beside: length, more: length - (end - begin) };
  });
  return list.sort((a, b) => Math.abs(a.more) - Math.abs(b.more) || a.number - b.number);
}

export function differenceText({ begin, end, number, label, beside, more }: Difference): string {
  const own = end - begin;
  const sign = more > 0 ? "+" : more < 0 ? "−" : "";
  const share = more === 0 || own === 0 ? "" : `, ${percent(Math.abs(more) / own)} ${more > 0 ? "slower" : "faster"}`;
  const name = label === `step:${number}` ? "" : `, ${shown(label, 80)}`;
  return `Step ${number}${name}: ${duration(own)} here, ${duration(beside)} beside\n${signedDuration(more)} (${sign}${grouped(Math.abs(more))} ns)${share} beside`;
}
