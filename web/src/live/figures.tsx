// The figures above the picture, and the names that took the most time of the last seconds.

import type { ReactNode } from "react";
import { shown } from "../format/names";
import { digits, duration, grouped } from "../format/numbers";
import { Absent, Time } from "../parts/figure";
import { lengthWords, lostWords, totalLost, type Live } from "./live_data";

/** How many, with what the number means on hover. */
function Figure({ name, value, about, of }: { name: string; value: ReactNode; about: string; of: string }): ReactNode {
  return (
    <div className="live-figure" title={about}>
      <dt>{name}</dt>
      <dd className="figure" data-figure={of}>
        {value}
      </dd>
    </div>
  );
}

function Age({ data }: { data: Live }): ReactNode {
  if (data.state !== "running") return <Absent reason="the recording has ended" />;
  if (data.behind_bytes > 0) return <Absent reason="this page is catching up" />;
  if (data.totals.followed === 0) return <Absent reason="no span has ended so far" />;
  return `${duration(Math.max(0, data.now_ns - data.newest_ns))} ago`;
}

export function Figures({ data }: { data: Live }): ReactNode {
  const { totals } = data;
  const lost = totalLost(data.lost);
  const isRunning = data.state === "running";
  return (
    <>
      <dl className="live-figures">
        <Figure name="Markers a second" of="rate" value={isRunning ? digits(data.rate_per_s) : <Absent reason="the recording has ended" />} about="markers that were recorded in a second, over the last seconds" />
        <Figure name="Recorded" of="recorded" value={grouped(totals.recorded)} about="markers in the recording; with those lost, all that the program set" />
        <Figure name="Lost" of="lost" value={grouped(lost)} about="markers that the program set and that are not in the recording" />
        <Figure name="Spans kept here" of="kept" value={grouped(totals.kept)}
          about={`${grouped(totals.followed)} were followed: ${grouped(totals.kept)} are kept, ${grouped(totals.left)} have left this page. The run has what the recorder kept.`} />
        <Figure name="Open" of="open" value={grouped(totals.open)} about="scopes that have begun and not ended" />
        <Figure name="Newest" of="newest" value={<Age data={data} />} about="since the newest span ended" />
      </dl>
      <p className={lost > 0 ? "live-lost" : "hint"} data-lost={lost}>
        {lost > 0 ? <strong>Lost markers. </strong> : null}
        {lostWords(data.lost)}
        {totals.skipped > 0 ? ` ${grouped(totals.skipped)} markers are older than this page.` : ""}
        {data.missed_segments > 0 ? " Some of the markers were overwritten before this page could read them." : ""}
        {totals.skipped > 0 || data.missed_segments > 0 ? " The run has what the recorder kept." : ""}
      </p>
    </>
  );
}

export function TopNames({ data }: { data: Live }): ReactNode {
  if (data.names.length === 0) return <p className="hint">Nothing has ended in the last {lengthWords(data.names_ns)}.</p>;
  return (
    <table className="live-names">
      <caption>Names of the last {lengthWords(data.names_ns)}, by time</caption>
      <thead>
        <tr>
          <th>Name</th>
          <th className="number">Time</th>
          <th className="number">Count</th>
          <th className="number">Longest</th>
        </tr>
      </thead>
      <tbody>
        {data.names.map((one) => (
          <tr key={one.name}>
            <td title={shown(one.name, 1000)}>{shown(one.name, 60)}</td>
            <td className="number">
              <Time ns={one.total_ns} />
            </td>
            <td className="number">{grouped(one.count)}</td>
            <td className="number">
              <Time ns={one.longest_ns} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
