// Parts of answers that only the pages of one run show.

import type { Whole } from "./answers";

/** Of a device: its number, "cpu" for the host, or not known. */
export type DeviceNumber = number | string | null;

export interface Place {
  device: DeviceNumber;
  rank: number | null;
}

export interface Remark {
  id: string;
  text: string;
}

/** A figure with its unit, or why there is none. */
export interface Metric {
  definition: string;
  unit: string;
  value?: number;
  absent?: string;
}

export interface Parts extends Place {
  window_ns: number;
  compute_ns: number;
  exposed_comm_ns: number;
  exposed_copy_ns: number;
  idle_ns: number;
}

export interface Gap {
  start_ns: Whole;
  dur_ns: number;
  cause: string;
  host_span: string | null;
}

export interface Peaks {
  bandwidth: number | null;
  dense: Record<string, number>;
  device: string;
  source: string;
}

export type KnownPeaks = Peaks | { absent: string };

export interface RoofOp {
  name: string;
  class: string;
  dtype: string;
  calls: number;
  kernel_ns: number;
  flops: number;
  bytes: number;
  flops_per_s: number | null;
  bytes_per_s: number | null;
  intensity: number | null;
  roof_share: number | null;
  bound?: string;
  absent?: string;
  model_or_peak_error?: boolean;
}

export interface RunDevice extends Parts {
  kind: "device" | "host";
  name: string | null;
  busy_ns: number;
  comm_ns: number;
  copy_ns: number;
  idle_causes: Record<string, number>;
  longest_gaps: Gap[];
  metrics: Record<string, Metric>;
  roofline: { kernel_ns: number; modelled_ns: number; ops: RoofOp[]; peaks: KnownPeaks; without_model: Record<string, number> };
}

export interface Step {
  label: string | null;
  phase: string | null;
  start_ns: Whole;
  dur_ns: number;
  window: string;
  devices: Parts[];
}

export interface RunFinding extends Place {
  rule: string;
  title: string;
  confidence: string;
  proof: string;
  at_stake_ns: number;
  references: string[];
  evidence: { of: string; text: string; unit: string; value: number | null; absent_reason?: string }[];
  suggestions: { suggestion: number; text: string; gain_ns: number | null; at_most: boolean; absent_reason?: string }[];
}

export interface KernelRow extends Place {
  name: string;
  label: string;
  class: string;
  family: string;
  is_copy: boolean;
  calls: number;
  total_ns: number;
  mean_ns: number | null;
  longest_ns: number;
  longest_row: number;
  share: number | null;
  exposed_share: number | null;
}

export interface OpRow {
  name: string;
  op_type: string | null;
  class: string;
  owner: string;
  calls: number | null;
  share: number | null;
  device?: DeviceNumber;
  rank?: number | null;
  device_ns?: number;
  own_ns?: number;
  kernels?: number;
  fusion?: string;
}

export interface ModelLayer {
  index: number;
  stack: string;
  calls: number;
  device_ns: number;
  self_ns: number;
  kernels: number;
}

export interface Stack {
  name: string;
  layers: number;
  calls: number;
  device_ns: number;
  share: number | null;
  fastest_ns: number;
  median_ns: number;
  slowest_ns: number;
  slowest: number;
}

export interface Wait {
  rank: number;
  wait_ns: number;
  last: number;
}

export interface CollectiveKind {
  kind: string;
  group: string;
  group_size: number | null;
  calls: number;
  collectives: number;
  bytes_p50: number | null;
  dur_p50_ns: number | null;
  transfer_p50_ns: number | null;
  total_ns: number;
  busbw_bytes_per_s: number | null;
}

export interface Collectives {
  absent?: string;
  calls: number;
  matched: number | null;
  ranks: number[];
  waits: Wait[];
  kinds: CollectiveKind[];
  point_to_point: { rank: number; kind: string; calls: number; total_ns: number }[];
  straggler: { rank: number; most_often_last: number; last_share: number; waited_ns: number; window_share: number | null } | null;
  clocks: { agree: boolean | null; bound_p50_ns: number | null; compared: number; methods: string[] } | null;
}

export interface CountedKernel {
  kernel: string;
  label: string;
  launches: number;
  replay_ns: number | null;
  share: number | null;
  bound: string | null;
  dtype: string | null;
  device: string | null;
  flops_per_s: number | null;
  intensity: number | null;
  roof_share: number | null;
  roof_bound: string | null;
  achieved_occupancy_pct: number | null;
  theoretical_occupancy_pct: number | null;
  sm_pct: number | null;
  memory_pct: number | null;
  dram_pct: number | null;
  dram_bytes: number | null;
  dram_bytes_per_s: number | null;
  l1_hit_pct: number | null;
  l2_hit_pct: number | null;
  tensor_pct: number | null;
  warp_efficiency_pct: number | null;
  ipc: number | null;
  registers: number | null;
  sm_clock_hz: number | null;
  absent: Record<string, string>;
  evidence: { stall_shares: Record<string, number> };
}

export interface Counters {
  launches: number;
  measured: number;
  replay_ns: number;
  devices: { name: string | null; peaks: KnownPeaks }[];
  kernels: CountedKernel[];
  diagnosis: { id: string; kernel: string; label: string; text: string }[];
  advice: { kernel: string; label: string; rule: string | null; text: string; speedup_pct: number | null; times: number }[];
}

export interface Serving {
  phase: string;
  engine: string;
  steps: number;
  median_ns: number;
  total_ns: number;
  tokens_per_s: number | null;
  ns_per_output_token: number | null;
  prefill_tokens: number | null;
  decode_tokens: number | null;
}

export interface RunAnalysis {
  run_id: string;
  window: { name: string; why: string | null; total_ns: number; capture_ns: number };
  devices: RunDevice[];
  limiters: { what: string; words: string; share: number; time_ns: number }[];
  undecided: Remark | null;
  findings: RunFinding[];
  abstentions: { rule: string; reason: string }[];
  notes: Remark[];
  host_remarks: Remark[];
  steps: { count: number; source: string; without_work: number; list: Step[] };
  phases: (Place & { phase: string; ranges: number; kernels: number; device_ns: number; host_ns: number })[];
  serving: Serving[];
  inference_times: { count: number; p50_ns: number; p90_ns: number | null; p99_ns: number | null; per_second: number } | null;
  top_kernels: KernelRow[];
  top_ops: OpRow[];
  top_modules: (Place & { path: string | null; device_ns: number; kernels: number })[];
  model_layers: { absent: string | null; devices: (Place & { source: string; layers: ModelLayer[]; stacks: Stack[]; remarks: Remark[] })[] };
  layers: { count: number; timed: number; total_ns: number; classes: Record<string, number>; top: OpRow[]; remarks: Remark[] } | null;
  collectives: Collectives;
  counters: Counters | null;
}

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
}

/** The document of a run, as `GET runs/ID` gives it. */
export interface RunDocument {
  schema: string;
  revision: { schema: number; adapters: Record<string, number> };
  clocks: { clock_id: number; base_unix_ns: Whole; kind: string; resolution_ns: number }[];
}

export interface Similar {
  searched: number;
  not_comparable: number;
  runs: { run_id: string; distance: number; file_names?: string; labels?: Record<string, string>; dimensions: { name: string; agrees: boolean }[] }[];
}

export interface Predictions {
  runs?: { run_id: string; predictions: { rule: string }[] }[];
}

export interface Note {
  note: number;
  about: string;
  text: string;
  user: string;
  written_at_ns: Whole;
  until_ns?: Whole;
  until_user?: string;
}

export interface Notes {
  notes: Note[];
  past_notes?: Note[];
}

export interface Metrics {
  idle_causes: { name: string; doc: string }[];
  metrics: { id: string; name: string; formula: string; of: string; unit: string }[];
}

export type Cell = string | number | bigint | boolean | null;

export interface QueryRows {
  columns: string[];
  rows: Cell[][];
  rows_left_out: number;
}
