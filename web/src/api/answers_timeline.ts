// The parts of `analyze` and `query` that the time line shows.

import type { Whole } from "./answers";

export interface StepOnDevice {
  device: number | string | null;
  rank: number | null;
  busy_ns: number;
  window_ns: number;
}

export interface AnalysedStep {
  label: string | null;
  phase: string | null;
  window: string;
  start_ns: Whole;
  dur_ns: number;
  devices: StepOnDevice[];
}

export interface AnalysedGap {
  start_ns: Whole;
  dur_ns: number;
  cause: string;
  host_span: string | null;
}

export interface TimelineAnalysis {
  window: { outside: { what: string; why: string; start_ns: Whole; dur_ns: number }[] };
  steps: { count: number; source: string; list: AnalysedStep[] } | null;
  devices: { device: number | string | null; rank: number | null; longest_gaps: AnalysedGap[] }[];
}

export type Cell = string | number | bigint | boolean | null;

export interface QueryAnswer {
  columns: string[];
  rows: Cell[][];
  rows_left_out: number;
}
