// What a finding rests on, as a place on the time line.

import type { KernelRow, QueryRows, RunAnalysis, RunFinding } from "../../api/answers_run";
import { ask } from "../../api/ask";
import { isAt, type Proof } from "./figures";
import { SERIES, seriesOf } from "./memory_series";
import { stretchLink } from "./parts";

/** Of the kernels that a finding is about, the one that takes most. The list has the longest of all kernels, so there may be none. */
export function kernelBehind(proof: Proof | null, finding: RunFinding, data: RunAnalysis): KernelRow | undefined {
  const kind = proof?.what === "kernels" ? proof.class : proof?.what === "ranks" ? "communication" : null;
  return data.top_kernels.find((one) => isAt(one, finding) && !one.is_copy && one.class === kind);
}

/** The moment with the most memory. */
export async function peakLink(id: string): Promise<string> {
  const { data } = await ask<QueryRows>("query", { run: id, sql: SERIES, limit: 5000 });
  const first = seriesOf(data.rows)[0];
  if (!first) throw new Error("The run has no allocations with a time.");
  return stretchLink(id, first.peak.at, 1000);
}

/** Of an answer of `explain`. By hand. */
interface ExplainedRow {
  kind: string;
  row?: string; // TABLE:ID
  start_ns?: number | bigint;
  time_ns?: number;
}

/** What the server names as the rows behind it, the first that has a place. */
export async function explainedLink(id: string, rule: string, window: string): Promise<string> {
  const { data } = await ask<{ rows: ExplainedRow[] }>("explain", { run: id, finding: rule, window });
  const link = data.rows.map((row) => linkOf(id, row)).find((one) => one !== null);
  if (!link) throw new Error("The finding rests on figures of the whole window, not on single rows.");
  return link;
}

const LETTERS: Record<string, string> = { spans: "s", kernels: "k", copies: "c", syncs: "y" };

/** `show=` selects a row on the time line and goes there. */
export function linkOf(id: string, { kind, row, start_ns: start, time_ns: length }: ExplainedRow): string | null {
  if (kind === "gap" && start !== undefined && length !== undefined) return stretchLink(id, start, length);
  const [table, number] = row?.split(":") ?? [];
  const letter = LETTERS[table ?? ""];
  return letter && number ? `/runs/${id}/timeline?show=${letter}${number}` : null;
}
