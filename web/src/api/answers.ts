// The parts of answers that pages show. They are checked against the server's OpenAPI document by a test.

export type Whole = number | bigint;

export interface RunRow {
  run_id: string;
  file_names: string;
  format: string;
  backend: string | null;
  device: string | null;
  devices: number;
  kernels: number;
  records: number;
  dropped: number;
  imported_at_ns: Whole;
  labels: Record<string, string>;
  tags: string[];
}

export interface Runs {
  runs: RunRow[];
  total: number;
  matching: number;
  facets?: { key: string; distinct: number; without: number; values: { value: string; runs: number }[] }[];
}

export interface TimelineTrack {
  track: number;
  title: string;
  process: string;
  kind: string;
  device: number | null;
  stream: number | null;
  rank: number | null;
}

export interface TimelineRow {
  row: number;
  track: number;
  depth: number;
  lane: number;
  spans: number;
  busy_ns: number;
}

export interface TimelineRows {
  run_id: string;
  origin_ns: Whole;
  begin_ns: number;
  end_ns: number;
  spans: number;
  not_placed: number;
  tracks: TimelineTrack[];
  rows: TimelineRow[];
}

export interface SpanFound {
  row: number;
  table: string;
  id: number;
  name: string;
  start_ns: number;
  dur_ns: number;
}

export interface SearchAnswer {
  count: number;
  next: SpanFound | null;
  previous: SpanFound | null;
}

/** A figure, or why there is none: it cannot be shown as a number by mistake. */
export type Known = { value: number } | { absent_reason: string };

export interface AreaName {
  name: string;
  count: number;
  sum_ns: number;
  union_ns: Known;
  mean_ns: number;
  min_ns: number;
  max_ns: number;
}

export interface AreaAnswer {
  count: number;
  sum_ns: number;
  by_name: AreaName[];
  not_shown: number;
}

export interface Suggestion {
  text: string;
  gain_ns?: number | null;
  at_most?: boolean;
}

export interface Finding {
  rule: string;
  title: string;
  confidence: string;
  device: number | null;
  rank: number | null;
  at_stake_ns: number | null;
  evidence: { text: string; value?: number; unit?: string; absent?: string }[];
  suggestions: Suggestion[];
}

export interface Device {
  device: number;
  rank: number | null;
  name: string;
  window_ns: number;
  compute_ns: number;
  exposed_comm_ns: number;
  exposed_copy_ns: number;
  idle_ns: number;
  idle_causes: Record<string, number>;
  classes: Record<string, number>;
  longest_gaps: { start_ns: Whole; dur_ns: number; cause: string; host_span: string | null }[];
}

export interface Analysis {
  run_id: string;
  window: { name: string; why: string; total_ns: number };
  devices: Device[];
  limiters: { what: string; words: string; share: number; time_ns: number; device: number | null }[];
  findings: Finding[];
  notes: { id: string; text: string }[];
  steps: { count: number; list: { label: string; start_ns: Whole; dur_ns: number; window: string }[] } | null;
  top_kernels: { name: string; label: string; class: string; calls: number; total_ns: number; share: number; longest_row: number | null }[];
  top_ops: { name: string; calls: number; device_ns: number; share: number }[];
  undecided: string | null;
}
