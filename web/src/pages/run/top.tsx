// The longest kernels or ops, and runs that are like this one.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { KernelRow, RunAnalysis, Similar } from "../../api/answers_run";
import { ask } from "../../api/ask";
import { shown } from "../../format/names";
import { grouped, percent } from "../../format/numbers";
import { Th } from "../../parts/definitions";
import { Time } from "../../parts/figure";
import { Empty } from "../../parts/state";
import { isAt } from "./figures";
import { LongestCall } from "./longest_call";
import { Name, placeText, Scroll, Share, Value } from "./parts";

export function TopKernels({ id, data }: { id: string; data: RunAnalysis }): ReactNode {
  if (data.top_kernels.length === 0) return data.top_ops.length > 0 ? <TopOps data={data} /> : <NoKernels id={id} />;
  const first = data.top_kernels[0] as KernelRow;
  const kernels = data.top_kernels.filter((one) => isAt(one, first));
  return (
    <section aria-label="Kernels">
      <h2>
        Kernels{data.devices.length > 1 ? ` of ${placeText(first)}` : ""} <Link href={`/runs/${id}/kernels`}>all kernels</Link>
      </h2>
      <Scroll label="Table of kernels">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Class</th>
              <Th define="calls that run in the window, at least partly">Calls</Th>
              <Th define="sum of the durations of its calls, clipped to the window; not a wall time where calls overlap">Time</Th>
              <Th define="its time / the sum of the times of all kernels and copies of the device in the window">Share of the device's work</Th>
              <th>Timeline</th>
            </tr>
          </thead>
          <tbody>
            {kernels.map((kernel) => (
              <tr key={`${kernel.is_copy}/${kernel.name}`}>
                <td>
                  <Name text={kernel.name} label={kernel.label} />
                </td>
                <td>{kernel.class}</td>
                <td className="number">{grouped(kernel.calls)}</td>
                <td className="number">
                  <Time ns={kernel.total_ns} />
                </td>
                <td className="number">
                  <Share value={kernel.share} />
                </td>
                <td className="actions">
                  <LongestCall id={id} kernel={kernel} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function NoKernels({ id }: { id: string }): ReactNode {
  return (
    <Empty>
      The window has no kernels with times of their own. If the file has sums of the profiler, they are <Link href={`/runs/${id}/kernels`}>here</Link>.
    </Empty>
  );
}

function TopOps({ data }: { data: RunAnalysis }): ReactNode {
  return (
    <section aria-label="Ops">
      <h2>Ops and layers</h2>
      <Scroll label="Table of ops">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Class</th>
              <Th define="calls in the window">Calls</Th>
              <Th define="its own time, without that of ops inside it; of a layer its time on the device">Time</Th>
              <Th define="its time / the sum of the times of all ops">Share of the time of all</Th>
            </tr>
          </thead>
          <tbody>
            {data.top_ops.map((op, n) => (
              <tr key={n}>
                <td>
                  <Name text={op.name} />
                </td>
                <td>{op.class}</td>
                <td className="number">
                  <Value value={op.calls} unit="count" />
                </td>
                <td className="number">
                  <Time ns={op.own_ns ?? op.device_ns} />
                </td>
                <td className="number">
                  <Share value={op.share} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** None for a run without any figure that could be compared. */
async function similarTo(id: string, signal: AbortSignal): Promise<Similar["runs"]> {
  const { dimensions } = (await ask<{ dimensions: unknown[] }>("fingerprint", { run: id }, signal)).data;
  return dimensions.length === 0 ? [] : (await ask<Similar>("similar", { run: id, top: 5 }, signal)).data.runs;
}

export function Alike({ id }: { id: string }): ReactNode {
  const similar = useQuery({ queryKey: ["alike", id], staleTime: 60_000, queryFn: ({ signal }) => similarTo(id, signal) });
  const runs = similar.data ?? [];
  if (runs.length === 0) return null;
  return (
    <section aria-label="Seen before">
      <h2>Seen before: runs like this one</h2>
      <Scroll label="Table of similar runs">
        <table>
          <thead>
            <tr>
              <th>Run</th>
              <th className="number">Alike</th>
              <th>Agree in</th>
              <th>Compare</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.run_id}>
                <td>
                  <Link href={`/runs/${run.run_id}`}>{shown(run.file_names?.split("/").at(-1) ?? run.run_id.slice(0, 12), 50)}</Link>{" "}
                  {run.labels?.["model"] ? <span className="hint">{shown(run.labels["model"], 30)}</span> : null}
                </td>
                <td className="number" title={`distance ${run.distance}`}>
                  {percent(1 - run.distance)}
                </td>
                <td className="hint">{run.dimensions.filter((one) => one.agrees).map((one) => one.name.toLowerCase()).join(", ") || "no single figure"}</td>
                <td>
                  <Link href={`/compare?base=${run.run_id}&new=${id}`}>Compare</Link>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
