// What "go to" understands: a time with a unit, a time of the tables, or a row of a table.

import { TABLES, type Table } from "./tiles";

export type Target = { at: number } | { table: Table; id: number };

const UNITS: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, "μs": 1e3, ms: 1e6, s: 1e9 };

export function targetOf(text: string, origin: number | bigint): Target | null {
  const words = text.trim().toLowerCase().replaceAll(/[\u2009\u00a0,_]/g, "");
  const row = /^([a-z]+)\s*(?:id\s*)?(\d{1,10})$/.exec(words);
  const table = row ? TABLES.find((one) => row[1] !== "" && (one.startsWith(row[1] as string) || (one === "syncs" && row[1] === "y"))) : undefined;
  if (row && table) return { table: row[1] === "s" ? "spans" : table, id: Number(row[2]) };
  if (/^\d{12,}$/.test(words)) return { at: Number(BigInt(words) - BigInt(origin)) };
  const time = /^(-?\d+(?:\.\d+)?)\s*(ns|us|µs|μs|ms|s)?$/.exec(words);
  return time ? { at: Number(time[1]) * (UNITS[time[2] ?? "ns"] as number) } : null;
}
