// Where the longest call of a kernel is on the time line.

import type { SearchAnswer, TimelineRows } from "../../api/answers";
import type { KernelRow, QueryRows } from "../../api/answers_run";
import { ask } from "../../api/ask";
import { difference } from "../../api/exact_json";
import { OFFLINE } from "../../offline/mode";
import { recordedPlace } from "../../offline/recorded";
import { ID_COLUMNS, selectedText } from "../../timeline/item";
import { idOf, tableOf, type Table } from "../../timeline/tiles";
import { around, viewText } from "../../timeline/view";

/** The time line around the call, with the call selected, so that its launch and op are told. */
export async function longestLink(id: string, kernel: KernelRow): Promise<string> {
  if (OFFLINE) return await recordedLink(id, kernel);
  const [{ data: call }, { data: timeline }] = await Promise.all([ask<QueryRows>("query", { run: id, sql: longestSql(kernel) }), ask<TimelineRows>("timeline", { run: id })]);
  const row = call.rows[0];
  if (!row || row[0] === null) throw new Error("The call has no time.");
  const [start, length] = row as [number | bigint, number];
  const begin = await placed(id, kernel, difference(start, timeline.origin_ns));
  return linkTo(id, kernel, begin, begin + length, timeline);
}

type Longest = Pick<KernelRow, "longest_table" | "longest_row">;

/** Work without kernels is in the table of spans. */
export function longestSql({ longest_table, longest_row }: Longest): string {
  return `SELECT start_ns, dur_ns FROM ${longest_table} WHERE ${ID_COLUMNS[longest_table as Table]} = ${longest_row}`;
}

export function longestText({ longest_table, longest_row }: Longest): string {
  return selectedText({ kind: "span", source: 0, row: 0, table: longest_table as Table, id: longest_row, name: "", start: 0, length: 0 });
}

function linkTo(id: string, kernel: KernelRow, begin: number, end: number, all: TimelineRows): string {
  const view = around(begin, end, { begin: all.begin_ns, end: all.end_ns });
  return `/runs/${id}/timeline?at=${viewText(view)}&sel=${longestText(kernel)}`;
}

async function recordedLink(id: string, kernel: KernelRow): Promise<string> {
  const { data: all } = await ask<TimelineRows>("timeline", { run: id });
  const call = await recordedPlace(id, (spans, place) => idOf(spans.item[place] as number) === kernel.longest_row && tableOf(spans.item[place] as number) === kernel.longest_table);
  if (!call) throw new Error("The call has no time, or it is not in the file.");
  return linkTo(id, kernel, call.start, call.start + call.length, all);
}

/** Clocks of several ranks are brought together on the time line: the call itself says where it is, if it is the nearest. */
async function placed(id: string, kernel: KernelRow, about: number): Promise<number> {
  const { data } = await ask<SearchAnswer>("timeline", { run: id, what: "search", text: kernel.name.slice(0, 900), from_ns: about });
  const found = [data.next, data.previous].find((one) => one?.table === kernel.longest_table && one.id === kernel.longest_row);
  return found ? found.start_ns : about;
}
