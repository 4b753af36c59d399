// What needs a server is said in a sentence, with the command that answers it.

import type { ReactNode } from "react";
import { CopyAs } from "../parts/copy_as";
import { site, type LeftOut } from "./data";
import { duration, exactNs, grouped } from "../format/numbers";

/** A page that a file cannot have. */
export function NotHerePage({ title, what, command }: { title: string; what: string; command: string }): ReactNode {
  return (
    <main id="main" data-ready="true">
      <h1>{title}</h1>
      <NotHere what={what} command={command} />
    </main>
  );
}

export function NotHere({ what, command }: { what: string; command: string }): ReactNode {
  return (
    <div className="empty not-here" role="note">
      {what} Type this where the run is: <code className="mono">{command}</code> <CopyAs ways={{ command }} />
    </div>
  );
}

/** Of counters and sampled stacks a file knows only that they are there. */
export function ExtrasLeftOut({ id, series, stacks }: { id: string; series: number; stacks: number }): ReactNode {
  const kinds = [series > 0 ? `counters (${grouped(series)} series)` : "", stacks > 0 ? `sampled stacks (of ${grouped(stacks)} threads)` : ""];
  const what = kinds.filter((kind) => kind !== "").join(" and ");
  return what === "" ? null : <NotHere what={`The time line of this file has no ${what}; the run has them.`} command={`neurolens view ${id.slice(0, 12)}`} />;
}

/** Which spans of a time line were too many for the file. */
export function SpansLeftOut({ id }: { id: string }): ReactNode {
  const left: LeftOut | undefined = site().left_out[id];
  if (!left) return null;
  return (
    <p className="banner" role="note">
      {grouped(left.spans)} spans are not in this file: all that took less than <span title={exactNs(left.shorter_than_ns)}>{duration(left.shorter_than_ns)}</span>, and
      some that took as long. Counts and sums of stretches lack them. All are in <code className="mono">neurolens view {id.slice(0, 12)}</code>
    </p>
  );
}
