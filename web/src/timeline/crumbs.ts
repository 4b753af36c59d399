// Breadcrumbs of zoom: the stretches around what is seen, the widest first.

import { spanOf, type View } from "./view";

const STEP = 3; // a crumb is at least so many times as long as the next
const MOST = 6;

export function holds(outer: View, inner: View): boolean {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/** The crumbs when the view rests at `now`; `before` is where it rested last. */
export function crumbsAfter(crumbs: readonly View[], before: View, now: View): View[] {
  const around = [...crumbs, before].filter((one) => holds(one, now) && spanOf(one) >= STEP * spanOf(now));
  const kept: View[] = [];
  for (const one of around.sort((a, b) => spanOf(b) - spanOf(a))) {
    const last = kept.at(-1);
    if (!last || (holds(last, one) && spanOf(last) >= STEP * spanOf(one))) kept.push(one);
  }
  return kept.slice(-MOST);
}
