// A second run under the first, its time shifted so that the chosen step begins together.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { TimelineRows } from "../api/answers";
import { ask } from "../api/ask";
import { duration, exactNs, signedDuration } from "../format/numbers";
import { RunName } from "../pages/runs/picker";
import { Absent } from "../parts/figure";
import { Failure, Waiting } from "../parts/state";
import type { NamedGap } from "./idle";
import type { Source } from "./lines";
import { busyOf, type Step } from "./steps";
import { useAnalysed, type Analysed } from "./use_analysed";

export interface BesideRun {
  id: string;
  source: Source | null; // null while it is not there
  steps: readonly Step[] | null; // in the time of its run; null: not read yet, or it failed
  gaps: readonly NamedGap[] | null;
  isAligned: boolean;
  error: unknown;
  retry: () => void;
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

/** It is shown once it is known where it lies: when the steps of both runs are read, or cannot be. */
export function useBeside(id: string, step: number, own: Analysed): BesideRun | null {
  const rows = useRows(id);
  const other = useAnalysed(id, rows.data?.origin_ns);
  if (id === "") return null;
  const isPlaced = [own, other].every((one) => one.steps !== null || one.error !== null);
  const shift = shiftFor(own.steps?.[step], other.steps?.[step]);
  return {
    id,
    source: rows.data && isPlaced ? { id, data: rows.data, shift: shift ?? 0 } : null,
    steps: other.steps,
    gaps: other.gaps,
    isAligned: shift !== null,
    error: rows.error ?? other.error,
    retry: rows.error ? () => void rows.refetch() : other.retry,
  };
}

interface StripProps {
  beside: BesideRun;
  steps: readonly Step[] | null;
  step: number;
  change: (step: number) => void;
  close: () => void;
}

/** The chosen step of both runs, and how they differ. */
export function BesideStrip({ beside, steps, step, change, close }: StripProps): ReactNode {
  const [own, other] = [steps?.[step], beside.steps?.[step]];
  const most = Math.min(steps?.length ?? 0, beside.steps?.length ?? 0);
  return (
    <div className="beside" role="group" aria-label="The run beside">
      <strong>
        Beside: <RunName id={beside.id} />
      </strong>
      {beside.error ? <Failure error={beside.error} retry={beside.retry} /> : null}
      {beside.source === null && !beside.error ? <Waiting what="Reading the run beside, and the steps of both" /> : null}
      {most > 0 ? (
        <label>
          aligned by step{" "}
          <select value={step} onChange={(event) => change(Number(event.target.value))}>
            {steps?.slice(0, most).map((one, n) => (
              <option key={one.window} value={n}>
                {n}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {beside.source && !beside.isAligned ? (
        <span>
          {steps && beside.steps ? `One of the runs has no step ${step}` : "The steps of one of the runs could not be read"}: their first spans begin together.
        </span>
      ) : null}
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
      {title}: {duration(own)} here, {duration(other)} beside, <span className={more > 0 ? "worse" : more < 0 ? "better" : ""}>{signedDuration(more)}</span>
    </span>
  );
}
