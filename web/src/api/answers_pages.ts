// The parts of answers that the pages over many runs show.

import type { Known, RunRow, Whole } from "./answers";

export interface ListedRun extends RunRow {
  bundle_bytes: number;
}

export interface Facet {
  key: string;
  distinct: number;
  without: number;
  values: { value: string; runs: number }[];
}

export interface RunList {
  runs: ListedRun[];
  total: number;
  matching: number;
  facets?: Facet[];
}

export interface Baseline {
  name: string;
  run_id: string;
  run_ids: string[];
  set_at_ns: Whole;
  user: string;
}

export interface Job {
  job_id: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  progress?: { what?: string; fraction?: number };
  answer?: { data?: { run_id?: string; runs?: { run_id: string }[] }; error?: { code: string; message: string; hint?: string } };
}

export interface Upload {
  upload_id: string;
  files: { name: string; bytes: number; received: number }[];
}

export interface Side {
  run_id: string;
  runs: string[];
  files: string[];
  unit: string;
  units: number;
  window: string;
}

export interface Part {
  kind: string;
  name: string;
  words: string;
  base_ns: number;
  new_ns: number;
  delta_ns: number;
}

export interface WorkSide {
  time_ns: number;
  calls_per_unit: number;
  names: string[];
}

export interface Change {
  name: string;
  kind: string;
  class: string;
  op: string | null;
  delta_ns: number;
  base: WorkSide | null;
  new: WorkSide | null;
}

export interface NamedChange {
  name: string;
  base_ns: number;
  new_ns: number;
  delta_ns: number;
  base_calls: number;
  new_calls: number;
}

export interface Comparison {
  sentence: string;
  verdict: string;
  mode: string;
  reasons: string[];
  remarks: string[];
  delta_ns: number;
  unit: string;
  base: Side;
  new: Side;
  parts: Part[];
  changes: Change[];
  ops: NamedChange[];
  modules: NamedChange[];
  differences: string[];
  comparability: { score: number; floor: number; factors: { name: string; base: string | null; new: string | null; state: string; words: string | null }[] };
  not_shown: { rows: number; delta_ns: number };
}

export interface ChangePoint {
  at: number;
  run_id: string;
  previous_run_id: string;
  before: number;
  after: number;
  ratio: number | null;
  p: number;
  alert: boolean;
  meaning: "worse" | "better" | "changed";
  differences: { what: string; lasts: boolean }[];
  work: { kind: string; name: string; before_ns: number; after_ns: number; delta_ns: number }[] | null;
}

export interface TrendGroup {
  group: Record<string, string | null>;
  summary: { n: number; min: number; median: number; max: number };
  points: { run_id: string; imported_at_ns: Whole; value: number }[];
  change_points: ChangePoint[];
  silent: string | null;
}

export interface Trend {
  alerts: number;
  figure: { id: string; unit: string; direction: string };
  order: string;
  groups: TrendGroup[];
}

export interface Dimension {
  id: string;
  name: string;
  part: string | null;
  here: number;
  there: number;
  distance: number;
  agrees: boolean;
}

export interface SimilarRun {
  run_id: string;
  file_names: string;
  labels: Record<string, string>;
  distance: number;
  dimensions: Dimension[];
  not_compared: { id: string; name: string; missing_here: string | null; missing_there: string | null }[];
}

export interface Similar {
  run_id: string;
  runs: SimilarRun[];
  not_comparable: number;
}

export interface RuleRow {
  id: string;
  title: string;
  condition: string;
  confidence: string;
  origin: string;
  proof: string;
  version: number;
}

export interface Rule extends RuleRow {
  at_stake: string | null;
  evidence: { text: string; of: string; unit: string }[];
  suggestions: { text: string; gain: string | null; at_most: boolean }[];
  references: string[];
}

export interface Table {
  name: string;
  doc: string;
  kind: string;
  columns: { name: string; type: string; unit: string; doc: string }[];
}

export interface QueryRows {
  columns: string[];
  rows: unknown[][];
  truncated?: boolean;
  rows_left_out?: number;
}

export type Listed = { value: string[] } | { absent_reason: string };
export interface System {
  software: Record<string, { value: string } | { absent_reason: string }>;
  dependencies: { issues: Listed; missing: Listed; outdated: Listed; warnings: Listed; checked: number; not_checked: number };
}

export type { Known };
