// What to try: findings with their evidence, what proves them, and where they were seen before.

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { Predictions, RunAnalysis, RunFinding } from "../../api/answers_run";
import { ask } from "../../api/ask";
import { shown } from "../../format/names";
import { duration, exactNs, grouped } from "../../format/numbers";
import { OFFLINE } from "../../offline/mode";
import { Absent, Time } from "../../parts/figure";
import { Empty } from "../../parts/state";
import { useShown, useWindow } from "./asked";
import { explainedLink, kernelBehind, peakLink } from "./behind";
import { byRule, isAt, proofOf, type Found as FoundByRule } from "./figures";
import { LongestCall } from "./longest_call";
import { errorText, placeText, Stretch, Value } from "./parts";

export function Advice({ id, data }: { id: string; data: RunAnalysis }): ReactNode {
  const elsewhere = useFoundElsewhere(id);
  const found = byRule(data.findings);
  return (
    <section aria-label="What to try">
      <h2>What to try</h2>
      {found.length === 0 ? <NoFinding data={data} /> : null}
      <ol className="advice">
        {found.map((one) => (
          <AdviceItem key={one.rule} id={id} found={one} data={data} elsewhere={elsewhere.get(one.rule) ?? []} />
        ))}
      </ol>
    </section>
  );
}

function NoFinding({ data }: { data: RunAnalysis }): ReactNode {
  const why = [...new Set(data.abstentions.map((one) => one.reason))];
  return (
    <Empty>
      No rule found anything in this run.
      {why.length > 0 ? (
        <details>
          <summary>{grouped(data.abstentions.length)} rules could not look</summary>
          <ul>
            {why.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </details>
      ) : null}
    </Empty>
  );
}

function AdviceItem({ id, found, data, elsewhere }: { id: string; found: FoundByRule; data: RunAnalysis; elsewhere: string[] }): ReactNode {
  const { worst, all } = found;
  return (
    <li>
      <h3>{worst.title}</h3>
      <p className="hint">
        At stake: <Time ns={worst.at_stake_ns} define="time of the window that the finding is about; what a change saves is at most this" />
        {all.length > 1 ? ` on ${placeText(worst)}, and less on ${all.length - 1} other${all.length > 2 ? "s" : ""}` : ""}.{" "}
        <ProofLink id={id} finding={worst} data={data} />
      </p>
      <ul>
        {worst.suggestions.filter((one) => one.gain_ns !== 0).slice(0, 3).map((one) => (
          <li key={one.suggestion}>
            {one.text}{" "}
            {one.gain_ns === null ? (
              <span className="hint">
                <Absent word="gain not known" reason={one.absent_reason ?? "the run does not say"} />
              </span>
            ) : (
              <span className="gain" title={exactNs(one.gain_ns)}>
                saves {one.at_most ? "at most " : ""}
                {duration(one.gain_ns)}
              </span>
            )}
          </li>
        ))}
      </ul>
      <details>
        <summary>
          Evidence: {worst.confidence} confidence, rule {worst.rule}, {worst.proof}
        </summary>
        <ul>
          {worst.evidence.map((one) => (
            <li key={one.text}>
              {one.text} <Value value={one.value} unit={one.unit} absent={one.absent_reason} define={one.of} />
            </li>
          ))}
        </ul>
        {all.length > 1 ? <p>Also: {all.slice(1).map((one) => `${placeText(one)} ${duration(one.at_stake_ns)}`).join("; ")}.</p> : null}
        {worst.references.map((address) => (
          <p key={address}>
            Read: <Reference address={address} />
          </p>
        ))}
      </details>
      {elsewhere.length > 0 ? (
        <p className="hint">
          Seen before:{" "}
          {elsewhere.slice(0, 3).map((other) => (
            <SeenRun key={other} id={other} />
          ))}
        </p>
      ) : null}
    </li>
  );
}

function SeenRun({ id }: { id: string }): ReactNode {
  const file = useShown(id).data?.files[0]?.split("/").at(-1);
  return (
    <Link href={`/runs/${id}`} className="seen">
      {shown(file ?? id.slice(0, 12), 40)}
    </Link>
  );
}

function Reference({ address }: { address: string }): ReactNode {
  if (!/^https:\/\//.test(address)) return <>{shown(address, 120)}</>;
  return (
    <a href={address} rel="noreferrer noopener" target="_blank">
      {shown(address, 90)}
    </a>
  );
}

/** From a finding to what proves it: the gap, call or moment on the time line, and the tab with all of its kind. */
function ProofLink({ id, finding, data }: { id: string; finding: RunFinding; data: RunAnalysis }): ReactNode {
  const window = useWindow();
  const proof = proofOf(finding);
  const gaps = data.devices.find((one) => isAt(one, finding))?.longest_gaps ?? [];
  const gap = proof?.what === "gap" ? (gaps.find((one) => proof.causes.includes(one.cause)) ?? gaps[0]) : undefined;
  if (gap)
    return (
      <Stretch id={id} start={gap.start_ns} length={gap.dur_ns}>
        Show the longest gap
      </Stretch>
    );
  const kernel = kernelBehind(proof, finding, data);
  return (
    <>
      {proof?.what === "memory" ? <Found words="Show the peak" find={() => peakLink(id)} /> : null}
      {kernel ? <LongestCall id={id} kernel={kernel} words="Show the longest call" /> : null}
      {!kernel && proof?.what !== "memory" && !OFFLINE ? <Found words="Show it on the time line" find={() => explainedLink(id, finding.rule, window)} /> : null}{" "}
      {proof?.what === "kernels" ? <Link href={`/runs/${id}/kernels?class=${proof.class}`}>its kernels</Link> : null}
      {proof?.what === "ranks" ? <Link href={`/runs/${id}/ranks`}>the ranks</Link> : null}
      {proof?.what === "memory" ? <Link href={`/runs/${id}/memory`}>the memory</Link> : null}
    </>
  );
}

/** Looks where it is only when that is asked. */
function Found({ words, find }: { words: string; find: () => Promise<string> }): ReactNode {
  const [, go] = useLocation();
  const [said, setSaid] = useState("");
  const open = async () => {
    try {
      go(await find());
    } catch (error) {
      setSaid(errorText(error));
    }
  };
  return (
    <>
      <button onClick={() => void open()}>{words}</button>
      {said ? <span role="alert"> {said}</span> : null}
    </>
  );
}

/** Other runs for which a rule's promise was remembered. */
function useFoundElsewhere(id: string): Map<string, string[]> {
  const known = useQuery({ queryKey: ["findings"], staleTime: 0, queryFn: async ({ signal }) => (await ask<Predictions>("findings", {}, signal)).data });
  return useMemo(() => {
    const runs = new Map<string, string[]>();
    for (const run of known.data?.runs ?? []) {
      const rules = run.run_id.startsWith(id) ? [] : new Set(run.predictions.map((one) => one.rule));
      for (const rule of rules) runs.set(rule, [...(runs.get(rule) ?? []), run.run_id]);
    }
    return runs;
  }, [known.data, id]);
}
