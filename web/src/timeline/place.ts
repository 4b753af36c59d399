// Finds places on the time line: the row that a record lies on, which the finest tile at its start says exactly, and the ends of a gap.

import type { Source } from "./lines";
import type { Gap, Span } from "./item";
import { endOf, nextOf, previousOf, startOf, type AskTile } from "./neighbours";
import { recordSql, select, unplaced, type Unplaced } from "./records";
import { askTile } from "./tile_store";
import { idOf, TILE_BUCKETS, tableOf, type Table, type Tile } from "./tiles";

const MOST_ROWS = 512; // of a tile

export function rowWith(tile: Tile, table: Table, id: number): number | null {
  for (const [row, range] of tile.rows)
    for (let i = range.from; i < range.to; i++) {
      const item = tile.item[i] as number;
      if (idOf(item) === id && tableOf(item) === table) return row;
    }
  return null;
}

/** Null if it is on no row. */
export async function placed(source: Source, number: number, one: Unplaced, signal?: AbortSignal): Promise<Span | null> {
  const rows = source.data.rows.filter((row) => row.track === one.track).map((row) => row.row);
  const row =
    rows.length === 1
      ? (rows[0] as number)
      : rowWith(await askTile(source.id, 0, Math.floor(one.start / TILE_BUCKETS), rows.slice(0, MOST_ROWS), signal), one.table, one.id);
  return row === null ? null : { kind: "span", source: number, row, table: one.table, id: one.id, name: one.name, start: one.start, length: one.length };
}

export async function located(source: Source, number: number, table: Table, id: number, signal?: AbortSignal): Promise<Span | null> {
  const [row] = await select(source.id, recordSql(table, id), signal);
  const found = row ? unplaced(table, row, source.data.origin_ns) : null;
  return found ? placed(source, number, found, signal) : null;
}

/** Asks for tiles of one row. */
export function rowAsker(source: Source, row: number): AskTile {
  return (level, tile) => askTile(source.id, level, tile, [row]);
}

/** The gap of a row around a time that no span covers. */
export async function gapAt(source: Source, number: number, row: number, at: number): Promise<Gap | null> {
  const askRow = rowAsker(source, row);
  const [before, after] = await Promise.all([previousOf(askRow, row, at), nextOf(askRow, row, at)]);
  const start = before ? endOf(before) : source.data.begin_ns;
  const end = after ? startOf(after) : source.data.end_ns;
  return end > start ? { kind: "gap", source: number, row, start, length: end - start } : null;
}
