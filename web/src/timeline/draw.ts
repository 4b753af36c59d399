// Draws rows of tiles: one line of a small bitmap for each row, stretched to the height of the rows. An answer has at most one
// item a pixel and row, so nothing is lost, and sixty frames a second hold without a graphics card.

import { colourOf, mixed, packed } from "./palette";
import type { Pick } from "./tile_store";
import { tableOf, type Tile } from "./tiles";
import { spanOf, type View } from "./view";

type Rgb = readonly [number, number, number];

const LIT: Rgb = [244, 180, 60];
const LABEL_FROM = 26; // px

export interface Box {
  line: number;
  left: number;
  right: number;
  name: string;
  item: number;
  isDim: boolean;
  colour: number; // as it is in the bitmap
}

/** A line of the picture: the row that it shows, with its tiles, in the time of its own run. */
export interface RowOnScreen {
  row: number;
  picks: readonly Pick[];
  view: View;
}

/** What stands out: a name that is lit, and a text without which a name is dimmed. */
export interface Emphasis {
  lit: string | null;
  only: string;
}

/** Fills one line for each row; what is wide enough for a label is told. Null lines stay empty. */
export function paintRows(pixels: Uint32Array, width: number, rows: readonly (RowOnScreen | null)[], background: Rgb, emphasis: Emphasis): Box[] {
  pixels.fill(packed(background));
  const boxes: Box[] = [];
  rows.forEach((one, line) => {
    if (one) for (const pick of one.picks) paintPick(pixels, width, line, one, pick, background, emphasis, boxes);
  });
  return boxes;
}

function paintPick(
  pixels: Uint32Array, width: number, line: number, { row, view }: RowOnScreen, { tile, begin, end }: Pick, background: Rgb, emphasis: Emphasis, boxes: Box[],
): void {
  const range = tile.rows.get(row);
  if (!range) return;
  const usual = coloursOf(tile, background, "usual");
  const litName = emphasis.lit === null ? -1 : tile.names.indexOf(emphasis.lit);
  const found = foundNames(tile, emphasis.only);
  const bucketNs = 2 ** tile.level;
  const scale = width / spanOf(view);
  for (let i = range.from; i < range.to; i++) {
    const from = tile.begin + (tile.bucket[i] as number) * bucketNs;
    const to = from + (tile.buckets[i] as number) * bucketNs;
    if (to <= begin || from >= end) continue;
    const left = Math.max(0, Math.floor((Math.max(from, begin) - view.begin) * scale));
    const right = Math.min(width, Math.max(left + 1, Math.floor((Math.min(to, end) - view.begin) * scale)));
    if (right <= 0 || left >= width) continue;
    const name = tile.name[i] as number;
    const isDim = found !== null && found[name] === 0;
    const colours = name === litName ? coloursOf(tile, background, "lit") : isDim ? coloursOf(tile, background, "dim") : usual;
    const colour = colours[i] as number;
    pixels.fill(colour, line * width + left, line * width + right);
    if (right - left >= LABEL_FROM) addBox(boxes, { line, left, right, name: tile.names[name] as string, item: tile.item[i] as number, isDim, colour });
  }
}

interface Colours {
  background: Rgb;
  names: Map<number, Rgb>; // by table and name: few, while items are many
  usual?: Uint32Array;
  lit?: Uint32Array;
  dim?: Uint32Array;
}

const kept = new WeakMap<Tile, Colours>();

/** The colours of a tile's items are worked out once, when they are needed. */
function coloursOf(tile: Tile, background: Rgb, which: "usual" | "lit" | "dim"): Uint32Array {
  let known = kept.get(tile);
  if (known?.background !== background) kept.set(tile, (known = { background, names: new Map() }));
  return (known[which] ??= worked(tile, known, which));
}

function worked(tile: Tile, { background, names }: Colours, which: "usual" | "lit" | "dim"): Uint32Array {
  const colours = new Uint32Array(tile.item.length);
  const wide = 2 ** tile.level;
  for (let i = 0; i < colours.length; i++) {
    const busy = (tile.length[i] as number) === 0 ? 1 : (tile.busy[i] as number) / ((tile.buckets[i] as number) * wide);
    const colour = which === "lit" ? LIT : colourOfItem(tile, i, names);
    colours[i] = mixed(colour, background, busy, which === "dim" ? 0.25 : 1);
  }
  return colours;
}

function colourOfItem(tile: Tile, i: number, names: Map<number, Rgb>): Rgb {
  const name = tile.name[i] as number;
  const item = tile.item[i] as number;
  const key = name * 4 + (item >>> 30);
  let colour = names.get(key);
  if (!colour) names.set(key, (colour = colourOf(tableOf(item), tile.names[name] as string)));
  return colour;
}

const searched = new WeakMap<Tile, { text: string; found: Uint8Array }>();

/** Which names of a tile have the text; null: nothing is searched for. */
function foundNames(tile: Tile, text: string): Uint8Array | null {
  if (text === "") return null;
  const known = searched.get(tile);
  if (known?.text === text) return known.found;
  const found = Uint8Array.from(tile.names, (name) => Number(name.toLowerCase().includes(text.toLowerCase())));
  searched.set(tile, { text, found });
  return found;
}

/** A span that goes on in the next tile is one box. */
function addBox(boxes: Box[], box: Box): void {
  const last = boxes.at(-1);
  if (last && last.line === box.line && last.item === box.item && last.right >= box.left) last.right = Math.max(last.right, box.right);
  else boxes.push(box);
}

/** The item under a point of a row; nothing between items. */
export function itemAt(picks: readonly Pick[], row: number, ns: number): { tile: Tile; index: number } | null {
  const pick = picks.find((one) => one.begin <= ns && ns < one.end);
  const range = pick?.tile.rows.get(row);
  if (!pick || !range) return null;
  const { tile } = pick;
  const bucket = Math.floor((ns - tile.begin) / 2 ** tile.level);
  let low = range.from;
  let high = range.to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tile.bucket[middle] as number) + (tile.buckets[middle] as number) <= bucket) low = middle + 1;
    else high = middle;
  }
  return low < range.to && (tile.bucket[low] as number) <= bucket ? { tile, index: low } : null;
}
