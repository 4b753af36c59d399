// Rows of an answer as text: for cells, for CSV, and for a chart of two columns.

import type { QueryRows } from "../../api/answers_pages";
import { grouped } from "../../format/numbers";
import { TABLE_OF_ID } from "../runs/jump";

export function exactText(cell: unknown): string {
  if (cell === null) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

export function cellText(cell: unknown): string {
  if (cell === null) return "NULL";
  if (typeof cell === "bigint") return grouped(cell);
  if (typeof cell === "number") return Number.isInteger(cell) ? grouped(cell) : String(cell);
  return exactText(cell);
}

export const isNumber = (cell: unknown): cell is number | bigint => typeof cell === "number" || typeof cell === "bigint";

export function csvOf({ columns, rows }: QueryRows): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [columns, ...rows.map((row) => row.map(exactText))].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

/** The column whose values are rows of the time line, if there is one. */
export function idColumn(columns: string[]): { at: number; table: string } | null {
  const at = columns.findIndex((name) => TABLE_OF_ID[name] !== undefined);
  return at < 0 ? null : { at, table: TABLE_OF_ID[columns[at] as string] as string };
}

export interface Bar {
  label: string;
  value: number;
}

const MOST = 40;

/** A bar for each row, as they come. */
export function barsOf({ columns, rows }: QueryRows, label: string, value: string): Bar[] {
  const [x, y] = [columns.indexOf(label), columns.indexOf(value)];
  return rows.slice(0, MOST).flatMap((row) => (isNumber(row[y]) ? [{ label: cellText(row[x]), value: Number(row[y]) }] : []));
}

/** First a column of names, then one of numbers; the best guess for a chart. */
export function chartColumns({ columns, rows }: QueryRows): { label: string; value: string } | null {
  const first = rows[0];
  if (!first) return null;
  const value = columns.findLast((_, n) => isNumber(first[n]));
  const label = columns.find((one, n) => !isNumber(first[n]) && one !== value) ?? columns.find((one) => one !== value);
  return value !== undefined && label !== undefined ? { label, value } : null;
}
