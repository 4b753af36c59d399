// Each step as a bar: a click makes it the window of the figures. Steps and the longest gaps lead into the time line.

import type { ReactNode } from "react";
import type { Parts, Place, RunAnalysis, RunDevice, Step } from "../../api/answers_run";
import { shown } from "../../format/names";
import { duration, grouped } from "../../format/numbers";
import { site } from "../../offline/data";
import { OFFLINE } from "../../offline/mode";
import { Th } from "../../parts/definitions";
import { Time } from "../../parts/figure";
import { STEADY } from "./asked";
import { barsOf, causeWords, fourParts, isAt, workingDevices } from "./figures";
import { placeKey, placeText, Scroll, Share, Stretch, usePlace, useWord } from "./parts";

export function stepName(step: Step): string {
  return `${step.window.replace(":", " ")}${step.label ? `, ${step.label}` : ""}`;
}

export function Steps({ id, data }: { id: string; data: RunAnalysis }): ReactNode {
  const [window, setWindow] = useWord("window", STEADY);
  const devices = workingDevices(data);
  const [place] = usePlace(devices); // as it was chosen for "Where the time goes"
  const { list, count, source } = data.steps;
  if (list.length === 0) return null;
  const bars = barsOf(list, 240);
  const longest = Math.max(...bars.map(({ step }) => step.dur_ns), 1);
  const width = 100 / bars.length;
  return (
    <section aria-label="Steps">
      <h2>
        {grouped(count)} {count === 1 ? "step" : "steps"} {place && devices.length > 1 ? `of ${placeText(place)} ` : ""}
        <span className="hint">by {source.replaceAll("_", " ")}</span>
      </h2>
      {bars.length > 1 ? (
        <svg className="steps" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`Length of each step, at most ${duration(longest)}`}>
          {bars.map(({ step, number }, n) => (
            <g
              key={number} className={`${canBeWindow(step) ? "choice-of-step" : ""} ${step.window === window ? "chosen" : ""}`}
              onClick={() => canBeWindow(step) && setWindow(step.window === window ? STEADY : step.window)}
            >
              <title>{`${shown(stepName(step), 60)}: ${duration(step.dur_ns)}${canBeWindow(step) ? ". A click makes it the window of the figures; again: the steady part." : ""}`}</title>
              <rect className="back" x={n * width} width={width} y="0" height="40" />
              <StepBar step={step} place={place} x={n * width + width * 0.1} width={width * 0.8} longest={longest} />
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
              <Th define="time without work on the device / length of the step">Idle, of the step</Th>
              <th>Look</th>
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
                  <Share value={idleShare(step, place)} absent="the step has no work on this device" />
                </td>
                <td>
                  <Stretch id={id} start={step.start_ns} length={step.dur_ns}>
                    Show it
                  </Stretch>{" "}
                  {canBeWindow(step) ? (
                    <button className="plain link" aria-pressed={step.window === window} onClick={() => setWindow(step.window === window ? STEADY : step.window)}>
                      Its figures
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}

/** A file has figures of some windows only. */
function canBeWindow(step: Step): boolean {
  return !OFFLINE || site().windows.includes(step.window);
}

/** What a step did on a device; null: nothing. */
export function partsAt(step: Step, place: Place | undefined): Parts | null {
  return step.devices.find((one) => !place || isAt(one, place)) ?? null;
}

export function idleShare(step: Step, place: Place | undefined): number | null {
  const main = partsAt(step, place);
  return main && main.window_ns > 0 ? main.idle_ns / main.window_ns : null;
}

function StepBar({ step, place, x, width, longest }: { step: Step; place: Place | undefined; x: number; width: number; longest: number }): ReactNode {
  const height = (step.dur_ns / longest) * 40;
  const main = partsAt(step, place);
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
