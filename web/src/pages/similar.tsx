// Runs that do the same kind of work as one run, nearest first, with what agrees and what does not.

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { ask } from "../api/ask";
import type { Dimension, Similar, SimilarRun } from "../api/answers_pages";
import { shown } from "../format/names";
import { digits, grouped, percent } from "../format/numbers";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { Absent } from "../parts/figure";
import { Empty, Failure, Waiting } from "../parts/state";
import { nameOf, shortNameOf } from "./runs/columns";
import { RunName, RunPicker } from "./runs/picker";

export default function SimilarPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const run = search.get("run") ?? "@latest";
  const similar = useQuery({ queryKey: ["similar", run], staleTime: 0,
    queryFn: async ({ signal }) => (await ask<Similar>("similar", { run, top: 20 }, signal)).data });
  const data = similar.data;
  return (
    <main id="main" data-ready={data !== undefined || similar.error !== null}>
      <h1>Similar runs</h1>
      <div className="line">
        <span>
          Like{" "}
          <strong>
            <RunName id={data?.run_id ?? run} />
          </strong>
        </span>
        <RunPicker label="Look for runs like another one" placeholder="another run" choose={(id) => setSearch({ run: id })} />
        <CopyAs ways={{ command: `neurolens similar ${shellWord(run)}`, link: location.href, ...mcpCall("similar", { run }) }} />
      </div>
      {similar.error ? <Failure error={similar.error} retry={() => void similar.refetch()} /> : null}
      {similar.isPending ? <Waiting what="Looking for similar runs" /> : null}
      {data?.runs.length === 0 ? <Empty>No other run can be compared with this one. Import runs of the same kind of work.</Empty> : null}
      {data && data.runs.length > 0 ? <Found data={data} /> : null}
    </main>
  );
}

function Found({ data }: { data: Similar }): ReactNode {
  return (
    <>
      <div className="scroll" tabIndex={0} role="region" aria-label="Similar runs">
        <table className="similar">
          <thead>
            <tr>
              <th>Run</th>
              <th>Model</th>
              <th className="number" title="0: the same work; 1: nothing in common">
                Distance
              </th>
              <th>What differs most</th>
              <th>Next</th>
            </tr>
          </thead>
          <tbody>
            {data.runs.map((one) => (
              <Row key={one.run_id} one={one} run={data.run_id} />
            ))}
          </tbody>
        </table>
      </div>
      <p className="hint">
        Distance 0 is the same work, 1 has nothing in common. {data.not_comparable > 0
          ? `${data.not_comparable === 1 ? "1 run has" : `${grouped(data.not_comparable)} runs have`} too little in common to be compared.` : ""}
      </p>
    </>
  );
}

function Row({ one, run }: { one: SimilarRun; run: string }): ReactNode {
  const model = one.labels?.["model"];
  const apart = one.dimensions.filter((dimension) => !dimension.agrees);
  return (
    <tr>
      <td>
        <Link href={`/runs/${one.run_id}`} title={nameOf(one)}>
          {shortNameOf(one, 52)}
        </Link>
      </td>
      <td>{model ? shown(model, 30) : <Absent reason="the run has no label model" />}</td>
      <td className="number">
        <span className="meter" aria-hidden="true">
          <span style={{ width: `${Math.min(1, one.distance) * 100}%` }} />
        </span>{" "}
        {digits(one.distance)}
      </td>
      <td>
        <details>
          <summary>{apart.length === 0 ? "all that was compared agrees"
            : apart.slice(0, 3).map((dimension) => dimension.name.toLowerCase()).join(", ")}</summary>
          <Dimensions list={one.dimensions} />
          {one.not_compared.length > 0 ? (
            <p className="hint">
              Not compared:{" "}
              {one.not_compared.map((other) => `${other.name.toLowerCase()} (${other.missing_here ?? other.missing_there ?? "not known"})`).join("; ")}
            </p>
          ) : null}
        </details>
      </td>
      <td>
        <Link href={`/compare?base=${one.run_id.slice(0, 12)}&new=${run.slice(0, 12)}`}>Compare</Link>
      </td>
    </tr>
  );
}

function Dimensions({ list }: { list: Dimension[] }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>Compared by</th>
          <th>Most apart in</th>
          <th className="number">Here</th>
          <th className="number">There</th>
          <th>Agrees</th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={one.id}>
            <td>{one.name}</td>
            <td>{shown(one.part ?? "the figure itself", 60)}</td>
            <td className="number">{one.part === null ? digits(one.here) : percent(one.here)}</td>
            <td className="number">{one.part === null ? digits(one.there) : percent(one.there)}</td>
            <td>{one.agrees ? "yes" : "no"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
