// Parts of answers that only the pages of one run show.

import type { AnswerOf, Whole } from "./answers";

export type { Cell, QueryRows } from "./answers";
export type { Similar } from "./answers_pages";

export type RunAnalysis = AnswerOf<"analyze">;
export type RunDevice = RunAnalysis["devices"][number];
/** Of a device: its number, "cpu" for the host, or not known. */
export type DeviceNumber = RunDevice["device"];
export type Place = Pick<RunDevice, "device" | "rank">;
export type Parts = Place & Pick<RunDevice, "window_ns" | "compute_ns" | "exposed_comm_ns" | "exposed_copy_ns" | "idle_ns">;
/** A figure with its unit, or why there is none. */
export type Metric = RunDevice["metrics"][string];
export type RoofOp = RunDevice["roofline"]["ops"][number];
export type KnownPeaks = RunDevice["roofline"]["peaks"];
export type Peaks = Exclude<KnownPeaks, { absent: string }>;
export type Step = RunAnalysis["steps"]["list"][number];
export type RunFinding = RunAnalysis["findings"][number];
export type KernelRow = RunAnalysis["top_kernels"][number];
export type OpRow = RunAnalysis["top_ops"][number];
export type ModelLayer = RunAnalysis["model_layers"]["devices"][number]["layers"][number];
export type Stack = RunAnalysis["model_layers"]["devices"][number]["stacks"][number];
export type Collectives = RunAnalysis["collectives"];
export type Counters = NonNullable<RunAnalysis["counters"]>;
export type CountedKernel = Counters["kernels"][number];

/** By hand. */
export interface Source {
  role: string;
  format: string;
  compression: string;
  bytes: number;
  text_bytes?: number | null;
  sha256: string;
  tool?: string | null;
  tool_version?: string;
}

/** By hand. */
export interface Shown {
  run_id: string;
  files: string[];
  format: string;
  flags: string[];
  backend: string | null;
  bundle_bytes: number;
  hardware: { devices: { device?: number | null; name?: string | null; memory_bytes?: number | null }[] };
  software: { versions: Record<string, string> };
  labels: { key: string; value: string; origin: string }[];
  tags: string[];
  baselines: string[];
  counts: { seen: number; stored: number; folded: Record<string, number>; dropped: Record<string, number> };
  health: Record<string, unknown>;
  sources: Source[];
  tables: { name: string; rows: number; bytes: number; sha256: string }[];
  window?: { start_ns: Whole; dur_ns: number };
  clock?: { kind: string };
}

/** The document of a run, as `GET runs/ID` gives it. By hand. */
export interface RunDocument {
  schema: string;
  revision: { schema: number; adapters: Record<string, number> };
  clocks: { clock_id: number; base_unix_ns: Whole; kind: string; resolution_ns: number }[];
}

/** By hand. */
export interface Predictions {
  runs?: { run_id: string; predictions: { rule: string }[] }[];
}

export type Notes = AnswerOf<"note">;
export type Note = Notes["notes"][number];

/** By hand. */
export interface Metrics {
  idle_causes: { name: string; doc: string }[];
  metrics: { id: string; name: string; formula: string; of: string; unit: string }[];
}
