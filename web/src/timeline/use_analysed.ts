// What `analyze` finds of a run, in the time of its run: steps, gaps and their causes. It takes longer than the picture, which does not wait for it.

import { useMemo } from "react";
import type { Whole } from "../api/answers";
import { STEADY, useAnalysisOf, useMetrics } from "../pages/run/asked";
import { causesOf } from "../pages/run/figures";
import { gapsOf, type NamedGap } from "./idle";
import { outsideOf, stepsOf, type Outside, type Step } from "./steps";

export interface Analysed {
  steps: readonly Step[] | null; // null: not read yet, or it failed; the same for gaps
  count: number; // of all steps, also of those that are not listed
  outside: readonly Outside[];
  gaps: readonly NamedGap[] | null;
  error: unknown;
  retry: () => void;
}

const NONE: readonly Outside[] = [];

/** `origin` is undefined until the rows of the run are there. */
export function useAnalysed(id: string, origin: Whole | undefined): Analysed {
  const analysis = useAnalysisOf(id, STEADY);
  const metrics = useMetrics().data;
  const data = analysis.data?.data;
  const found = useMemo(() => {
    if (!data || origin === undefined) return { steps: null, count: 0, outside: NONE, gaps: null };
    return { steps: stepsOf(data, origin), count: data.steps.count, outside: outsideOf(data, origin), gaps: gapsOf(data, origin, causesOf(metrics)) };
  }, [data, origin, metrics]);
  return { ...found, error: analysis.error, retry: () => void analysis.refetch() };
}
