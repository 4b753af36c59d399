// From a row of a table to the time line: where the row is in time is asked for first.

import { ask } from "../../api/ask";
import type { TimelineRows } from "../../api/answers";
import type { QueryRows } from "../../api/answers_pages";
import { OFFLINE } from "../../offline/mode";
import { recordedPlace } from "../../offline/recorded";

/** Tables whose rows lie on the time line, by the name of their id column. */
export const TABLE_OF_ID: Record<string, string> = {
  kernel_id: "kernels", copy_id: "copies", span_id: "spans", op_id: "spans", sync_id: "syncs", collective_id: "collectives",
    iteration_id: "iterations", request_id: "requests",
};
const OWN_ID: Record<string, string> = { spans: "span_id", kernels: "kernel_id", copies: "copy_id", syncs: "sync_id",
  collectives: "collective_id", iterations: "iteration_id", requests: "request_id" };

async function addressOf(run: string, sql: string): Promise<string | null> {
  const { data } = await ask<QueryRows>("query", { run, sql, limit: 1 });
  const [start, length] = (data.rows[0] ?? []) as (number | bigint | null)[];
  return start === undefined || start === null ? null : `/runs/${run}/timeline?gap=${start}-${length ?? 0}`;
}

export async function addressOfRow(run: string, table: string, id: number): Promise<string | null> {
  return await addressOf(run, `SELECT start_ns, dur_ns FROM ${table} WHERE ${OWN_ID[table]} = ${id}`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The longest work of a name on a device; else the longest span. */
export async function addressOfName(run: string, name: string): Promise<string | null> {
  if (OFFLINE) return await recordedAddress(run, name);
  const parts = ["kernels", "copies", "spans"].map((table) => `SELECT start_ns, dur_ns FROM ${table} WHERE name = ${quoted(name)} AND dur_ns IS NOT NULL`);
  return await addressOf(run, `${parts.join(" UNION ALL ")} ORDER BY dur_ns DESC LIMIT 1`);
}

async function recordedAddress(run: string, name: string): Promise<string | null> {
  const { data } = await ask<TimelineRows>("timeline", { run });
  const found = await recordedPlace(data.run_id, (row, place, names) => names[row.name[place] as number] === name);
  return found && `/runs/${run}/timeline?gap=${BigInt(data.origin_ns) + BigInt(found.start)}-${found.length}`;
}
