// Several ranks or devices: who waits for whom, and how even the work is.

import type { ReactNode } from "react";
import type { Collectives, RunAnalysis, RunDevice } from "../../api/answers_run";
import { sentence, shown } from "../../format/names";
import { grouped, percent } from "../../format/numbers";
import { Th } from "../../parts/definitions";
import { Absent, Time } from "../../parts/figure";
import { useAnalysis } from "./asked";
import { Body, Nothing, placeKey, placeText, Scroll, Value } from "./parts";

const RECORD =
  "Import the files of all ranks together: `neurolens import --as-one rank*.json.gz`. Collectives come from the PyTorch profiler or from NCCL and RCCL kernels.";

export default function Ranks({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id);
  return (
    <Body asked={analysis} what="Comparing the ranks">
      {({ data }) => <Content data={data} />}
    </Body>
  );
}

function Content({ data }: { data: RunAnalysis }): ReactNode {
  const { collectives, devices } = data;
  const waits = new Map(collectives.waits.map((one) => [one.rank, one]));
  const isOne = devices.length < 2;
  if (isOne && collectives.calls === 0) return <Nothing why={collectives.absent ?? "the run has one rank"} record={RECORD} />;
  return (
    <>
      <Straggler collectives={collectives} />
      <RankTable devices={devices} waits={waits} why={collectives.absent ?? "no collective of this rank was matched with those of others"} />
      <Kinds collectives={collectives} />
      <PointToPoint collectives={collectives} />
      {collectives.absent ? <p className="hint">{RECORD}</p> : null}
    </>
  );
}

function Straggler({ collectives: { straggler, clocks, matched, calls, absent } }: { collectives: Collectives }): ReactNode {
  if (calls === 0) return <p>{sentence(absent ?? "the window has no collectives")} Who waits for whom is not known.</p>;
  return (
    <section className="verdict" aria-label="Who is late">
      {straggler ? (
        <p>
          <strong>Rank {straggler.rank}</strong> is waited for: each of the others waits <Time ns={straggler.waited_ns} /> for it
          {straggler.window_share === null ? "" : `, ${percent(straggler.window_share)} of the window`}. Rank {straggler.most_often_last} comes last in{" "}
          {percent(straggler.last_share)} of the collectives.
        </p>
      ) : (
        <p>No rank stands out as late.</p>
      )}
      <p className="hint">
        {grouped(calls)} calls{matched === null ? "" : `, which make ${grouped(matched)} collectives`}.
        {clocks?.bound_p50_ns ? (
          <>
            {" "}
            The clocks of the ranks are known to <Time ns={clocks.bound_p50_ns} />
            {clocks.agree === true ? ", and agree with these waits." : clocks.agree === false ? ", and do not agree with these waits." : "."}
          </>
        ) : null}
      </p>
    </section>
  );
}

function RankTable({ devices, waits, why }: { devices: RunDevice[]; waits: Map<number, { wait_ns: number; last: number }>; why: string }): ReactNode {
  const most = Math.max(...[...waits.values()].map((one) => one.wait_ns), 1);
  return (
    <section aria-label="Ranks">
      <h2>By rank</h2>
      <Scroll label="Table of ranks">
        <table className="devices">
          <thead>
            <tr>
              <th>Rank and device</th>
              <Th define="total_time">Window</Th>
              <Th define="compute_time">Compute</Th>
              <Th define="comm_time">Communication</Th>
              <Th define="exposed_comm_time">Not hidden by compute</Th>
              <Th define="idle_time">Idle</Th>
              <Th define="collective_wait_time">Waits for others</Th>
              <th aria-hidden="true" />
              <Th define="collectives that this rank was the last to enter">Times last</Th>
            </tr>
          </thead>
          <tbody>
            {devices.map((device) => {
              const wait = device.rank === null ? undefined : waits.get(device.rank);
              return (
                <tr key={placeKey(device)}>
                  <td>{placeText(device)}</td>
                  {[device.window_ns, device.compute_ns, device.comm_ns, device.exposed_comm_ns, device.idle_ns].map((ns, n) => (
                    <td className="number" key={n}>
                      <Time ns={ns} />
                    </td>
                  ))}
                  <td className="number">{wait ? <Time ns={wait.wait_ns} /> : <Absent reason={why} />}</td>
                  <td aria-hidden="true">
                    <svg className="share" viewBox="0 0 100 8" preserveAspectRatio="none">
                      <rect className="communication" x="0" y="1" height="6" width={((wait?.wait_ns ?? 0) / most) * 100} />
                    </svg>
                  </td>
                  <td className="number">{wait ? grouped(wait.last) : <Absent reason={why} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Kinds({ collectives: { kinds } }: { collectives: Collectives }): ReactNode {
  if (kinds.length === 0) return null;
  return (
    <section aria-label="Collectives">
      <h2>Collectives</h2>
      <Scroll label="Table of collectives">
        <table>
          <thead>
            <tr>
              <th>Kind</th>
              <th>Group</th>
              <th className="number">Calls</th>
              <th className="number">Collectives</th>
              <th className="number">Sum of all ranks</th>
              <th className="number">Typical call</th>
              <th className="number">Typical transfer</th>
              <th className="number">Typical size</th>
              <th className="number">Bus bandwidth</th>
            </tr>
          </thead>
          <tbody>
            {kinds.map((one) => (
              <tr key={`${one.kind}/${one.group}`}>
                <td>{shown(one.kind.replaceAll("_", " "), 40)}</td>
                <td title={one.group}>
                  {one.group === "" ? <Absent reason="the source does not name the group" /> : shown(one.group, 30)}
                  {one.group_size === null ? "" : `, ${one.group_size} ranks`}
                </td>
                <td className="number">{grouped(one.calls)}</td>
                <td className="number">{grouped(one.collectives)}</td>
                <td className="number">
                  <Time ns={one.total_ns} />
                </td>
                <td className="number">
                  <Value value={one.dur_p50_ns} unit="ns" />
                </td>
                <td className="number">
                  <Value value={one.transfer_p50_ns} unit="ns" absent="the analysis has no such figure" />
                </td>
                <td className="number">
                  <Value value={one.bytes_p50} unit="B" absent="the profile gives no sizes" />
                </td>
                <td className="number">
                  <Value value={one.busbw_bytes_per_s} unit="B/s" absent="size or transfer time is not known" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p className="hint">A transfer is what is left of a call without the wait for the last rank.</p>
    </section>
  );
}

function PointToPoint({ collectives: { point_to_point: calls } }: { collectives: Collectives }): ReactNode {
  if (calls.length === 0) return null;
  return (
    <section aria-label="Sends and receives">
      <h2>Sends and receives</h2>
      <table>
        <thead>
          <tr>
            <th>Rank</th>
            <th>Kind</th>
            <th className="number">Calls</th>
            <th className="number">Sum</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((one) => (
            <tr key={`${one.rank}/${one.kind}`}>
              <td>{one.rank}</td>
              <td>{shown(one.kind, 40)}</td>
              <td className="number">{grouped(one.calls)}</td>
              <td className="number">
                <Time ns={one.total_ns} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
