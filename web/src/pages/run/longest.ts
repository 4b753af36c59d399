// Where the longest call of a kernel is on the time line.

import type { SearchAnswer, TimelineRows } from "../../api/answers";
import type { KernelRow, QueryRows } from "../../api/answers_run";
import { ask } from "../../api/ask";
import { difference } from "../../api/exact_json";
import { around, viewText } from "../../timeline/view";

/** The stretch of the time line around the call, as its address has it. */
export async function longestView(id: string, kernel: KernelRow): Promise<string> {
  const [table, key] = kernel.is_copy ? ["copies", "copy_id"] : ["kernels", "kernel_id"];
  const sql = `SELECT start_ns, dur_ns FROM ${table} WHERE ${key} = ${kernel.longest_row}`;
  const [{ data: call }, { data: timeline }] = await Promise.all([ask<QueryRows>("query", { run: id, sql }), ask<TimelineRows>("timeline", { run: id })]);
  const row = call.rows[0];
  if (!row || row[0] === null) throw new Error("The call has no time.");
  const [start, length] = row as [number | bigint, number];
  const begin = await placed(id, kernel, table as string, difference(start, timeline.origin_ns));
  return viewText(around(begin, begin + length, { begin: timeline.begin_ns, end: timeline.end_ns }));
}

/** Clocks of several ranks are brought together on the time line: the call itself says where it is, if it is the nearest. */
async function placed(id: string, kernel: KernelRow, table: string, about: number): Promise<number> {
  const { data } = await ask<SearchAnswer>("timeline", { run: id, what: "search", text: kernel.name.slice(0, 900), from_ns: about });
  const found = [data.next, data.previous].find((one) => one?.table === table && one.id === kernel.longest_row);
  return found ? found.start_ns : about;
}
