// One run: what limits it and what to try, then where the time goes, then the parts.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Analysis, Device, Finding } from "../api/answers";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { duration, exactNs, grouped, percent } from "../format/numbers";
import { CopyAs } from "../parts/copy_as";
import { Absent, Time } from "../parts/figure";
import { Empty, Failure, Waiting } from "../parts/state";

const CAUSES: Record<string, string> = {
  launch: "a launch is on its way",
  host_op: "the host runs an op",
  host_call: "the host is in a runtime call",
  host_other: "the host does something else",
  host_sync: "the host waits for the device",
  host_wait: "the host waits",
};

export function RunPage({ id }: { id: string }): ReactNode {
  const analysis = useQuery({ queryKey: ["analyze", id], queryFn: async ({ signal }) => await ask<Analysis>("analyze", { run: id }, signal) });
  const data = analysis.data?.data;
  return (
    <main id="main" data-ready={data !== undefined || analysis.error !== null}>
      <RunHead id={id} />
      {analysis.error ? <Failure error={analysis.error} retry={() => void analysis.refetch()} /> : null}
      {analysis.isPending ? <Waiting what="Analysing the run" /> : null}
      {data ? (
        <>
          <Trust warnings={analysis.data?.warnings ?? []} notes={data.notes.map((one) => one.text)} />
          <Verdict data={data} />
          {data.devices.map((device) => (
            <WhereTheTimeGoes key={`${device.rank}/${device.device}`} device={device} id={id} />
          ))}
          <Advice findings={data.findings} />
          <Kernels data={data} />
        </>
      ) : null}
    </main>
  );
}

interface Shown {
  files: string[];
  format: string;
  hardware: { devices: { name: string | null }[] };
  labels: { key: string; value: string }[];
  counts: { dropped: Record<string, number> };
}

export function RunHead({ id, at }: { id: string; at?: "timeline" }): ReactNode {
  const show = useQuery({ queryKey: ["show", id], queryFn: async ({ signal }) => (await ask<Shown>("show", { run: id }, signal)).data });
  const title = show.data?.labels.find((one) => one.key === "model")?.value ?? show.data?.files[0]?.split("/").at(-1) ?? id.slice(0, 12);
  const lost = Object.entries(show.data?.counts.dropped ?? {});
  return (
    <header className="run-head">
      <h1 title={title}>{shown(title, 80)}</h1>
      <p>
        {show.data?.hardware.devices.map((one) => one.name).filter(Boolean).slice(0, 2).join(", ")} · {show.data?.format}
        <CopyAs ways={{ id, command: at === "timeline" ? `neurolens timeline ${id.slice(0, 12)}` : `neurolens analyze ${id.slice(0, 12)}`, link: location.href }} />
      </p>
      {lost.length > 0 ? (
        <p className="banner" role="note">
          Records are missing: {lost.map(([reason, count]) => `${grouped(count)} ${reason}`).join(", ")}
        </p>
      ) : null}
      <nav aria-label="Of this run" className="tabs">
        <Link href={`/runs/${id}`} aria-current={at ? undefined : "page"}>
          Overview
        </Link>
        <Link href={`/runs/${id}/timeline`} aria-current={at === "timeline" ? "page" : undefined}>
          Timeline
        </Link>
        <Link href={`/sql?run=${id}`}>SQL</Link>
      </nav>
    </header>
  );
}

function Trust({ warnings, notes }: { warnings: string[]; notes: string[] }): ReactNode {
  const lines = [...warnings, ...notes];
  if (lines.length === 0) return null;
  return (
    <details className="banner">
      <summary>How far these figures can be trusted: {lines.length} {lines.length === 1 ? "remark" : "remarks"}</summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}

function Verdict({ data }: { data: Analysis }): ReactNode {
  const first = data.limiters[0];
  return (
    <section className="verdict" aria-label="Verdict">
      {first ? (
        <p>
          <strong>{percent(first.share)}</strong> of the window: {first.words}.
        </p>
      ) : (
        <p>{data.undecided ?? "Nothing in this run says what limits it."}</p>
      )}
      <p className="hint">
        Window: {data.window.name}, <Time ns={data.window.total_ns} /> ({data.window.why})
      </p>
    </section>
  );
}

function WhereTheTimeGoes({ device, id }: { device: Device; id: string }): ReactNode {
  const idle = Object.entries(device.idle_causes).sort((a, b) => b[1] - a[1]);
  const parts: [string, string, number][] = [
    ["compute", "compute", device.compute_ns],
    ["communication", "communication that nothing hides", device.exposed_comm_ns],
    ["copy", "copies that nothing hides", device.exposed_copy_ns],
    ...idle.map(([cause, ns]): [string, string, number] => ["idle", `idle: ${CAUSES[cause] ?? cause.replaceAll("_", " ")}`, ns]),
  ];
  const named = parts.reduce((sum, [, , ns]) => sum + ns, 0);
  if (device.window_ns > named) parts.push(["idle", "idle: no cause known", device.window_ns - named]);
  return (
    <section aria-label={`Where the time of device ${device.device} goes`}>
      <h2>
        {device.name || `Device ${device.device}`}
        {device.rank === null ? "" : `, rank ${device.rank}`}
      </h2>
      <div className="closing-bar" role="img" aria-label={parts.map(([, words, ns]) => `${words} ${percent(ns / device.window_ns)}`).join(", ")}>
        {parts.filter(([, , ns]) => ns > 0).map(([kind, words, ns]) => (
          <span key={words} className={kind} style={{ flexGrow: ns }} title={`${words}: ${exactNs(ns)}, ${percent(ns / device.window_ns)}`} />
        ))}
      </div>
      <table className="parts">
        <tbody>
          {parts.filter(([, , ns]) => ns > 0).map(([kind, words, ns]) => (
            <tr key={words}>
              <td>
                <span className={`swatch ${kind}`} /> {words}
              </td>
              <td className="number">
                <Time ns={ns} />
              </td>
              <td className="number">{percent(ns / device.window_ns)}</td>
            </tr>
          ))}
          <tr className="sum">
            <td>the window</td>
            <td className="number">
              <Time ns={device.window_ns} />
            </td>
            <td className="number">{percent(1)}</td>
          </tr>
        </tbody>
      </table>
      {device.longest_gaps[0] ? (
        <p>
          Longest gap: <Time ns={device.longest_gaps[0].dur_ns} />, {CAUSES[device.longest_gaps[0].cause] ?? device.longest_gaps[0].cause}
          {device.longest_gaps[0].host_span ? ` (${shown(device.longest_gaps[0].host_span, 60)})` : ""}.{" "}
          <Link href={`/runs/${id}/timeline?gap=${String(device.longest_gaps[0].start_ns)}-${device.longest_gaps[0].dur_ns}`}>Show it</Link>
        </p>
      ) : null}
    </section>
  );
}

function Advice({ findings }: { findings: Finding[] }): ReactNode {
  return (
    <section aria-label="What to try">
      <h2>What to try</h2>
      {findings.length === 0 ? <Empty>No rule found anything in this run.</Empty> : null}
      <ol className="advice">
        {findings.map((finding) => (
          <li key={`${finding.rule}/${finding.rank}/${finding.device}`}>
            <h3>{finding.title}</h3>
            <ul>
              {finding.suggestions.slice(0, 3).map((one) => (
                <li key={one.text}>
                  {one.text} {one.gain_ns ? <span className="gain">saves {one.at_most ? "at most " : ""}{duration(one.gain_ns)}</span> : null}
                </li>
              ))}
            </ul>
            <details>
              <summary>Evidence ({finding.confidence} confidence, rule {finding.rule})</summary>
              <ul>
                {finding.evidence.map((one) => (
                  <li key={one.text}>
                    {one.text} {one.value === undefined ? <Absent reason={one.absent ?? "the run does not say"} /> : evidenceText(one.value, one.unit)}
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}

function evidenceText(value: number, unit?: string): string {
  if (unit === "ratio") return percent(value);
  if (unit === "ns") return duration(value);
  return `${grouped(value)}${unit && unit !== "count" ? ` ${unit}` : ""}`;
}

function Kernels({ data }: { data: Analysis }): ReactNode {
  if (data.top_kernels.length === 0) return <Empty>The window has no kernels.</Empty>;
  return (
    <section aria-label="Kernels">
      <h2>Kernels</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of kernels">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Class</th>
              <th className="number">Calls</th>
              <th className="number">Time</th>
              <th className="number">Share of busy time</th>
            </tr>
          </thead>
          <tbody>
            {data.top_kernels.map((kernel) => (
              <tr key={kernel.name}>
                <td className="mono" title={kernel.name}>
                  {shown(kernel.label, 70)}
                </td>
                <td>{kernel.class}</td>
                <td className="number">{grouped(kernel.calls)}</td>
                <td className="number">
                  <Time ns={kernel.total_ns} />
                </td>
                <td className="number">{percent(kernel.share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
