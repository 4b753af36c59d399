// What of the time line is seen: pure arithmetic, so that every key and every wheel turn is a function of the view before.

export interface View {
  begin: number; // ns from the origin
  end: number;
}

const SHORTEST = 20; // ns: below this a pixel is less than a nanosecond

export function spanOf(view: View): number {
  return view.end - view.begin;
}

/** The most that can be seen of a run: with the room of `around`. */
function longestOf(all: View): number {
  return spanOf(all) + 2 * roomOf(spanOf(all));
}

function roomOf(length: number): number {
  return Math.max(length * 0.15, SHORTEST);
}

/** Zooms by a factor around a place of 0 to 1 that stays where it is. */
export function zoomed(view: View, factor: number, place: number, all: View): View {
  const span = Math.min(Math.max(spanOf(view) * factor, SHORTEST), longestOf(all));
  const fixed = view.begin + spanOf(view) * place;
  return kept({ begin: fixed - span * place, end: fixed + span * (1 - place) }, all);
}

/** Moves by a share of what is seen. */
export function moved(view: View, share: number, all: View): View {
  const by = spanOf(view) * share;
  return kept({ begin: view.begin + by, end: view.end + by }, all);
}

/** Some of the run always stays in sight. */
export function kept(view: View, all: View): View {
  const span = spanOf(view);
  const room = span * 0.9;
  const begin = Math.min(Math.max(view.begin, all.begin - room), all.end - span + room);
  return { begin, end: begin + span };
}

/** A view from elsewhere, as short and as near to the run as one that was made here. */
export function fitted(view: View, all: View): View {
  const tooLong = Math.max(0, spanOf(view) - longestOf(all)) / 2;
  return kept({ begin: view.begin + tooLong, end: view.end - tooLong }, all);
}

/** A stretch with some room on both sides. */
export function around(begin: number, end: number, all: View): View {
  const room = roomOf(end - begin);
  return fitted({ begin: begin - room, end: end + room }, all);
}

/** The view, moved so that a stretch is seen, and zoomed only if the stretch would be too short to see or does not fit. */
export function showing(view: View, begin: number, end: number, width: number, all: View): View {
  const length = end - begin;
  const pixels = (length / spanOf(view)) * width;
  if (pixels > width * 0.9) return around(begin, end, all);
  const span = length > 0 && pixels < 3 ? Math.max(SHORTEST, (length * width) / 40) : spanOf(view);
  if (span === spanOf(view) && view.begin <= begin && end <= view.end) return view;
  const middle = (begin + end) / 2;
  return kept({ begin: middle - span / 2, end: middle + span / 2 }, all);
}

export function shifted(view: View, by: number): View {
  return { begin: view.begin + by, end: view.end + by };
}

export function isSame(a: View, b: View): boolean {
  return Math.round(a.begin) === Math.round(b.begin) && Math.round(a.end) === Math.round(b.end);
}

export function pixelOf(view: View, ns: number, width: number): number {
  return ((ns - view.begin) / spanOf(view)) * width;
}

export function timeAt(view: View, pixel: number, width: number): number {
  return view.begin + (pixel / width) * spanOf(view);
}

/** A round distance of 1, 2 or 5 for about so many marks on the axis. */
export function markStep(view: View, count: number): number {
  const rough = spanOf(view) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power;
}

/** A time with as many digits as it takes to tell it from one that is a step away. */
export function timeText(ns: number, step: number): string {
  const [unit, name] = ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const).find(([size]) => Math.abs(ns) >= size) ?? [1, "ns"];
  const places = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / Math.max(1, step)) - 1e-9)));
  return `${(ns / unit).toFixed(places)}\u2009${name}`;
}

export function marks(view: View, count: number): number[] {
  const step = markStep(view, count);
  const list: number[] = [];
  for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) list.push(at);
  return list;
}

export function viewText(view: View): string {
  return `${Math.round(view.begin)}-${Math.round(view.end)}`;
}

/** Fingers, as shares of the width: the times that were under them stay under them. */
export function pinched(view: View, from: readonly [number, number], to: readonly [number, number], all: View): View {
  const apart = Math.abs(from[1] - from[0]) / Math.max(Math.abs(to[1] - to[0]), 0.001);
  const [middle, after] = [(from[0] + from[1]) / 2, (to[0] + to[1]) / 2];
  const zoomedOnly = zoomed(view, apart, middle, all);
  return moved(zoomedOnly, middle - after, all);
}

/** A stretch as an address has it; null if it is none, or so long that its ends are not exact. */
export function stretchOf(text: string | null): View | null {
  const found = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
  const [begin, end] = [Number(found?.[1]), Number(found?.[2])];
  return Number.isSafeInteger(begin) && Number.isSafeInteger(end) && end > begin ? { begin, end } : null;
}

export function viewOf(text: string | null, all: View): View {
  const stretch = stretchOf(text);
  return stretch ? fitted(stretch, all) : all;
}
