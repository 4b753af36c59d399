// Arrows op → launch → device work around the selected span.

import type { Span } from "./item";
import type { Linked, Unplaced } from "./records";

export interface Arrow {
  from: Span;
  to: Span;
}

export const MOST_ARROWS = 40;

/** The links that are drawn, each as the pair of its ends; an end that is the selection itself is null. */
export function pairsOf(selected: Span, linked: Linked): [Unplaced | null, Unplaced | null][] {
  if (selected.table !== "spans") {
    const { launch, op } = linked;
    const first: [Unplaced | null, Unplaced | null][] = op && (!launch || op.id !== launch.id) ? [[op, launch]] : [];
    return launch ? [...first, [launch, null]] : first;
  }
  const above: [Unplaced | null, Unplaced | null][] = linked.op ? [[linked.op, null]] : [];
  return [...above, ...linked.work.slice(0, MOST_ARROWS).map((one): [null, Unplaced] => [null, one])];
}

export async function arrowsOf(selected: Span, linked: Linked, place: (one: Unplaced) => Promise<Span | null>): Promise<Arrow[]> {
  const ends = await Promise.all(
    pairsOf(selected, linked).map(async (pair) => await Promise.all(pair.map(async (one) => (one === null ? selected : await place(one))))),
  );
  return ends.flatMap(([from, to]) => (from && to ? [{ from, to }] : []));
}

/** As the page tells it to whoever reads its data. */
export function arrowText({ from, to }: Arrow): string {
  return `${from.table} ${from.id} > ${to.table} ${to.id}`;
}
