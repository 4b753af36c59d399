// Notes on what the time line shows: which ones are about a span, and where their marks are drawn.

import type { Note } from "../api/answers_run";
import type { Span } from "./item";
import { tableOf } from "./tiles";

/** Where notes have their marks: single spans of the host, and all kernels of a name. */
export interface NoteMarks {
  spans: readonly Span[];
  kernels: ReadonlySet<string>;
}

export const NO_MARKS: NoteMarks = { spans: [], kernels: new Set() };

/** What a note on the span says that it is about; null if the ledger keeps no notes on such a thing. */
export function aboutOf({ table, id, name }: Pick<Span, "table" | "id" | "name">): string | null {
  if (table === "spans") return `span:${id}`;
  return table === "kernels" && name !== "" ? `kernel:${name}` : null;
}

export function notesOf(notes: readonly Note[], span: Span): Note[] {
  const about = aboutOf(span);
  return about === null ? [] : notes.filter((note) => note.about === about);
}

/** Rows of the table of spans that notes are about. */
export function notedSpans(notes: readonly Note[]): number[] {
  const ids = notes.flatMap((note) => /^span:(\d{1,15})$/.exec(note.about)?.[1] ?? []);
  return [...new Set(ids.map(Number))];
}

export function notedKernels(notes: readonly Note[]): Set<string> {
  return new Set(notes.filter((note) => note.about.startsWith("kernel:")).map((note) => note.about.slice("kernel:".length)));
}

/** Whether an item of a tile is a kernel with a note. */
export function isNotedKernel({ kernels }: NoteMarks, item: number, name: string): boolean {
  return kernels.has(name) && tableOf(item) === "kernels";
}

/** As the page tells it to whoever reads its data. */
export function marksText({ spans, kernels }: NoteMarks): string {
  return JSON.stringify([...spans.map(({ id }) => `span:${id}`), ...[...kernels].map((name) => `kernel:${name}`)].sort());
}
