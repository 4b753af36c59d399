// The parts of answers that the pages over many runs show.

import type { AnswerOf, Whole } from "./answers";

export type { Facet, Known, QueryRows, RunList, RunRow as ListedRun } from "./answers";

/** By hand. */
export interface Baseline {
  name: string;
  run_id: string;
  run_ids: string[];
  set_at_ns: Whole;
  user: string;
}

/** By hand: no answer of an operation. */
export interface Job {
  job_id: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  progress?: { what?: string; fraction?: number };
  answer?: { data?: { run_id?: string; runs?: { run_id: string }[] }; error?: { code: string; message: string; hint?: string } };
}

/** By hand: no answer of an operation. */
export interface Upload {
  upload_id: string;
  files: { name: string; bytes: number; received: number }[];
}

export type Comparison = AnswerOf<"compare">;
export type Part = Pick<Comparison["parts"][number], "kind" | "name" | "words" | "base_ns" | "new_ns" | "delta_ns">;
export type Change = Comparison["changes"][number];
export type NamedChange = Comparison["ops"][number];

export type Trend = AnswerOf<"trend">;
export type TrendGroup = Trend["groups"][number];
export type ChangePoint = TrendGroup["change_points"][number];

export type Outliers = AnswerOf<"outliers">;
export type OutlierGroup = Outliers["groups"][number];
export type Outlier = OutlierGroup["outliers"][number];

export type Similar = AnswerOf<"similar">;
export type SimilarRun = Similar["runs"][number];
export type Dimension = SimilarRun["dimensions"][number];

/** By hand. */
export interface RuleRow {
  id: string;
  title: string;
  condition: string;
  confidence: string;
  origin: string;
  proof: string;
  version: number;
}

/** By hand. */
export interface Rule extends RuleRow {
  at_stake: string | null;
  evidence: { text: string; of: string; unit: string }[];
  suggestions: { text: string; gain: string | null; at_most: boolean }[];
  references: string[];
}

/** By hand. */
export interface Table {
  name: string;
  doc: string;
  kind: string;
  columns: { name: string; type: string; unit: string; doc: string }[];
}

export type System = AnswerOf<"system">;
export type Listed = System["dependencies"]["issues"];
