// The figures above the picture, and the names that took the most time of the last seconds.

import type { ReactNode } from "react";
import { shown } from "../format/names";
import { digits, duration, grouped } from "../format/numbers";
import { Time } from "../parts/figure";
import { lostWords, totalLost, type Live } from "./live_data";

/** How many, with what the number means on hover. */
function Figure({ name, value, about, of }: { name: string; value: string; about: string; of: string }): ReactNode {
  return (
    <div className="live-figure" title={about}>
      <dt>{name}</dt>
      <dd className="figure" data-figure={of}>
        {value}
      </dd>
    </div>
  );
}

export function Figures({ data }: { data: Live }): ReactNode {
  const { totals } = data;
  const lost = totalLost(data.lost);
  const age = Math.max(0, data.now_ns - data.newest_ns);
  return (
    <>
      <dl className="live-figures">
        <Figure name="Markers a second" of="rate" value={digits(data.rate_per_s)} about="markers that were recorded in a second, over the last seconds" />
        <Figure name="Recorded" of="recorded" value={grouped(totals.recorded)} about="markers in the recording; with those lost, all that the program set" />
        <Figure name="Lost" of="lost" value={grouped(lost)} about="markers that the program set and that are not in the recording" />
        <Figure name="Spans kept here" of="kept" value={grouped(totals.kept)}
          about={`${grouped(totals.followed)} were followed: ${grouped(totals.kept)} are kept, ${grouped(totals.left)} have left this page. The recording has all of them.`} />
        <Figure name="Open" of="open" value={grouped(totals.open)} about="scopes that have begun and not ended" />
        <Figure name="Newest" of="newest" value={data.state === "running" && totals.followed > 0 ? `${duration(age)} ago` : "—"}
          about="since the newest span ended" />
      </dl>
      <p className={lost > 0 ? "live-lost" : "hint"} data-lost={lost}>
        {lost > 0 ? <strong>Lost markers. </strong> : null}
        {lostWords(data.lost)}
        {totals.skipped > 0 ? ` ${grouped(totals.skipped)} markers are older than this page; the run will have them.` : ""}
        {data.missed_segments > 0 ? " Some of the markers were overwritten before this page could read them." : ""}
      </p>
    </>
  );
}

export function TopNames({ data }: { data: Live }): ReactNode {
  if (data.names.length === 0) return <p className="hint">Nothing has ended in the last {duration(data.names_ns)}.</p>;
  return (
    <table className="live-names">
      <caption>Names of the last {duration(data.names_ns)}, by time</caption>
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
