// What is selected: a span, or the gap between two of a row. Both have a short text for the address of the page.

import type { Table } from "./tiles";

/** A row of one of the tables, where it lies on the time line of its run. */
export interface Span {
  kind: "span";
  source: number; // 0: the run of the page, 1: the run beside it
  row: number;
  table: Table;
  id: number;
  name: string;
  start: number; // ns from the origin of its run
  length: number;
}

/** Nothing of a row. */
export interface Gap {
  kind: "gap";
  source: number;
  row: number;
  start: number;
  length: number;
}

export type Selected = Span | Gap;

const LETTERS: Record<Table, string> = { spans: "s", kernels: "k", copies: "c", syncs: "y" };

export const ID_COLUMNS: Record<Table, string> = { spans: "span_id", kernels: "kernel_id", copies: "copy_id", syncs: "sync_id" };

/** What the address says of a selection: enough to find it again. */
export type SelectedText = { source: number; table: Table; id: number } | { source: number; row: number; at: number };

export function selectedText(selected: Selected): string {
  const before = selected.source === 0 ? "" : "2";
  if (selected.kind === "span") return `${before}${LETTERS[selected.table]}${selected.id}`;
  return `${before}g${selected.row}_${Math.round(selected.start + selected.length / 2)}`;
}

export function readSelected(text: string | null): SelectedText | null {
  const gap = /^(2?)g(\d+)_(-?\d+)$/.exec(text ?? "");
  if (gap) return { source: gap[1] ? 1 : 0, row: Number(gap[2]), at: Number(gap[3]) };
  const span = /^(2?)([skcy])(\d+)$/.exec(text ?? "");
  const table = (Object.keys(LETTERS) as Table[]).find((one) => LETTERS[one] === span?.[2]);
  return span && table ? { source: span[1] ? 1 : 0, table, id: Number(span[3]) } : null;
}
