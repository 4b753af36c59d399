// Inferences, phases and tokens, where the analysis has them.

import type { ReactNode } from "react";
import type { RunAnalysis } from "../../api/answers_run";
import { shown } from "../../format/names";
import { digits, grouped } from "../../format/numbers";
import { Absent, Time } from "../../parts/figure";
import { placeText, Scroll, Value } from "./parts";

export function Language({ data }: { data: RunAnalysis }): ReactNode {
  return (
    <>
      <Inferences data={data} />
      <ServingSteps data={data} />
      <Phases data={data} />
    </>
  );
}

function Inferences({ data: { inference_times: times } }: { data: RunAnalysis }): ReactNode {
  if (!times) return null;
  return (
    <section aria-label="Inferences">
      <h2>Inferences</h2>
      <p>
        {grouped(times.count)} in the window, {digits(times.per_second)} a second. Half took at most <Time ns={times.p50_ns} />, 90 % at most{" "}
        <Quantile ns={times.p90_ns} />, 99 % at most <Quantile ns={times.p99_ns} />.
      </p>
    </section>
  );
}

function Quantile({ ns }: { ns: number | null }): ReactNode {
  return ns === null ? <Absent reason="the analysis has no such figure" /> : <Time ns={ns} />;
}

function ServingSteps({ data }: { data: RunAnalysis }): ReactNode {
  if (data.serving.length === 0) return null;
  return (
    <section aria-label="Steps of the engine">
      <h2>
        Phases and tokens <span className="hint">steps of {shown(data.serving[0]?.engine ?? "", 40)}</span>
      </h2>
      <Scroll label="Table of steps of the engine">
        <table>
          <thead>
            <tr>
              {["Phase", "Steps", "Typical step", "Prompt tokens", "Output tokens", "Tokens a second", "Time an output token"].map((title, n) => (
                <th key={title} className={n > 0 ? "number" : ""}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.serving.map((one) => (
              <tr key={`${one.engine}/${one.phase}`}>
                <td>{shown(one.phase.replaceAll("_", " "), 40)}</td>
                <td className="number">{grouped(one.steps)}</td>
                <td className="number">
                  <Time ns={one.median_ns} />
                </td>
                <td className="number">
                  <Value value={one.prefill_tokens} unit="count" absent="the names of the steps do not say" />
                </td>
                <td className="number">
                  <Value value={one.decode_tokens} unit="count" absent="the names of the steps do not say" />
                </td>
                <td className="number">
                  <Value value={one.tokens_per_s} unit="count" absent="the tokens of the steps are not known" />
                </td>
                <td className="number">
                  <Value value={one.ns_per_output_token} unit="ns" absent="these steps have no output tokens" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Phases({ data }: { data: RunAnalysis }): ReactNode {
  if (data.phases.length === 0) return null;
  return (
    <section aria-label="Phases">
      <h2>Phases by ranges</h2>
      <Scroll label="Table of phases">
        <table>
          <thead>
            <tr>
              <th>Phase</th>
              <th>Device</th>
              <th className="number">Ranges</th>
              <th className="number">Kernels</th>
              <th className="number">Work on the device</th>
              <th className="number">Time on the host</th>
            </tr>
          </thead>
          <tbody>
            {data.phases.map((one) => (
              <tr key={`${one.phase}/${one.rank}/${one.device}`}>
                <td>{shown(one.phase.replaceAll("_", " "), 40)}</td>
                <td>{placeText(one)}</td>
                <td className="number">{grouped(one.ranges)}</td>
                <td className="number">{grouped(one.kernels)}</td>
                <td className="number">
                  <Time ns={one.device_ns} />
                </td>
                <td className="number">
                  <Time ns={one.host_ns} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
