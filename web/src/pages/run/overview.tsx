// What limits the run and what to try, then where its time goes, then the parts.

import { useMemo, type ReactNode } from "react";
import type { RunAnalysis } from "../../api/answers_run";
import { said, shown } from "../../format/names";
import { percent } from "../../format/numbers";
import { site } from "../../offline/data";
import { OFFLINE } from "../../offline/mode";
import { Absent, Time } from "../../parts/figure";
import { Advice } from "./advice";
import { STEADY, useAnalysis, useMetrics } from "./asked";
import { causesOf } from "./figures";
import { Language } from "./language";
import { Body, useWord } from "./parts";
import { Gaps, stepName, Steps } from "./steps";
import { Alike, TopKernels } from "./top";
import { Replayed, WhereTheTimeGoes } from "./where";

export default function Overview({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id);
  const metrics = useMetrics().data;
  const causes = useMemo(() => causesOf(metrics), [metrics]);
  return (
    <Body asked={analysis} what="Analysing the run">
      {({ data, warnings }) => (
        <>
          <Trust lines={[...warnings, ...[...data.notes, ...data.host_remarks].map((one) => one.text)]} />
          <div className="overview">
            <div>
              <Verdict data={data} />
              <Advice id={id} data={data} />
              <Language data={data} />
            </div>
            <div>
              <WhereTheTimeGoes data={data} causes={causes} />
              <Steps id={id} data={data} />
              <Gaps id={id} devices={data.devices} causes={causes} />
              <Replayed id={id} data={data} />
            </div>
          </div>
          <TopKernels id={id} data={data} />
          <Alike id={id} />
        </>
      )}
    </Body>
  );
}

function Trust({ lines }: { lines: string[] }): ReactNode {
  if (lines.length === 0) return null;
  return (
    <details className="banner">
      <summary>
        How far these figures can be trusted: {lines.length} {lines.length === 1 ? "remark" : "remarks"}
      </summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{said(line)}</li>
        ))}
      </ul>
    </details>
  );
}

function Verdict({ data }: { data: RunAnalysis }): ReactNode {
  const first = data.limiters[0];
  return (
    <section className="verdict" aria-label="Verdict">
      {first ? (
        <p>
          <strong>{percent(first.share)}</strong>
          {data.window.total_ns > 0 ? " of the window" : ""}: {shown(first.words, 500)}.
        </p>
      ) : (
        <p>{said(data.undecided?.text ?? "Nothing in this run says what limits it.", 500)}</p>
      )}
      {!first && data.devices.length === 0 && !data.counters ? (
        <p className="hint">
          It has no work with times on a device. Import it together with a trace or with layer times: <code>neurolens import --as-one</code>
        </p>
      ) : null}
      {first && data.undecided ? <p className="hint">But {said(data.undecided.text, 500)}.</p> : null}
      {data.limiters.length > 1 ? (
        <ol className="limiters" start={2} aria-label="Other parts">
          {data.limiters.slice(1, 4).map((one) => (
            <li key={one.what}>
              {percent(one.share)}: {shown(one.words, 500)}
            </li>
          ))}
        </ol>
      ) : null}
      <WindowChoice data={data} />
    </section>
  );
}

/** Which stretch the figures are of; all tabs keep it. */
function WindowChoice({ data }: { data: RunAnalysis }): ReactNode {
  const [window, setWindow] = useWord("window", STEADY);
  const isThere = (one: string) => !OFFLINE || site().windows.includes(one);
  const steps = data.steps.list.slice(0, 200).filter((one) => isThere(one.window));
  const phases = [...new Set(data.phases.map((one) => one.phase))].filter(isThere);
  const known = [STEADY, "whole", ...phases, ...steps.map((one) => one.window)];
  return (
    <p className="hint">
      <label>
        Window{" "}
        <select value={window} onChange={(event) => setWindow(event.target.value)}>
          {known.includes(window) ? null : <option value={window}>{shown(window, 40)}</option>}
          <option value={STEADY}>steady</option>
          <option value="whole">whole capture</option>
          {phases.map((phase) => (
            <option key={phase} value={phase}>
              {shown(phase.replaceAll("_", " "), 40)}
            </option>
          ))}
          {steps.map((step) => (
            <option key={step.window} value={step.window}>
              {shown(stepName(step), 40)}
            </option>
          ))}
        </select>
      </label>{" "}
      {data.window.total_ns > 0 ? <Time ns={data.window.total_ns} /> : <Absent reason="nothing in the run has a time of its own" />}
      {data.window.why ? ` (${shown(data.window.why, 300)})` : ""}
    </p>
  );
}
