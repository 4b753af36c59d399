// Where the time of a window goes: a bar that closes, and a table of the same figures.

import type { ReactNode } from "react";
import { Link } from "wouter";
import type { RunAnalysis, RunDevice } from "../../api/answers_run";
import { said, shown } from "../../format/names";
import { exactNs, percent } from "../../format/numbers";
import { Th } from "../../parts/definitions";
import { Time } from "../../parts/figure";
import { fourParts, partsOf, workingDevices, type Part } from "./figures";
import { placeKey, placeText, Scroll, usePlace } from "./parts";

export function WhereTheTimeGoes({ data, causes }: { data: RunAnalysis; causes: Map<string, string> }): ReactNode {
  const devices = workingDevices(data);
  const [device, choice] = usePlace(devices);
  if (!device) return <EngineTime data={data} />;
  const parts = partsOf(device, causes);
  return (
    <section aria-label="Where the time goes">
      <h2>Where the time goes</h2>
      {devices.length > 1 ? <ManyDevices devices={devices} /> : <ClosingBar parts={parts} whole={device.window_ns} />}
      {choice ? <p className="controls">{choice}</p> : null}
      <PartsTable parts={parts} whole={device.window_ns} of="the window" />
    </section>
  );
}

function ClosingBar({ parts, whole }: { parts: Part[]; whole: number }): ReactNode {
  const some = parts.filter((part) => part.ns > 0);
  return (
    <div className="closing-bar" role="img" aria-label={some.map((part) => `${part.words} ${percent(part.ns / whole)}`).join(", ")}>
      {some.map((part) => (
        <span key={part.words} className={part.kind} style={{ flexGrow: part.ns }} title={`${part.words}: ${exactNs(part.ns)}, ${percent(part.ns / whole)}`} />
      ))}
    </div>
  );
}

function ManyDevices({ devices }: { devices: RunDevice[] }): ReactNode {
  return (
    <Scroll label="Parts of all devices">
      <table className="devices">
        <thead>
          <tr>
            <th>Device</th>
            <th>Of its window</th>
            {[["Compute", "compute_time"], ["Communication", "exposed_comm_time"], ["Copies", "exposed_copy_time"], ["Idle", "idle_time"]].map(([title, metric]) => (
              <Th key={title} define={metric as string}>
                {title}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <tr key={placeKey(device)}>
              <td>{placeText(device)}</td>
              <td>
                <ClosingBar parts={fourParts(device)} whole={device.window_ns} />
              </td>
              {fourParts(device).map((part) => (
                <td className="number" key={part.words} title={exactNs(part.ns)}>
                  {percent(part.ns / device.window_ns)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="hint">Communication and copies are those that no compute hides.</p>
    </Scroll>
  );
}

/** An engine without a time line: its layers by class. */
function EngineTime({ data: { layers } }: { data: RunAnalysis }): ReactNode {
  if (!layers || layers.total_ns === 0) return null;
  const parts = Object.entries(layers.classes).map(([words, ns]): Part => ({ kind: "compute", words, ns })).sort((a, b) => b.ns - a.ns);
  return (
    <section aria-label="Where the time goes">
      <h2>Where the time goes</h2>
      <ClosingBar parts={parts} whole={layers.total_ns} />
      <PartsTable parts={parts} whole={layers.total_ns} of="all layers" />
    </section>
  );
}

/** A run of a counter profiler has no time line either, but statements on its kernels. */
export function Replayed({ id, data: { counters } }: { id: string; data: RunAnalysis }): ReactNode {
  if (!counters) return null;
  return (
    <section aria-label="Hardware counters">
      <h2>
        Hardware counters <Link href={`/runs/${id}/counters`}>all counters</Link>
      </h2>
      <ul>
        {counters.diagnosis.slice(0, 6).map((one) => (
          <li key={`${one.kernel}/${one.id}`}>
            <span className="mono">{shown(one.label, 40)}</span>: {said(one.text)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function PartsTable({ parts, whole, of }: { parts: Part[]; whole: number; of: string }): ReactNode {
  return (
    <table className="parts">
      <thead>
        <tr>
          <th>Part</th>
          <th className="number">Time</th>
          <Th define={`the time of the part / the time of ${of}; the shares add up to it`}>Share of {of}</Th>
        </tr>
      </thead>
      <tbody>
        {parts.map((part) => (
          <tr key={part.words}>
            <td>
              <span className={`swatch ${part.kind}`} /> {part.words}
            </td>
            <td className="number">
              <Time ns={part.ns} define={part.metric} />
            </td>
            <td className="number">{percent(part.ns / whole)}</td>
          </tr>
        ))}
        <tr className="sum">
          <td>{of}</td>
          <td className="number">
            <Time ns={whole} define={of === "the window" ? "total_time" : undefined} />
          </td>
          <td className="number">{percent(1)}</td>
        </tr>
      </tbody>
    </table>
  );
}
