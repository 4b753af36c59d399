// Steps, and what is around them, as `analyze` finds them: in the time of the picture.

import { difference } from "../api/exact_json";
import type { Whole } from "../api/answers";
import type { StepOnDevice, TimelineAnalysis } from "../api/answers_timeline";
import type { View } from "./view";

export interface Step extends View {
  label: string;
  phase: string | null;
  window: string; // as the command line names it
  devices: StepOnDevice[];
}

/** Time that belongs to no step: set-up, warm-up, tail. */
export interface Outside extends View {
  what: string;
  why: string;
}

export function stepsOf(analysis: TimelineAnalysis, origin: Whole): Step[] {
  return analysis.steps.list.map((step) => {
    const begin = difference(step.start_ns, origin);
    return { label: step.label ?? step.window, phase: step.phase, window: step.window, devices: step.devices, begin, end: begin + step.dur_ns };
  });
}

export function outsideOf(analysis: TimelineAnalysis, origin: Whole): Outside[] {
  return analysis.window.outside.map((one) => {
    const begin = difference(one.start_ns, origin);
    return { what: one.what.replaceAll("_", " "), why: one.why, begin, end: begin + one.dur_ns };
  });
}

/** The step before or after the one that lies in the middle of the view. */
export function stepFrom(steps: readonly Step[], view: View, way: "next" | "previous"): Step | null {
  const middle = (view.begin + view.end) / 2;
  if (way === "next") return steps.find((step) => step.begin > middle) ?? null;
  const own = steps.findLast((step) => step.begin <= middle);
  if (own && middle >= own.end) return own;
  return steps.findLast((step) => own !== undefined && step.begin < own.begin) ?? null;
}

/** The step that a stretch lies in. */
export function stepAround(steps: readonly Step[], stretch: View): Step | null {
  return steps.find((step) => step.begin <= Math.round(stretch.begin) && Math.round(stretch.end) <= step.end) ?? null;
}

/** A stretch of the time line as the name of a window, in times as the tables have them; the whole run if it is all of it. */
export function windowOf(stretch: View, all: View, origin: Whole): string {
  if (stretch.begin <= all.begin && stretch.end >= all.end) return "whole";
  const time = (at: number): bigint => BigInt(origin) + BigInt(Math.round(at));
  return `ns:${time(stretch.begin)}..${time(stretch.end)}`;
}

/** Busy time of a step, over all devices of its run; null if none is told. */
export function busyOf(step: Step | undefined): number | null {
  return step && step.devices.length > 0 ? step.devices.reduce((sum, one) => sum + one.busy_ns, 0) : null;
}
