// Each step as a bar, and the longest gaps; both lead into the time line.

import type { ReactNode } from "react";
import { useLocation } from "wouter";
import type { RunAnalysis, RunDevice, Step } from "../../api/answers_run";
import { shown } from "../../format/names";
import { duration, grouped } from "../../format/numbers";
import { Time } from "../../parts/figure";
import { barsOf, causeWords, fourParts } from "./figures";
import { placeKey, placeText, Scroll, Share, Stretch, stretchLink } from "./parts";

export function stepName(step: Step): string {
  return `${step.window.replace(":", " ")}${step.label ? `, ${step.label}` : ""}`;
}

export function Steps({ id, data }: { id: string; data: RunAnalysis }): ReactNode {
  const [, go] = useLocation();
  const { list, count, source } = data.steps;
  if (list.length === 0) return null;
  const bars = barsOf(list, 240);
  const longest = Math.max(...bars.map(({ step }) => step.dur_ns), 1);
  const width = 100 / bars.length;
  return (
    <section aria-label="Steps">
      <h2>
        {grouped(count)} {count === 1 ? "step" : "steps"} <span className="hint">by {source.replaceAll("_", " ")}</span>
      </h2>
      {bars.length > 1 ? (
        <svg className="steps" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`Length of each step, at most ${duration(longest)}`}>
          {bars.map(({ step, number }, n) => (
            <g key={number} onClick={() => go(stretchLink(id, step.start_ns, step.dur_ns))}>
              <title>{`${shown(stepName(step), 60)}: ${duration(step.dur_ns)}`}</title>
              <rect className="back" x={n * width} width={width} y="0" height="40" />
              <StepBar step={step} x={n * width + width * 0.1} width={width * 0.8} longest={longest} />
            </g>
          ))}
        </svg>
      ) : null}
      <details open={bars.length <= 8}>
        <summary>Steps as a table{bars.length < list.length ? `: the longest of each ${Math.ceil(list.length / bars.length)}` : ""}</summary>
        <table>
          <thead>
            <tr>
              <th>Step</th>
              <th className="number">Length</th>
              <th className="number">Idle, of the step</th>
              <th>Timeline</th>
            </tr>
          </thead>
          <tbody>
            {bars.map(({ step, number }) => (
              <tr key={number}>
                <td>{shown(stepName(step), 60)}</td>
                <td className="number">
                  <Time ns={step.dur_ns} />
                </td>
                <td className="number">
                  <Share value={idleShare(step)} absent="the step has no device work" />
                </td>
                <td>
                  <Stretch id={id} start={step.start_ns} length={step.dur_ns}>
                    Show it
                  </Stretch>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

function idleShare(step: Step): number | null {
  const main = step.devices[0];
  return main && main.window_ns > 0 ? main.idle_ns / main.window_ns : null;
}

function StepBar({ step, x, width, longest }: { step: Step; x: number; width: number; longest: number }): ReactNode {
  const height = (step.dur_ns / longest) * 40;
  const main = step.devices[0];
  if (!main || main.window_ns === 0) return <rect className="unknown" x={x} width={width} y={40 - height} height={height} />;
  let at = 40;
  return fourParts(main).map((part) => {
    const size = (part.ns / main.window_ns) * height;
    at -= size;
    return <rect key={part.kind} className={part.kind} x={x} width={width} y={at} height={size} />;
  });
}

export function Gaps({ id, devices, causes }: { id: string; devices: RunDevice[]; causes: Map<string, string> }): ReactNode {
  const gaps = devices
    .flatMap((device) => device.longest_gaps.map((gap) => ({ gap, device })))
    .sort((a, b) => b.gap.dur_ns - a.gap.dur_ns)
    .slice(0, 8);
  if (gaps.length === 0) return null;
  return (
    <section aria-label="Longest gaps">
      <h2>Longest gaps</h2>
      <Scroll label="Table of gaps">
        <table>
          <thead>
            <tr>
              <th className="number">Length</th>
              <th>Cause</th>
              {devices.length > 1 ? <th>Device</th> : null}
              <th>Timeline</th>
            </tr>
          </thead>
          <tbody>
            {gaps.map(({ gap, device }) => (
              <tr key={`${placeKey(device)}/${String(gap.start_ns)}`}>
                <td className="number">
                  <Time ns={gap.dur_ns} />
                </td>
                <td>
                  {causeWords(gap.cause, causes)}
                  {gap.host_span ? <span className="hint"> ({shown(gap.host_span, 50)})</span> : null}
                </td>
                {devices.length > 1 ? <td>{placeText(device)}</td> : null}
                <td>
                  <Stretch id={id} start={gap.start_ns} length={gap.dur_ns}>
                    Show it
                  </Stretch>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
