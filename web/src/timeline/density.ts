// How busy a run is, from begin to end: for each piece of time the share that the busiest stream, and the busiest thread, is busy.

import type { Source } from "./lines";
import { askTile } from "./tile_store";
import { levelFor, TILE_BUCKETS, tableOf, tilesOf, type Tile } from "./tiles";

const PIECES = 700;
const MOST_ROWS = 128;

export interface Density {
  begin: number;
  step: number;
  device: Float32Array | null; // null: the run has no streams
  host: Float32Array | null;
}

export async function densityOf(source: Source, signal?: AbortSignal): Promise<Density> {
  const { data } = source;
  const level = levelFor((data.end_ns - data.begin_ns) / PIECES);
  const kinds = new Map(data.tracks.map((track) => [track.track, track.kind]));
  const tops = data.rows.filter((row) => row.depth === 0);
  const rowsOf = (isStream: boolean) => tops.filter((row) => (kinds.get(row.track) === "stream") === isStream).slice(0, MOST_ROWS).map((row) => row.row);
  const [streams, threads] = [rowsOf(true), rowsOf(false)];
  const numbers = tilesOf(level, data.begin_ns, data.end_ns);
  const tiles = await Promise.all(numbers.map((number) => askTile(source.id, level, number, [...streams, ...threads], signal)));
  const shares = (rows: number[], isWork: boolean) => (rows.length === 0 ? null : busiest(tiles, rows, isWork));
  return { begin: (tiles[0] as Tile).begin, step: 2 ** level, device: shares(streams, true), host: shares(threads, false) };
}

/** Of a stream only device work counts, not its annotations. */
export function busiest(tiles: readonly Tile[], rows: readonly number[], isWork: boolean): Float32Array {
  const shares = new Float32Array(tiles.length * TILE_BUCKETS);
  tiles.forEach((tile, n) => {
    for (const row of rows) {
      const range = tile.rows.get(row);
      for (let i = range?.from ?? 0; i < (range?.to ?? 0); i++) {
        if (isWork && tableOf(tile.item[i] as number) === "spans") continue;
        const buckets = tile.buckets[i] as number;
        const share = Math.min(1, (tile.busy[i] as number) / (buckets * 2 ** tile.level));
        for (let b = 0; b < buckets; b++) {
          const at = n * TILE_BUCKETS + (tile.bucket[i] as number) + b;
          if (share > (shares[at] as number)) shares[at] = share;
        }
      }
    }
  });
  return shares;
}
