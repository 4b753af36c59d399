import type { ReactNode } from "react";
import { duration, exactNs } from "../format/numbers";
import type { Known } from "../api/answers";

/** Absent is a dash with its reason, never 0. */
export function Absent({ reason }: { reason: string }): ReactNode {
  return (
    <span className="absent" tabIndex={0} title={reason} aria-label={`not known: ${reason}`}>
      —
    </span>
  );
}

export function Time({ ns }: { ns: number | null | undefined }): ReactNode {
  if (ns === null || ns === undefined) return <Absent reason="the run does not say" />;
  return (
    <span className="figure" title={exactNs(ns)}>
      {duration(ns)}
    </span>
  );
}

export function KnownTime({ figure }: { figure: Known }): ReactNode {
  return "value" in figure ? <Time ns={figure.value} /> : <Absent reason={figure.absent_reason} />;
}
