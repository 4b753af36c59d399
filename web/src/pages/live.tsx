// Recordings while they run: a list of them, and the picture of one with its figures.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { digits, grouped, when } from "../format/numbers";
import { Figures, TopNames } from "../live/figures";
import type { Following } from "../live/following";
import {
  addressOf, KEEPS, keptView, lengthWords, lookOf, programOf, seenSpan, stateWords, totalLost, type Head, type Look, type Recording,
} from "../live/live_data";
import { LiveStage } from "../live/live_stage";
import { useLive } from "../live/use_live";
import { useAddress } from "../parts/address";
import { CopyAs } from "../parts/copy_as";
import { Absent } from "../parts/figure";
import { Empty, Failure, Waiting } from "../parts/state";
import "../style_live.css";
import "../style_timeline.css";
import { useKeys } from "../timeline/use_keys";
import { isSame, moved, spanOf, zoomed, type View } from "../timeline/view";

const LIST_MS = 5000;
const WRITTEN_MS = 250; // after a change of the view; a browser refuses hundreds of addresses in a few seconds

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
            <td className="number">{known(one, one.recorded, grouped)}</td>
            <td className="number">{known(one, one.state === "running" ? one.rate_per_s : undefined, digits)}</td>
            <td className="number">{known(one, one.lost && totalLost(one.lost), grouped)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function known({ state }: Recording, value: number | undefined, words: (value: number) => string): ReactNode {
  if (value !== undefined) return words(value);
  return <Absent reason={state === "ended" ? "the recording has ended; its run says it" : "the recording cannot be read"} />;
}

// ---- One of them

/** Kept in the address, a moment after the last change and without a trail in the history. */
function useLook(): [Look, (part: Partial<Look>) => void] {
  const [search, setAddress] = useAddress();
  const [look, setLook] = useState(() => lookOf(search));
  const write = useRef<(look: Look) => void>(() => undefined);
  write.current = (after) => {
    const changes = addressOf(after);
    if (Object.entries(changes).some(([name, value]) => search.get(name) !== value)) setAddress(changes, true);
  };
  useEffect(() => {
    const timer = setTimeout(() => write.current(look), WRITTEN_MS);
    return () => clearTimeout(timer);
  }, [look]);
  return [look, (part) => setLook((before) => ({ ...before, ...part }))];
}

function One({ recording }: { recording: string }): ReactNode {
  const [{ keep, span, rest }, change] = useLook();
  const [width, setWidth] = useState(0);
  const following = useLive(recording, { keep, span, rest, width });
  const { head, seen, error, answers } = following;
  const setRest = (view: View | null) => change({ rest: view });

  const pause = () => {
    if (rest) setRest(null);
    else if (seen) setRest({ begin: seen.data.now_ns - span, end: seen.data.now_ns });
  };
  const look = (view: View, isMoved: boolean) => {
    if (rest || isMoved) {
      if (!rest || !isSame(rest, view)) setRest({ begin: Math.round(view.begin), end: Math.round(view.end) });
    } else if (seen) change({ span: seenSpan(spanOf(view), seen.data.keep_ns) });
  };
  const shownView = rest ?? (seen ? { begin: seen.data.now_ns - span, end: seen.data.now_ns } : { begin: 0, end: span });
  const by = (turned: (view: View, all: View) => View, isMoved: boolean) => () => {
    if (seen) look(turned(shownView, keptView(seen.data)), isMoved);
  };
  useKeys({
    " ": pause,
    w: by((view, all) => zoomed(view, 0.7, rest ? 0.5 : 1, all), false), s: by((view, all) => zoomed(view, 1.4, rest ? 0.5 : 1, all), false),
    a: by((view, all) => moved(view, -0.2, all), true), d: by((view, all) => moved(view, 0.2, all), true),
    f: () => setRest(null),
  });
  const isReady = error !== null || head !== null;
  return (
    <main id="main" className="timeline-page live-page" data-ready={isReady} data-answers={answers} data-state={head?.state} data-paused={rest !== null} data-age-ms={seen ? Math.round((seen.data.now_ns - seen.data.newest_ns) / 1e6) : undefined}>
      {error ? <Failure error={error} retry={following.retry} /> : null}
      {!isReady ? <Waiting what="Reading the recording" /> : null}
      {head ? <HeadOf head={head} following={following} /> : null}
      {seen ? (
        <>
          <Figures data={seen.data} />
          <div className="timeline-bar">
            <button aria-pressed={rest !== null} onClick={pause} title="Space">
              {rest ? "Follow" : "Pause"}
            </button>
            <span className="hint" role="status">
              {rest ? `The view rests; the recording goes on. Showing ${lengthWords(spanOf(rest))}.` : `Showing the last ${lengthWords(span)}.`}
              {following.isStale ? " The server has let go of the picture: it gets no sharper." : ""}
            </span>
            <label>
              Keep the last
              <select value={keep} onChange={(event) => change({ keep: Number(event.target.value) })}>
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

function HeadOf({ head, following: { seen, isWithoutRun } }: { head: Head; following: Following }): ReactNode {
  const command = head.run_id === null ? `neurolens live ${head.recording}` : `neurolens view ${head.run_id.slice(0, 12)}`;
  return (
    <>
      <h1>
        {head.command === "" ? "Recording" : <span title={shown(head.command, 1000)}>{shown(programOf(head.command), 80)}</span>} <span className="hint">since {when(head.started_at_ns)}</span>
      </h1>
      <p className="verdict" role="status" data-run={head.run_id ?? undefined}>
        <strong>{stateWords(head, seen?.data.behind_bytes ?? 0, isWithoutRun)}</strong>
        {isWithoutRun ? (
          <>
            {" "}
            <code>neurolens record --recover</code> looks for what is left.
          </>
        ) : null}
        {head.run_id === null ? null : (
          <>
            {" "}
            Its run is <Link href={`/runs/${head.run_id}`}>{head.run_id.slice(0, 12)}</Link>; to look at it later: <code>{command}</code>
          </>
        )}
        <CopyAs ways={{ command, link: () => location.href }} />
      </p>
    </>
  );
}
