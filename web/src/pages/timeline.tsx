// The page of a run's time line: waits for its rows, then shows them.

import { useMemo, type ReactNode } from "react";
import { useSearch } from "wouter";
import { grouped } from "../format/numbers";
import { OFFLINE } from "../offline/mode";
import { ExtrasLeftOut, SpansLeftOut } from "../offline/not_here";
import { Empty, Failure, Waiting } from "../parts/state";
import "../style_timeline.css";
import { useRows } from "../timeline/beside";
import { withTimeOf } from "../timeline/extras";
import { TABLES } from "../timeline/tiles";
import { Timeline } from "../timeline/timeline";
import { useExtraRows } from "../timeline/use_extras";
import { RunHead } from "./run";
import { useShown } from "./run/asked";

const PLACED = new Set<string>(TABLES);

/** The first time takes as long as there are spans. */
function makingText(spans: number): string {
  return spans === 0 ? "Making the time line" : `Making the time line of ${grouped(spans)} ${spans === 1 ? "span" : "spans"}`;
}

export default function TimelinePage({ id }: { id: string }): ReactNode {
  const rows = useRows(id);
  const extras = useExtraRows(id);
  const spans = useShown(id).data?.tables.reduce((sum, one) => sum + (PLACED.has(one.name) ? one.rows : 0), 0) ?? 0;
  const hasSpans = (rows.data?.rows.length ?? 0) > 0;
  const data = useMemo(() => (rows.data && (hasSpans || extras.data) ? withTimeOf(rows.data, extras.data ?? []) : null), [rows.data, extras.data, hasSpans]);
  useSearch(); // the head of the page copies its address
  const count = (kind: string) => extras.data?.filter((row) => row["of_kind"] === kind).length ?? 0;
  const hasTime = hasSpans || (extras.data?.length ?? 0) > 0;
  const isShown = hasSpans || (hasTime && !OFFLINE);
  const error = rows.error ?? (hasSpans ? null : extras.error);
  return (
    <main id="main" className="timeline-page" data-ready={error !== null || (data !== null && !isShown) ? "true" : undefined}>
      <RunHead id={id} at="timeline" />
      {OFFLINE ? <SpansLeftOut id={id} /> : null}
      {OFFLINE ? <ExtrasLeftOut id={id} series={count("series")} stacks={count("stacks")} /> : null}
      {error ? <Failure error={error} retry={() => void Promise.all([rows.refetch(), extras.refetch()])} /> : null}
      {!error && data === null ? <Waiting what={makingText(spans)} /> : null}
      {data !== null && !hasTime ? (
        <Empty>
          Nothing in this run has a time
          {data.not_placed > 0 ? `: ${grouped(data.not_placed)} records have none` : ""}. What it has is on its overview.
        </Empty>
      ) : null}
      {data !== null && isShown ? <Timeline id={id} data={data} /> : null}
    </main>
  );
}
