// Tiles that were fetched, and the fetching of what is missing. The old resolution stays, stretched, until the new one is there.

import { askBytes } from "../api/ask";
import { OFFLINE } from "../offline/mode";
import { recordedTile } from "../offline/recorded";
import { TILE_BUCKETS, tileKey, tilesOf, unpack, type Tile } from "./tiles";
import type { View } from "./view";

const ROWS_OF_A_GROUP = 32;
const MOST_BYTES = 64_000_000;
const COARSEST = 50;
const FINER = 3; // levels below that are looked through when nothing coarser is there

/** A tile, and the stretch that it is drawn for: picks of one answer do not overlap. */
export interface Pick {
  tile: Tile;
  begin: number;
  end: number;
}

export async function askTile(run: string, level: number, tile: number, rows: readonly number[], signal?: AbortSignal): Promise<Tile> {
  if (OFFLINE) return await recordedTile(run, level, tile, rows);
  return unpack(await askBytes("timeline", { run, what: "tile", level, tile, rows, page: "packed" }, signal));
}

export class TileStore {
  private readonly tiles = new Map<string, Tile>();
  private readonly asked = new Map<string, AbortController>();
  private readonly refused = new Set<string>(); // not asked for again until someone says so: else a server that is gone is asked for ever
  private bytes = 0;

  constructor(
    private readonly run: string,
    private readonly rows: number,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
    private readonly fetchTile: typeof askTile = askTile,
    private readonly mostBytes = MOST_BYTES,
  ) {}

  groupOf(row: number): number {
    return Math.floor(row / ROWS_OF_A_GROUP);
  }

  get keptBytes(): number {
    return this.bytes;
  }

  get isWaiting(): boolean {
    return this.asked.size > 0;
  }

  /** Asks for what these rows need, then for a bit on both sides, and stops asking for what nobody looks at any more. */
  want(level: number, view: View, rows: readonly number[]): void {
    const groups = new Set(rows.map((row) => this.groupOf(row)));
    const keysOf = (begin: number, end: number) => tilesOf(level, begin, end).flatMap((tile) => [...groups].map((group) => tileKey(level, tile, group)));
    const needed = keysOf(view.begin, view.end);
    const room = (view.end - view.begin) / 2;
    const wanted = new Set(needed.every((key) => this.tiles.has(key)) ? keysOf(view.begin - room, view.end + room) : needed);
    for (const [key, controller] of this.asked)
      if (!wanted.has(key)) {
        controller.abort();
        this.asked.delete(key);
      }
    for (const key of wanted) {
      const tile = this.tiles.get(key);
      if (tile) this.touch(key, tile);
      else if (!this.asked.has(key) && !this.refused.has(key)) void this.fetch(key);
    }
  }

  /** What failed is asked for again when it is wanted next. */
  retry(): void {
    this.refused.clear();
  }

  stop(): void {
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
  }

  /** What to draw the rows of a group with: tiles of this level where they are there, else stretched ones of another. */
  picks(group: number, level: number, view: View): Pick[] {
    return tilesOf(level, view.begin, view.end).flatMap((number) => this.pick(group, level, number));
  }

  private pick(group: number, level: number, number: number): Pick[] {
    const width = TILE_BUCKETS * 2 ** level;
    const begin = number * width;
    for (let coarser = level; coarser <= COARSEST; coarser++) {
      const tile = this.tiles.get(tileKey(coarser, Math.floor(number / 2 ** (coarser - level)), group));
      if (tile) return [{ tile, begin, end: begin + width }];
    }
    for (let finer = level - 1; finer >= Math.max(0, level - FINER); finer--) {
      const there = tilesOf(finer, begin, begin + width).map((one) => this.tiles.get(tileKey(finer, one, group))).filter((one) => one !== undefined);
      if (there.length > 0) return there.map((tile) => ({ tile, begin: tile.begin, end: tile.begin + TILE_BUCKETS * 2 ** finer }));
    }
    return [];
  }

  private async fetch(key: string): Promise<void> {
    const [level, tile, group] = key.split("/").map(Number) as [number, number, number];
    const controller = new AbortController();
    this.asked.set(key, controller);
    try {
      const first = group * ROWS_OF_A_GROUP;
      const rows = Array.from({ length: Math.min(ROWS_OF_A_GROUP, this.rows - first) }, (_, i) => first + i);
      this.keep(key, await this.fetchTile(this.run, level, tile, rows, controller.signal));
    } catch (error) {
      if (controller.signal.aborted) return;
      this.refused.add(key);
      this.failed(error);
    } finally {
      if (this.asked.get(key) === controller) this.asked.delete(key);
      if (!controller.signal.aborted) this.changed();
    }
  }

  private touch(key: string, tile: Tile): void {
    this.tiles.delete(key);
    this.tiles.set(key, tile);
  }

  /** What was not wanted for longest goes first. */
  private keep(key: string, tile: Tile): void {
    this.tiles.set(key, tile);
    this.bytes += tile.bytes;
    for (const [old, one] of this.tiles) {
      if (this.bytes <= this.mostBytes || old === key) break;
      this.tiles.delete(old);
      this.bytes -= one.bytes;
    }
  }
}
