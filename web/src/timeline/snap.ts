// Edges that a measurement snaps to.

import type { Pick } from "./tile_store";

/** The nearest edge of the drawn spans of a row; null if none is within reach. */
export function nearestEdge(picks: readonly Pick[], row: number, ns: number, reach: number): number | null {
  let best: number | null = null;
  const offer = (edge: number) => {
    if (Math.abs(edge - ns) <= reach && (best === null || Math.abs(edge - ns) < Math.abs(best - ns))) best = edge;
  };
  for (const { tile } of picks) {
    const range = tile.rows.get(row);
    if (!range) continue;
    for (let i = range.from; i < range.to; i++) {
      const start = tile.begin + (tile.start[i] as number);
      offer(start);
      offer(start + (tile.length[i] as number));
    }
  }
  return best;
}
