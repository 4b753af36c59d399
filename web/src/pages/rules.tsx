// The rules behind the findings: when each speaks, what it advises, and whether its advice has held.

import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { ask } from "../api/ask";
import type { Rule, RuleRow } from "../api/answers_pages";
import { shown } from "../format/names";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { Failure, Waiting } from "../parts/state";

export default function RulesPage({ id }: { id?: string }): ReactNode {
  return id ? <OneRule key={id} id={id} /> : <AllRules />;
}

function AllRules(): ReactNode {
  const [text, setText] = useState("");
  const rules = useQuery({ queryKey: ["rules"], queryFn: async ({ signal }) => (await ask<{ rules: RuleRow[] }>("rules", {}, signal)).data.rules });
  const matching = (rules.data ?? []).filter((one) => `${one.id} ${one.title} ${one.condition}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <main id="main" data-ready={rules.data !== undefined || rules.error !== null}>
      <h1>Rules</h1>
      <p className="hint">A finding of a run comes from one of these rules. Its condition is over figures of the run;
        its proof is how often the advice has held in pairs of runs.</p>
      <div className="line">
        <span role="search">
          <input type="search" aria-label="Search rules" placeholder="Search rules" value={text} onChange={(event) => setText(event.target.value)} />
        </span>
        <span role="status">{rules.data ? `${matching.length} of ${rules.data.length} rules` : ""}</span>
        <CopyAs ways={{ command: "neurolens rules", link: location.href, ...mcpCall("rules") }} />
      </div>
      {rules.error ? <Failure error={rules.error} retry={() => void rules.refetch()} /> : null}
      {rules.isPending ? <Waiting what="Reading the rules" /> : null}
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of rules">
        <table>
          <thead>
            <tr>
              <th>What it finds</th>
              <th>Confidence</th>
              <th>Proof</th>
              <th>Origin</th>
            </tr>
          </thead>
          <tbody>
            {matching.map((one) => (
              <tr key={one.id}>
                <td>
                  <Link href={`/rules/${encodeURIComponent(one.id)}`}>{shown(one.title, 120)}</Link> <span className="hint mono">{shown(one.id, 60)}</span>
                </td>
                <td>{one.confidence}</td>
                <td>{one.proof}</td>
                <td>{one.origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </main>
  );
}

function OneRule({ id }: { id: string }): ReactNode {
  const rule = useQuery({
    queryKey: ["rules", id],
    queryFn: async ({ signal }) => (await ask<{ rule: Rule }>("rules", { action: "show", targets: [id] }, signal)).data.rule,
  });
  const data = rule.data;
  return (
    <main id="main" className="rule" data-ready={data !== undefined || rule.error !== null}>
      <p>
        <Link href="/rules">All rules</Link>
      </p>
      <h1>{data ? shown(data.title, 160) : shown(id, 80)}</h1>
      {rule.error ? <Failure error={rule.error} retry={() => void rule.refetch()} /> : null}
      {rule.isPending ? <Waiting what="Reading the rule" /> : null}
      {data ? (
        <>
          <p className="hint">
            {data.id}, version {data.version}, {data.origin}. Confidence: {data.confidence}. Proof: {data.proof}.
            <CopyAs ways={{ command: `neurolens rules show ${shellWord(data.id)}`, link: location.href, ...mcpCall("rules", { action: "show", targets: [data.id] }) }} />
          </p>
          <h2>When it speaks</h2>
          <pre className="wrap">{data.condition}</pre>
          {data.at_stake ? (
            <p>
              At stake: <code>{data.at_stake}</code>
            </p>
          ) : null}
          <h2>What it shows as evidence</h2>
          <ul>
            {data.evidence.map((one) => (
              <li key={one.of}>
                {one.text} <code>{one.of}</code>
              </li>
            ))}
          </ul>
          <h2>What it advises</h2>
          <ol>
            {data.suggestions.map((one) => (
              <li key={one.text}>
                {one.text}{" "}
                {one.gain ? (
                  <span className="hint">
                    Gain{one.at_most ? " at most" : ""}: <code>{one.gain}</code>
                  </span>
                ) : (
                  <span className="hint">It promises no gain.</span>
                )}
              </li>
            ))}
          </ol>
          {data.references.length > 0 ? (
            <>
              <h2>References</h2>
              <ul>
                {data.references.map((one) => (
                  <li key={one}>{/^https?:\/\//.test(one) ? <a href={one} rel="noreferrer">{one}</a> : one}</li>
                ))}
              </ul>
            </>
          ) : null}
        </>
      ) : null}
    </main>
  );
}
