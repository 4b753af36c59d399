// Draws rows of tiles: one line of a small bitmap for each row, stretched to the height of the rows. An answer has at most one
// item a pixel and row, so nothing is lost, and sixty frames a second hold without a graphics card.

import { colourOf, mixed, packed } from "./palette";
import { tableOf, type Tile } from "./tiles";
import { pixelOf, type View } from "./view";

type Rgb = readonly [number, number, number];

export interface Box {
  row: number;
  left: number;
  right: number;
  name: string;
  item: number;
}

/** Where a row lies on the screen, and the tiles that are there for it. */
export interface RowOnScreen {
  row: number;
  tiles: Tile[];
}

/** Fills one line for each row; what is wide enough for a label is told. */
export function paintRows(pixels: Uint32Array, width: number, rows: RowOnScreen[], view: View, background: Rgb, lit: string | null): Box[] {
  pixels.fill(packed(background));
  const boxes: Box[] = [];
  rows.forEach((one, line) => {
    for (const tile of one.tiles) paintTile(pixels, width, line, one.row, tile, view, background, lit, boxes);
  });
  return boxes;
}

function paintTile(
  pixels: Uint32Array, width: number, line: number, row: number, tile: Tile, view: View, background: Rgb, lit: string | null, boxes: Box[],
): void {
  const range = tile.rows.get(row);
  if (!range) return;
  const bucketNs = 2 ** tile.level;
  for (let i = range.from; i < range.to; i++) {
    const begin = tile.begin + (tile.bucket[i] as number) * bucketNs;
    const end = begin + (tile.buckets[i] as number) * bucketNs;
    const left = Math.max(0, Math.floor(pixelOf(view, begin, width)));
    const right = Math.min(width, Math.max(left + 1, Math.floor(pixelOf(view, end, width))));
    if (right <= 0 || left >= width) continue;
    const name = tile.names[tile.name[i] as number] as string;
    const item = tile.item[i] as number;
    const colour = lit === name ? ([244, 180, 60] as const) : colourOf(tableOf(item), name);
    const busy = (tile.busy[i] as number) / (end - begin);
    pixels.fill(mixed(colour, background, (tile.length[i] as number) === 0 ? 1 : busy), line * width + left, line * width + right);
    if (right - left >= 26) addBox(boxes, { row, left, right, name, item });
  }
}

/** A span that goes on in the next tile is one box. */
function addBox(boxes: Box[], box: Box): void {
  const last = boxes.at(-1);
  if (last && last.row === box.row && last.item === box.item && last.right >= box.left) last.right = Math.max(last.right, box.right);
  else boxes.push(box);
}

/** The item under a point of a row; nothing between items. */
export function itemAt(tiles: Tile[], row: number, ns: number): { tile: Tile; index: number } | null {
  for (const tile of tiles) {
    const range = tile.rows.get(row);
    if (!range) continue;
    const bucket = Math.floor((ns - tile.begin) / 2 ** tile.level);
    let low = range.from;
    let high = range.to;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tile.bucket[middle] as number) + (tile.buckets[middle] as number) <= bucket) low = middle + 1;
      else high = middle;
    }
    if (low < range.to && (tile.bucket[low] as number) <= bucket) return { tile, index: low };
  }
  return null;
}
