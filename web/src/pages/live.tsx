// Recordings while they run: a list of them, and the picture of one with its figures.

import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { digits, duration, grouped, when } from "../format/numbers";
import { Figures, TopNames } from "../live/figures";
import { keptView, programOf, stateWords, totalLost, type Live, type Recording } from "../live/live_data";
import { LiveStage } from "../live/live_stage";
import { useLive } from "../live/use_live";
import { CopyAs } from "../parts/copy_as";
import { Empty, Failure, Waiting } from "../parts/state";
import "../style_live.css";
import "../style_timeline.css";
import { useKeys } from "../timeline/use_keys";
import { isSame, moved, spanOf, zoomed, type View } from "../timeline/view";

const LIST_MS = 1000;
const KEEPS = [10, 30, 60, 120, 300]; // s
const SPAN = 10e9; // ns that are seen at first
const SHORTEST = 1e6; // ns, while it is followed

export default function LivePage({ recording }: { recording?: string }): ReactNode {
  return recording === undefined ? <List /> : <One key={recording} recording={recording} />;
}

// ---- All that run

function List(): ReactNode {
  const list = useQuery({
    queryKey: ["live"], staleTime: 0, refetchInterval: LIST_MS,
    queryFn: async ({ signal }) => await ask<{ recordings: Recording[] }>("live", {}, signal),
  });
  return (
    <main id="main" data-ready={list.data !== undefined || list.error !== null}>
      <h1>Live</h1>
      {list.error ? <Failure error={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Waiting what="Looking for recordings" /> : null}
      {list.data?.warnings.map((one) => <p key={one} className="hint">{shown(one, 300)}</p>)}
      {list.data && list.data.data.recordings.length === 0 ? (
        <Empty>
          Nothing is being recorded. To look at a program while it runs: <code>neurolens record --live -- python serve.py</code>
        </Empty>
      ) : null}
      {list.data && list.data.data.recordings.length > 0 ? <Recordings list={list.data.data.recordings} /> : null}
    </main>
  );
}

function Recordings({ list }: { list: readonly Recording[] }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>Recording</th>
          <th>Command</th>
          <th>Since</th>
          <th>State</th>
          <th className="number">Markers</th>
          <th className="number">Markers a second</th>
          <th className="number">Lost</th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={one.recording}>
            <td>
              <Link href={`/live/${one.recording}`}>{shown(one.recording, 40)}</Link>
            </td>
            <td title={shown(one.command, 1000)}>{shown(programOf(one.command), 60)}</td>
            <td>{when(one.started_at_ns)}</td>
            <td>{one.state}</td>
            <td className="number">{grouped(one.recorded)}</td>
            <td className="number">{digits(one.rate_per_s)}</td>
            <td className="number">{grouped(totalLost(one.lost))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// ---- One of them

function One({ recording }: { recording: string }): ReactNode {
  const [keep, setKeep] = useState(30);
  const [span, setSpan] = useState(SPAN);
  const [rest, setRest] = useState<View | null>(null);
  const [width, setWidth] = useState(0);
  const { seen, error, answers } = useLive(recording, { keep, span, rest, width });

  const pause = () => {
    if (rest) setRest(null);
    else if (seen) setRest({ begin: seen.data.now_ns - span, end: seen.data.now_ns });
  };
  const look = (view: View, isMoved: boolean) => {
    if (rest || isMoved) {
      if (!rest || !isSame(rest, view)) setRest({ begin: Math.round(view.begin), end: Math.round(view.end) });
    } else if (seen) setSpan(Math.min(Math.max(spanOf(view), SHORTEST), seen.data.keep_ns));
  };
  const shownView = rest ?? (seen ? { begin: seen.data.now_ns - span, end: seen.data.now_ns } : { begin: 0, end: span });
  const by = (change: (view: View, all: View) => View, isMoved: boolean) => () => {
    if (seen) look(change(shownView, keptView(seen.data)), isMoved);
  };
  useKeys({
    " ": pause,
    w: by((view, all) => zoomed(view, 0.7, rest ? 0.5 : 1, all), false), s: by((view, all) => zoomed(view, 1.4, rest ? 0.5 : 1, all), false),
    a: by((view, all) => moved(view, -0.2, all), true), d: by((view, all) => moved(view, 0.2, all), true),
    f: () => setRest(null),
  });
  const isReady = error !== null || seen !== null;
  return (
    <main id="main" className="timeline-page live-page" data-ready={isReady} data-answers={answers} data-state={seen?.data.state} data-paused={rest !== null} data-age-ms={seen ? Math.round((seen.data.now_ns - seen.data.newest_ns) / 1e6) : undefined}>
      {error ? <Failure error={error} /> : null}
      {!isReady ? <Waiting what="Reading the recording" /> : null}
      {seen ? (
        <>
          <Head data={seen.data} />
          <Figures data={seen.data} />
          <div className="timeline-bar">
            <button aria-pressed={rest !== null} onClick={pause} title="Space">
              {rest ? "Follow" : "Pause"}
            </button>
            <span className="hint" role="status">
              {rest ? `The view rests; the recording goes on. ${duration(spanOf(rest))} are seen.` : `The last ${duration(span)} are seen.`}
            </span>
            <label>
              Keep the last
              <select value={keep} onChange={(event) => setKeep(Number(event.target.value))}>
                {KEEPS.map((one) => (
                  <option key={one} value={one}>
                    {one} s
                  </option>
                ))}
              </select>
            </label>
          </div>
          <LiveStage seen={seen} view={shownView} setWidth={setWidth} look={look} />
          <div className="details small">
            <TopNames data={seen.data} />
          </div>
        </>
      ) : null}
    </main>
  );
}

function Head({ data }: { data: Live }): ReactNode {
  const command = data.run_id === null ? `neurolens live ${data.recording}` : `neurolens view ${data.run_id.slice(0, 12)}`;
  return (
    <>
      <h1>
        {data.command === "" ? "Recording" : <span title={shown(data.command, 1000)}>{shown(programOf(data.command), 80)}</span>} <span className="hint">since {when(data.started_at_ns)}</span>
      </h1>
      <p className="verdict" role="status" data-run={data.run_id ?? undefined}>
        <strong>{stateWords(data)}</strong>
        {data.run_id === null ? null : (
          <>
            {" "}
            Its run is <Link href={`/runs/${data.run_id}`}>{data.run_id.slice(0, 12)}</Link>; to look at it later: <code>{command}</code>
          </>
        )}
        <CopyAs ways={{ command, link: location.href }} />
      </p>
    </>
  );
}
