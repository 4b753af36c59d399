// Where the lines of the picture lie: most are as high as a row, a counter is twice as high.

import type { Line } from "./lines";

export const CROWDED = 80; // lines

export function rowHeightFor(lines: number): number {
  return lines > CROWDED ? 12 : 18;
}

/** The upper edge of each line, and the end of the last. */
export function topsOf(lines: readonly Line[], rowHeight: number): number[] {
  const tops = [0];
  for (const line of lines) tops.push((tops.at(-1) as number) + (line.kind === "extra" && line.extra.kind === "series" ? 2 : 1) * rowHeight);
  return tops;
}

/** The line at a height; below the last one there is none: the number of lines. */
export function lineAt(tops: readonly number[], y: number): number {
  let [low, high] = [0, tops.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tops[middle + 1] as number) <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}
