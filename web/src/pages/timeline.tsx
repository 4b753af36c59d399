// The page of a run's time line: waits for its rows, then shows them.

import type { ReactNode } from "react";
import { useSearch } from "wouter";
import { grouped } from "../format/numbers";
import { Empty, Failure, Waiting } from "../parts/state";
import "../style_timeline.css";
import { useRows } from "../timeline/beside";
import { Timeline } from "../timeline/timeline";
import { RunHead } from "./run";

export default function TimelinePage({ id }: { id: string }): ReactNode {
  const rows = useRows(id);
  useSearch(); // the head of the page copies its address
  const isDone = rows.error !== null || rows.data?.rows.length === 0;
  return (
    <main id="main" className="timeline-page" data-ready={isDone ? "true" : undefined}>
      <RunHead id={id} at="timeline" />
      {rows.error ? <Failure error={rows.error} retry={() => void rows.refetch()} /> : null}
      {rows.isPending ? <Waiting what="Making the time line" /> : null}
      {rows.data?.rows.length === 0 ? (
        <Empty>
          Nothing in this run has a time
          {rows.data.not_placed > 0 ? `: ${grouped(rows.data.not_placed)} records have none` : ""}. What it has is on its overview.
        </Empty>
      ) : null}
      {rows.data && rows.data.rows.length > 0 ? <Timeline id={id} data={rows.data} /> : null}
    </main>
  );
}
