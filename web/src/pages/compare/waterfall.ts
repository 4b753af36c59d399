// A waterfall: from the base to the new side in steps that add up, and the stretch of the axis that shows them.

import type { Part } from "../../api/answers_pages";

export interface Stair {
  words: string;
  part: Part | null; // null: what the parts do not explain
  from: number;
  to: number;
}

export function stairs(parts: Part[], base: number, end: number): Stair[] {
  let at = base;
  const list: Stair[] = parts.map((part) => {
    const from = at;
    at += part.delta_ns;
    return { words: part.words, part, from, to: at };
  });
  if (at !== end) list.push({ words: "not explained by the parts", part: null, from: at, to: end });
  return list;
}

/** From zero, unless the steps are small against the total: then from just below the lowest level. */
export function axisOf(list: Stair[], base: number, end: number): { begin: number; end: number } {
  const levels = [base, end, ...list.flatMap((one) => [one.from, one.to])];
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const margin = (high - low) * 0.08;
  const begin = low > 0 && high - low < 0.5 * high && high > low ? Math.max(0, low - margin) : Math.min(0, low);
  return { begin, end: Math.max(high, begin + 1) };
}

/** The times of both sides in one unit of the window: totals of the answer are over all units. */
export function sidesOf(parts: Part[], delta: number): { base: number; end: number } {
  const base = parts.reduce((sum, part) => sum + part.base_ns, 0);
  return { base, end: base + delta };
}

export interface Share {
  kind: string;
  ns: number;
}

/** The times of one side by kind, in a fixed order. */
export function byKind(parts: Part[], side: "base_ns" | "new_ns"): Share[] {
  const order = ["compute", "communication", "copy", "idle"];
  const sums = new Map<string, number>();
  for (const part of parts) sums.set(part.kind, (sums.get(part.kind) ?? 0) + part[side]);
  const place = (kind: string) => (order.includes(kind) ? order.indexOf(kind) : order.length);
  return [...sums].map(([kind, ns]) => ({ kind, ns })).filter((one) => one.ns > 0).sort((a, b) => place(a.kind) - place(b.kind));
}
