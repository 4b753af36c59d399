// Two runs side by side: the verdict first, then the parts whose differences add up, then what changed.

import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { ask } from "../api/ask";
import { shown } from "../format/names";
import { exactNs, signedDuration } from "../format/numbers";
import { CopyAs, shellWord } from "../parts/copy_as";
import { Absent, Time } from "../parts/figure";
import { Failure, Waiting } from "../parts/state";

interface Side {
  run_id: string;
  files: string[];
  total_ns: number;
  unit: string;
}
interface Part {
  words: string;
  base_ns: number;
  new_ns: number;
  delta_ns: number;
}
interface Change {
  name: string;
  kind: string;
  op: string | null;
  delta_ns: number;
  base: { time_ns: number } | null;
  new: { time_ns: number } | null;
}
interface Comparison {
  sentence: string;
  verdict: string;
  reasons: string[];
  delta_ns: number;
  unit: string;
  base: Side;
  new: Side;
  parts: Part[];
  changes: Change[];
  differences: unknown[];
}

export default function ComparePage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const base = search.get("base") ?? "";
  const other = search.get("new") ?? "";
  const comparison = useQuery({
    queryKey: ["compare", base, other],
    enabled: base !== "" && other !== "",
    queryFn: async ({ signal }) => (await ask<Comparison>("compare", { runs: [base, other] }, signal)).data,
  });
  const data = comparison.data;
  return (
    <main id="main" data-ready={data !== undefined || comparison.error !== null || !base || !other}>
      <h1>Compare</h1>
      <Choice base={base} other={other} choose={(one, two) => setSearch({ base: one, new: two })} />
      {comparison.error ? <Failure error={comparison.error} retry={() => void comparison.refetch()} /> : null}
      {comparison.isFetching ? <Waiting what="Comparing the runs" /> : null}
      {data ? <Result data={data} base={base} other={other} /> : null}
    </main>
  );
}

function Choice(props: { base: string; other: string; choose: (base: string, other: string) => void }): ReactNode {
  const [base, setBase] = useState(props.base);
  const [other, setOther] = useState(props.other);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    props.choose(base, other);
  };
  return (
    <form className="choice" onSubmit={submit}>
      <label>
        Base <input value={base} placeholder="id, tag or @latest~1" onChange={(event) => setBase(event.target.value)} />
      </label>
      <label>
        New <input value={other} placeholder="id, tag or @latest" onChange={(event) => setOther(event.target.value)} />
      </label>
      <button disabled={!base || !other}>Compare</button>
      <button type="button" disabled={!base || !other} onClick={() => props.choose(other, base)}>
        Swap
      </button>
    </form>
  );
}

function Result({ data, base, other }: { data: Comparison; base: string; other: string }): ReactNode {
  return (
    <>
      <section className="verdict" aria-label="Verdict">
        <p>
          <strong>{data.sentence}</strong>
        </p>
        {data.reasons.map((reason) => (
          <p className="hint" key={reason}>
            {reason}
          </p>
        ))}
        <CopyAs ways={{ command: `neurolens compare ${shellWord(base)} ${shellWord(other)}`, link: location.href }} />
      </section>
      <Waterfall data={data} />
      <Changes data={data} />
    </>
  );
}

function Waterfall({ data }: { data: Comparison }): ReactNode {
  const most = Math.max(data.base.total_ns, data.new.total_ns, 1);
  let at = data.base.total_ns;
  return (
    <section aria-label="Parts">
      <h2>Where the difference is, per {data.unit}</h2>
      <table className="waterfall">
        <thead>
          <tr>
            <th>Part</th>
            <th className="number">Base</th>
            <th className="number">New</th>
            <th className="number">Difference</th>
            <th aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {data.parts.map((part) => {
            const from = at;
            at += part.delta_ns;
            return (
              <tr key={part.words}>
                <td>{part.words}</td>
                <td className="number">
                  <Time ns={part.base_ns} />
                </td>
                <td className="number">
                  <Time ns={part.new_ns} />
                </td>
                <td className={`number ${part.delta_ns > 0 ? "worse" : "better"}`} title={exactNs(part.delta_ns)}>
                  {signedDuration(part.delta_ns)}
                </td>
                <td aria-hidden="true">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" className={part.delta_ns > 0 ? "worse" : "better"}>
                    <rect x={(Math.min(from, at) / most) * 100} width={Math.max(0.3, (Math.abs(part.delta_ns) / most) * 100)} y="1" height="6" />
                  </svg>
                </td>
              </tr>
            );
          })}
          <tr className="sum">
            <td>all</td>
            <td className="number">
              <Time ns={data.base.total_ns} />
            </td>
            <td className="number">
              <Time ns={data.new.total_ns} />
            </td>
            <td className="number" title={exactNs(data.delta_ns)}>
              {signedDuration(data.delta_ns)}
            </td>
            <td />
          </tr>
        </tbody>
      </table>
    </section>
  );
}

function Changes({ data }: { data: Comparison }): ReactNode {
  return (
    <section aria-label="Changes">
      <h2>What changed</h2>
      {data.changes.length === 0 ? <p>No op or kernel differs.</p> : null}
      <div className="scroll" tabIndex={0} role="region" aria-label="Table of changes">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>How</th>
              <th className="number">Base</th>
              <th className="number">New</th>
              <th className="number">Difference</th>
            </tr>
          </thead>
          <tbody>
            {data.changes.map((change, number) => (
              <tr key={number}>
                <td className="mono" title={change.name}>
                  {shown(change.name, 70)}
                  {change.op ? <span className="hint"> in {shown(change.op, 40)}</span> : null}
                </td>
                <td>{change.kind}</td>
                <td className="number">{change.base ? <Time ns={change.base.time_ns} /> : <Absent reason="it is not in the base" />}</td>
                <td className="number">{change.new ? <Time ns={change.new.time_ns} /> : <Absent reason="it is not in the new run" />}</td>
                <td className={`number ${change.delta_ns > 0 ? "worse" : "better"}`}>{signedDuration(change.delta_ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p>
        Timelines: <Link href={`/runs/${data.base.run_id}/timeline`}>base</Link>, <Link href={`/runs/${data.new.run_id}/timeline`}>new</Link>
      </p>
    </section>
  );
}
