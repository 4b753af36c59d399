// Kernels as a list: searched, filtered by class, sorted.

import type { KernelRow } from "../../api/answers_run";

export const ORDERS = ["total_ns", "calls", "mean_ns", "longest_ns", "exposed_share", "name"] as const;
export type Order = (typeof ORDERS)[number];

/** The order of the address, and whether it is turned round. */
export function orderOf(word: string): { by: Order; isUp: boolean } {
  const isUp = word.startsWith("-");
  const by = ORDERS.find((one) => one === (isUp ? word.slice(1) : word)) ?? "total_ns";
  return { by, isUp };
}

/** The word of the address after a click on a column: again turns it round. */
export function orderAfter(word: string, by: Order): string {
  const before = orderOf(word);
  return before.by === by && !before.isUp ? `-${by}` : by;
}

export function listed(kernels: KernelRow[], text: string, kind: string, word: string): KernelRow[] {
  const sought = text.toLowerCase();
  const { by, isUp } = orderOf(word);
  return kernels
    .filter((one) => (kind === "" || one.class === kind) && (sought === "" || one.name.toLowerCase().includes(sought)))
    .sort((a, b) => (isUp ? -1 : 1) * compare(a, b, by));
}

/** The largest first, names from A; what is not known comes last. */
function compare(a: KernelRow, b: KernelRow, by: Order): number {
  if (by === "name") return a.name.localeCompare(b.name);
  return (b[by] ?? -1) - (a[by] ?? -1);
}

export function classesOf(kernels: KernelRow[]): { name: string; ns: number }[] {
  const sums = new Map<string, number>();
  for (const one of kernels) sums.set(one.class, (sums.get(one.class) ?? 0) + one.total_ns);
  return [...sums].map(([name, ns]) => ({ name, ns })).sort((a, b) => b.ns - a.ns);
}

/** SQL for all calls of a kernel, with its name as a text of SQL. */
export function callsSql(kernel: { name: string; is_copy: boolean }): string {
  const name = `'${kernel.name.replaceAll("'", "''")}'`;
  return `SELECT * FROM ${kernel.is_copy ? "copies" : "kernels"}\nWHERE name = ${name} ORDER BY dur_ns DESC`;
}

/** The kernels of the whole capture, summed up by name. */
export const CALLS = `SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns, avg(dur_ns) AS mean_ns, max(dur_ns) AS longest_ns
FROM kernels GROUP BY name ORDER BY total_ns DESC, name`;

/** Collectives of the whole capture by rank. */
export const COLLECTIVES = `SELECT rank, kind, count(*) AS calls, sum(dur_ns) AS total_ns, median(dur_ns) AS median_ns
FROM collectives JOIN tracks USING (track_id) GROUP BY ALL ORDER BY ALL`;

/** Sums that the profiler made itself. */
export const SUMMED = "SELECT report, name, calls, unit, total, average, share_pct FROM summaries ORDER BY report, total DESC, name";
