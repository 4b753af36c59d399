// Colours of what runs. Device work is blue, copies are violet, waits grey, host ops green-grey, sampled functions brown; a name keeps its shade.

import { hash } from "../format/names";
import type { Table } from "./tiles";

type Rgb = readonly [number, number, number];

const SHADES: Record<Table | "stacks", readonly Rgb[]> = {
  kernels: [[31, 87, 164], [52, 112, 189], [78, 138, 209], [108, 163, 224], [20, 110, 160], [63, 124, 172]],
  copies: [[124, 77, 163], [146, 101, 182], [168, 128, 201]],
  syncs: [[128, 128, 136], [150, 150, 158]],
  stacks: [[140, 108, 72], [160, 128, 88], [122, 98, 78], [150, 120, 104], [132, 116, 62], [170, 142, 104]],
  spans: [[86, 125, 106], [104, 141, 122], [124, 158, 140], [98, 133, 133], [113, 148, 118], [78, 115, 118]],
};

export function colourOf(table: Table | "stacks", name: string): Rgb {
  const shades = SHADES[table];
  return shades[hash(name) % shades.length] as Rgb;
}

/** A part that is not busy lets the background through; so does all of it with less strength. */
export function mixed(colour: Rgb, background: Rgb, busy: number, strength = 1): number {
  const share = strength * (0.3 + 0.7 * Math.min(1, Math.max(0, busy)));
  const part = (i: 0 | 1 | 2) => Math.round(colour[i] * share + background[i] * (1 - share));
  return (255 << 24) | (part(2) << 16) | (part(1) << 8) | part(0);
}

export const LIGHT: Rgb = [250, 250, 250];
export const DARK: Rgb = [24, 25, 28];

export function packed(colour: Rgb): number {
  return (255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0];
}

/** Black or white, whichever can be read better on a colour of the bitmap. */
export function inkOn(colour: number): "#000" | "#fff" {
  const linear = (value: number) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * linear(colour & 255) + 0.7152 * linear((colour >>> 8) & 255) + 0.0722 * linear((colour >>> 16) & 255);
  return light > 0.179 ? "#000" : "#fff";
}
