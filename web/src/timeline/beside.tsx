// A second run under the first, its time shifted so that the chosen step begins together.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { TimelineRows } from "../api/answers";
import type { TimelineAnalysis } from "../api/answers_timeline";
import { ask } from "../api/ask";
import { duration, exactNs, signedDuration } from "../format/numbers";
import { Absent } from "../parts/figure";
import { Failure, Waiting } from "../parts/state";
import type { Source } from "./lines";
import { busyOf, stepsOf, type Step } from "./steps";

export interface BesideRun {
  source: Source | null; // null while it is not there
  steps: readonly Step[]; // in the time of the picture
  isAligned: boolean;
  error: unknown;
}

/** The shift that makes both steps begin together; null if one of the runs has no such step. */
export function shiftFor(own: Step | undefined, other: Step | undefined): number | null {
  return own && other ? own.begin - other.begin : null;
}

export function useRows(id: string): ReturnType<typeof useQuery<TimelineRows>> {
  return useQuery({
    queryKey: ["timeline", id], enabled: id !== "", queryFn: async ({ signal }) => (await ask<TimelineRows>("timeline", { run: id }, signal)).data,
  });
}

/** Steps, gaps and their causes take longer than the picture: they come when they are there. */
export function useAnalysis(id: string): ReturnType<typeof useQuery<TimelineAnalysis>> {
  return useQuery({
    queryKey: ["timeline-analysis", id], enabled: id !== "", queryFn: async ({ signal }) => (await ask<TimelineAnalysis>("analyze", { run: id }, signal)).data,
  });
}

export function useBeside(id: string, step: number, own: readonly Step[]): BesideRun | null {
  const rows = useRows(id);
  const analysis = useAnalysis(id);
  if (id === "") return null;
  const error = rows.error ?? analysis.error;
  if (!rows.data || !analysis.data) return { source: null, steps: [], isAligned: false, error };
  const shift = shiftFor(own[step], stepsOf(analysis.data, rows.data.origin_ns)[step]);
  return {
    source: { id, data: rows.data, shift: shift ?? 0 },
    steps: stepsOf(analysis.data, rows.data.origin_ns, shift ?? 0),
    isAligned: shift !== null,
    error,
  };
}

interface StripProps {
  beside: BesideRun;
  steps: readonly Step[];
  step: number;
  change: (step: number) => void;
  close: () => void;
}

/** The chosen step of both runs, and how they differ. */
export function BesideStrip({ beside, steps, step, change, close }: StripProps): ReactNode {
  if (beside.error) return <Failure error={beside.error} />;
  if (!beside.source) return <Waiting what="Reading the run beside" />;
  const [own, other] = [steps[step], beside.steps[step]];
  const most = Math.min(steps.length, beside.steps.length);
  return (
    <div className="beside" role="group" aria-label="The run beside">
      <strong>Beside: {beside.source.id.slice(0, 12)}</strong>
      {most > 0 ? (
        <label>
          aligned by step{" "}
          <select value={step} onChange={(event) => change(Number(event.target.value))}>
            {steps.slice(0, most).map((one, n) => (
              <option key={one.window} value={n}>
                {n}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {beside.isAligned ? null : <span>One of the runs has no step {step}: their first spans begin together.</span>}
      {own && other ? (
        <>
          <Pair title="Length of the step" own={own.end - own.begin} other={other.end - other.begin} />
          <Pair title="Busy time of its devices" own={busyOf(own)} other={busyOf(other)} />
        </>
      ) : null}
      <button onClick={close}>Remove it</button>
    </div>
  );
}

function Pair({ title, own, other }: { title: string; own: number | null; other: number | null }): ReactNode {
  if (own === null || other === null)
    return (
      <span>
        {title} <Absent reason="the analysis tells no device of the step" />
      </span>
    );
  const more = other - own;
  return (
    <span title={`${exactNs(own)} and ${exactNs(other)}`}>
      {title}: {duration(own)} here, {duration(other)} beside, <span className={more > 0 ? "worse" : "better"}>{signedDuration(more)}</span>
    </span>
  );
}
