// What of the time line is seen: pure arithmetic, so that every key and every wheel turn is a function of the view before.

export interface View {
  begin: number; // ns from the origin
  end: number;
}

const SHORTEST = 20; // ns: below this a pixel is less than a nanosecond

export function spanOf(view: View): number {
  return view.end - view.begin;
}

/** Zooms by a factor around a place of 0 to 1 that stays where it is. */
export function zoomed(view: View, factor: number, place: number, all: View): View {
  const longest = spanOf(all) * 1.2;
  const span = Math.min(Math.max(spanOf(view) * factor, SHORTEST), Math.max(longest, SHORTEST));
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

/** A stretch with some room on both sides. */
export function around(begin: number, end: number, all: View): View {
  const room = Math.max((end - begin) * 0.15, SHORTEST);
  return kept({ begin: begin - room, end: end + room }, all);
}

export function pixelOf(view: View, ns: number, width: number): number {
  return ((ns - view.begin) / spanOf(view)) * width;
}

export function timeAt(view: View, pixel: number, width: number): number {
  return view.begin + (pixel / width) * spanOf(view);
}

/** Round distances of 1, 2 or 5 for about so many marks on the axis. */
export function marks(view: View, count: number): number[] {
  const rough = spanOf(view) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power;
  const list: number[] = [];
  for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) list.push(at);
  return list;
}

export function viewText(view: View): string {
  return `${Math.round(view.begin)}-${Math.round(view.end)}`;
}

export function viewOf(text: string | null, all: View): View {
  const found = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
  const view = found ? { begin: Number(found[1]), end: Number(found[2]) } : all;
  return view.end > view.begin ? kept(view, all) : all;
}
