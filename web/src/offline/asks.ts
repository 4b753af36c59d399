// What is asked and recorded for pages without a server. The build writes the list beside the pages, and `neurolens report --site` reads it there, so it has
// one place. Page and program find an answer by the same key.

import { SERIES as COUNTER_SERIES } from "../pages/run/counter_series";
import { SUMMED } from "../pages/run/kernel_list";
import { COPIES, SERIES } from "../pages/run/memory_series";
import { WORK } from "../timeline/device_work_sql";
import { EXTRAS_SQL } from "../timeline/extras";

type Parameters = Record<string, unknown>;

/** Which recorded part has the answer: that of a run, of pairs of runs, or of all. */
export type Part = "all" | "run" | "pairs";

/** RUN, WINDOW, RULE, BASE and NEW stand for each of them. */
const ASKED: [string, Parameters][] = [
  ["show", { run: "RUN" }],
  ["metrics", {}],
  ["rules", {}],
  ["rules", { action: "show", targets: ["RULE"] }],
  ["analyze", { run: "RUN", window: "WINDOW" }],
  ["analyze", { run: "RUN", window: "WINDOW", top: 10_000 }],
  ...[SERIES, COPIES, COUNTER_SERIES, SUMMED].map((sql): [string, Parameters] => ["query", { run: "RUN", sql, limit: 5000 }]),
  ...[WORK, EXTRAS_SQL].map((sql): [string, Parameters] => ["query", { run: "RUN", sql, limit: 1000 }]),
  ["timeline", { run: "RUN" }],
  ["document", { run: "RUN" }],
  ["note", { run: "RUN", history: false }],
  ["note", { run: "RUN", history: true }],
  ["export", { run: "RUN", format: "collapsed" }],
  ["compare", { base: ["BASE"], new: ["NEW"], window: "auto", top: 200 }],
  ["export", { run: "BASE", against: "NEW", format: "collapsed" }],
];

export function partOf(operation: string, parameters: Parameters): Part {
  if (operation === "compare" || "against" in parameters) return "pairs";
  return "run" in parameters && operation !== "show" ? "run" : "all"; // the list of runs needs what `show` says of each
}

/** As src/ops/site/recorded_answers.cpp writes it: names of parameters in their order. */
export function keyOf(operation: string, parameters: Parameters): string {
  const sorted = Object.entries(parameters).filter(([, value]) => value !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${operation} ${JSON.stringify(Object.fromEntries(sorted))}`;
}

export const ASKS = ASKED.map(([operation, parameters]) => ({ operation, parameters, part: partOf(operation, parameters) }));
