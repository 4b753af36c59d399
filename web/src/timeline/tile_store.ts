// Tiles that were fetched, and the fetching of what is missing. The old resolution stays until the new one is there.

import { askBytes } from "../api/ask";
import { tileKey, tilesOf, unpack, type Tile } from "./tiles";
import type { View } from "./view";

const ROWS_OF_A_GROUP = 64;
const MOST_TILES = 400;

export class TileStore {
  private readonly tiles = new Map<string, Tile>();
  private readonly asked = new Map<string, AbortController>();

  constructor(
    private readonly run: string,
    private readonly rows: number,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  groupOf(row: number): number {
    return Math.floor(row / ROWS_OF_A_GROUP);
  }

  /** Asks for what these rows need, and stops asking for what nobody looks at any more. */
  want(level: number, view: View, rows: readonly number[]): void {
    const groups = new Set(rows.map((row) => this.groupOf(row)));
    const wanted = new Set<string>();
    for (const tile of tilesOf(level, view.begin, view.end)) for (const group of groups) wanted.add(tileKey(level, tile, group));
    for (const [key, controller] of this.asked)
      if (!wanted.has(key)) {
        controller.abort();
        this.asked.delete(key);
      }
    for (const key of wanted) if (!this.tiles.has(key) && !this.asked.has(key)) void this.fetch(key);
  }

  /** The tiles to draw a row with: of this level where they are there, else of the nearest coarser one. */
  tilesFor(row: number, level: number, view: View): Tile[] {
    const group = this.groupOf(row);
    const found: Tile[] = [];
    for (let coarser = level; coarser <= 50; coarser++) {
      const numbers = tilesOf(coarser, view.begin, view.end);
      const there = numbers.map((tile) => this.tiles.get(tileKey(coarser, tile, group))).filter((tile) => tile !== undefined);
      if (there.length === numbers.length) return [...there];
      if (there.length > 0 && found.length === 0) found.push(...there);
      if (numbers.length === 1 && there.length === 0 && coarser > level + 24) break;
    }
    return found;
  }

  private async fetch(key: string): Promise<void> {
    const [level, tile, group] = key.split("/").map(Number) as [number, number, number];
    const controller = new AbortController();
    this.asked.set(key, controller);
    try {
      const first = group * ROWS_OF_A_GROUP;
      const rows = Array.from({ length: Math.min(ROWS_OF_A_GROUP, this.rows - first) }, (_, i) => first + i);
      const bytes = await askBytes("timeline", { run: this.run, what: "tile", level, tile, rows, page: "packed" }, controller.signal);
      this.keep(key, unpack(bytes));
      this.changed();
    } catch (error) {
      if (!controller.signal.aborted) this.failed(error);
    } finally {
      this.asked.delete(key);
    }
  }

  private keep(key: string, tile: Tile): void {
    this.tiles.set(key, tile);
    for (const old of this.tiles.keys()) {
      if (this.tiles.size <= MOST_TILES) break;
      this.tiles.delete(old);
    }
  }
}
