// Sampled stacks as a strip: in each piece of a view the function that most of the samples were in.

import type { Whole } from "../api/answers";
import { text, type StacksRow } from "./extras";
import type { Row } from "./records";
import { piecesOf, type Pieces } from "./series";
import type { View } from "./view";

const STRIP = 4; // px of a piece
const MOST_PIECES = 2000;

export function stackPieces(view: View, width: number): Pieces {
  return piecesOf(view, Math.min(MOST_PIECES, Math.ceil(width / STRIP) * 2));
}

const STACK_LETTERS = 600;

/** In each piece the function that most of the samples were in, and a stack that led there. */
export function stacksSql(wanted: readonly StacksRow[], { begin, end, step }: Pieces, origin: Whole): string {
  const tracks = wanted.map((one) => one.track.track).join(", ");
  const at = `start_ns - ${origin}`;
  const inner =
    `SELECT track_id, (${at} - (${begin})) // ${step} AS piece, string_split(stack, ';')[-1] AS leaf, arg_max(stack, weight) AS stack,` +
    " sum(coalesce(weight, 1))::DOUBLE AS own, count(*) AS many" +
    ` FROM samples WHERE ${at} >= ${begin} AND ${at} < ${end} AND track_id IN (${tracks}) GROUP BY ALL`;
  return (
    `SELECT track_id, piece, left(arg_max(leaf, own), 200) AS leaf, right(arg_max(stack, own), ${STACK_LETTERS}) AS stack, max(own) AS own,` +
    ` sum(own) AS total, sum(many)::BIGINT AS many FROM (${inner}) GROUP BY ALL ORDER BY 1, 2`
  );
}

export interface Slice extends View {
  leaf: string;
  stack: string[]; // outermost first; the outer ones of a deep stack are left out
  isCut: boolean;
  share: number; // of the weight of the samples
  samples: number;
}

export function slicesOf(rows: readonly Row[], { begin, step }: Pieces): Map<number, Slice[]> {
  const slices = new Map<number, Slice[]>();
  for (const row of rows) {
    const from = begin + Number(row["piece"]) * step;
    const stack = text(row["stack"]);
    const isCut = stack.length >= STACK_LETTERS;
    const frames = stack.split(";").slice(isCut ? 1 : 0);
    const total = Number(row["total"]);
    const share = total > 0 ? Number(row["own"]) / total : 0;
    const one = { begin: from, end: from + step, leaf: text(row["leaf"]), stack: frames, isCut, share, samples: Number(row["many"]) };
    const track = Number(row["track_id"]);
    slices.set(track, [...(slices.get(track) ?? []), one]);
  }
  return slices;
}

export function sliceAt(slices: readonly Slice[], ns: number): Slice | null {
  return slices.find((one) => one.begin <= ns && ns < one.end) ?? null;
}

/** Neighbours with the same function are one box. */
export function joined(slices: readonly Slice[]): { leaf: string; begin: number; end: number }[] {
  const boxes: { leaf: string; begin: number; end: number }[] = [];
  for (const { leaf, begin, end } of slices) {
    const last = boxes.at(-1);
    if (last && last.leaf === leaf && last.end === begin) last.end = end;
    else boxes.push({ leaf, begin, end });
  }
  return boxes;
}

/** Top functions of a stretch, by what their samples stand for. */
export function functionsSql(tracks: readonly number[], area: View, origin: Whole, most: number): string {
  const at = `start_ns - ${origin}`;
  return (
    "SELECT string_split(stack, ';')[-1] AS leaf, count(*) AS many, sum(coalesce(weight, 1))::DOUBLE AS own," +
    " (sum(sum(coalesce(weight, 1))) OVER ())::DOUBLE AS total, count(*) OVER () AS functions" +
    ` FROM samples WHERE ${at} >= ${Math.round(area.begin)} AND ${at} < ${Math.round(area.end)} AND track_id IN (${tracks.join(", ")})` +
    ` GROUP BY ALL ORDER BY own DESC, leaf LIMIT ${most}`
  );
}
