// The parts of `analyze` that the time line shows.

import type { AnswerOf, Cell, QueryRows } from "./answers";

type Analysis = AnswerOf<"analyze">;
type Device = Analysis["devices"][number];
type Step = Analysis["steps"]["list"][number];

export type StepOnDevice = Pick<Step["devices"][number], "device" | "rank" | "busy_ns" | "window_ns">;
export type AnalysedStep = Pick<Step, "label" | "phase" | "window" | "start_ns" | "dur_ns"> & { devices: StepOnDevice[] };
export type AnalysedGap = Pick<Device["longest_gaps"][number], "start_ns" | "dur_ns" | "cause" | "host_span">;

export interface TimelineAnalysis {
  window: { outside: Pick<Analysis["window"]["outside"][number], "what" | "why" | "start_ns" | "dur_ns">[] };
  steps: { count: number; source: string; list: AnalysedStep[] };
  devices: (Pick<Device, "device" | "rank"> & { longest_gaps: AnalysedGap[] })[];
}

export type { Cell, QueryRows as QueryAnswer };
