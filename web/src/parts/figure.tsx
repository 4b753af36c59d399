import type { ReactNode } from "react";
import { shown } from "../format/names";
import { duration, exactNs } from "../format/numbers";
import type { Known } from "../api/answers";

/** Absent is a dash with its reason, never 0. The reason may hold a name of the run. */
export function Absent({ reason, word = "—" }: { reason: string; word?: string }): ReactNode {
  const text = shown(reason, 500);
  return (
    <span className="absent" tabIndex={0} title={text} aria-label={`not known: ${text}`}>
      {word}
    </span>
  );
}

/** What makes a figure tell its definition, see definitions.tsx: the id of its metric, or words. */
export function defined(define: string | undefined): Record<string, string | number> {
  return define ? { "data-define": define, tabIndex: 0 } : {};
}

export function Time({ ns, define }: { ns: number | null | undefined; define?: string | undefined }): ReactNode {
  if (ns === null || ns === undefined) return <Absent reason="the run does not say" />;
  return (
    <span className="figure" title={exactNs(ns)} {...defined(define)}>
      {duration(ns)}
    </span>
  );
}

export function KnownTime({ figure }: { figure: Known }): ReactNode {
  return "value" in figure ? <Time ns={figure.value} /> : <Absent reason={figure.absent_reason} />;
}
