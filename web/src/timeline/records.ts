// What the tables say of a span, asked for by SELECTs that can be copied: its own row, what it is linked to, its counters.

import type { Whole } from "../api/answers";
import type { Cell, QueryAnswer } from "../api/answers_timeline";
import { ask } from "../api/ask";
import { ID_COLUMNS, type Span } from "./item";
import type { Table } from "./tiles";

export type Row = Record<string, Cell>;

export const MOST_LINKED = 200;

export async function select(run: string, sql: string, signal?: AbortSignal, limit = 1000): Promise<Row[]> {
  const { data } = await ask<QueryAnswer>("query", { run, sql, limit }, signal);
  return data.rows.map((row) => Object.fromEntries(data.columns.map((name, i) => [name, row[i] ?? null])));
}

export function recordSql(table: Table, id: number): string {
  return `SELECT * FROM ${table} WHERE ${ID_COLUMNS[table]} = ${id}`;
}

/** The launch and the op of device work; the op and the caller of a span. */
export function upwardsSql(ids: readonly number[]): string {
  return `SELECT span_id, track_id, name, kind, start_ns, dur_ns FROM spans WHERE span_id IN (${ids.join(", ")})`;
}

/** Device work whose launch lies in a span of the host. */
export function workSql(track: Whole, start: Whole, length: Whole | null): string {
  const end = BigInt(start) + (length !== null && length > 0 ? BigInt(length) : 1n);
  const launches = `SELECT span_id FROM spans WHERE track_id = ${track} AND start_ns >= ${start} AND start_ns < ${end}`;
  const of = (table: "kernels" | "copies") =>
    `SELECT '${table}' AS of_table, ${ID_COLUMNS[table]} AS id, track_id, name, start_ns, dur_ns FROM ${table} WHERE launch_span_id IN (${launches})`;
  return `SELECT *, count(*) OVER () AS of_all FROM (${of("kernels")} UNION ALL ${of("copies")}) ORDER BY start_ns LIMIT ${MOST_LINKED}`;
}

/** Counters of a kernel: of the run itself, or of a replayed launch that is surely the same. */
export function countersSql(kernel: number): string {
  const replayed = `SELECT launch_id FROM launch_matches WHERE kernel_id = ${kernel}`;
  return `SELECT metric, unit, value, text, absent FROM kernel_metrics WHERE kernel_id = ${kernel} OR (kernel_id IS NULL AND launch_id IN (${replayed})) ORDER BY metric`;
}

const whole = (cell: Cell | undefined): number | null => (typeof cell === "number" || typeof cell === "bigint" ? Number(cell) : null);

/** A span as a table has it, before its row on the time line is known. */
export interface Unplaced {
  table: Table;
  id: number;
  track: number;
  name: string;
  start: number; // ns from the origin
  length: number;
}

/** Null for a record without a time: it is on no row. */
export function unplaced(table: Table, row: Row, origin: Whole): Unplaced | null {
  const id = whole(row[ID_COLUMNS[table]] ?? row["id"]);
  const start = row["start_ns"];
  if (id === null || (typeof start !== "number" && typeof start !== "bigint")) return null;
  return { table, id, track: whole(row["track_id"]) ?? -1, name: String(row["name"] ?? ""), start: Number(BigInt(start) - BigInt(origin)), length: whole(row["dur_ns"]) ?? 0 };
}

export interface Linked {
  launch: Unplaced | null; // the call that launched this work
  op: Unplaced | null;
  caller: Unplaced | null; // the span around a span
  work: Unplaced[]; // what was launched in this span
  workInAll: number;
  sql: string[];
}

/** What a record is linked to, both ways. */
export async function linkedOf(run: string, span: Span, record: Row, origin: Whole, signal?: AbortSignal): Promise<Linked> {
  const launch = span.table === "spans" ? null : whole(record["launch_span_id"]);
  const caller = span.table === "spans" ? whole(record["parent_id"]) : null;
  const op = whole(record["op_id"]);
  const ids = [...new Set([launch, op, caller].filter((one) => one !== null && !(span.table === "spans" && one === span.id)))] as number[];
  const start = record["start_ns"] as Whole | null;
  const work = span.table === "spans" && start !== null ? workSql(record["track_id"] as Whole, start, record["dur_ns"] as Whole | null) : null;
  const [up, down] = await Promise.all([
    ids.length > 0 ? select(run, upwardsSql(ids), signal) : [],
    work === null ? [] : select(run, work, signal),
  ]);
  const found = (id: number | null) => {
    const row = id === null ? undefined : up.find((one) => whole(one["span_id"]) === id);
    return row ? unplaced("spans", row, origin) : null;
  };
  return {
    launch: found(launch),
    op: found(op),
    caller: found(caller),
    work: down.map((row) => unplaced(row["of_table"] as Table, row, origin)).filter((one) => one !== null),
    workInAll: whole(down[0]?.["of_all"]) ?? 0,
    sql: [...(ids.length > 0 ? [upwardsSql(ids)] : []), ...(work === null ? [] : [work])],
  };
}
