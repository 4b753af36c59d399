// Many runs of one kind: which of them are unlike the others, and in which classes of kernels, layers and steps.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import type { Outlier, OutlierGroup, Outliers } from "../api/answers_pages";
import { ask } from "../api/ask";
import { sentence, shown } from "../format/names";
import { digits, grouped } from "../format/numbers";
import { CopyAs, mcpCall } from "../parts/copy_as";
import { Absent } from "../parts/figure";
import { Empty, Failure, Waiting } from "../parts/state";
import { RunName } from "./runs/picker";
import { groupTitle, valueText } from "./trend/chart";
import { commandOf, HistoryChoice, historyOf, NEWEST } from "./trend/history_choice";
import { Meaning } from "./trend/meaning";

const LIMITS = [200, NEWEST, 10_000];

export default function OutliersPage(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const asked = historyOf(search);
  const outliers = useQuery({
    queryKey: ["outliers", asked],
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<Outliers>("outliers", asked, signal)).data,
  });
  return (
    <main id="main" data-ready={(outliers.data !== undefined && !outliers.isFetching) || outliers.error !== null}>
      <h1>Outliers</h1>
      <HistoryChoice search={search} choose={setSearch} groups="Peers have the same" limits={LIMITS} />
      {outliers.error ? <Failure error={outliers.error} retry={() => void outliers.refetch()} /> : null}
      {outliers.isFetching ? <Waiting what="Comparing the runs with their peers" /> : null}
      {outliers.data && !outliers.error ? (
        <>
          <p className="verdict">
            <strong>{verdict(outliers.data)}</strong>
            <CopyAs ways={{ command: commandOf("outliers", asked), link: location.href, ...mcpCall("outliers", asked) }} />
          </p>
          {outliers.data.silent ? <Empty>{outliers.data.silent}. Runs need marked steps for the step time; try the figure total_time.</Empty> : null}
          {[...outliers.data.groups].sort(byOutliers).map((group) => (
            <Group key={JSON.stringify(group.group)} group={group} unit={outliers.data.figure.unit} />
          ))}
        </>
      ) : null}
    </main>
  );
}

function byOutliers(a: OutlierGroup, b: OutlierGroup): number {
  return Number(b.outliers.length > 0) - Number(a.outliers.length > 0) || b.runs - a.runs;
}

function verdict({ groups, figure }: Outliers): string {
  const runs = new Set(groups.flatMap((group) => group.outliers.map((one) => one.run_id))).size;
  const of = `${grouped(groups.reduce((sum, group) => sum + group.runs, 0))} runs with a ${figure.id.replaceAll("_", " ")}`;
  return runs === 0 ? `Of ${of} none is unlike its peers.` : `Of ${of}, ${grouped(runs)} ${runs === 1 ? "is" : "are"} unlike their peers.`;
}

function Group({ group, unit }: { group: OutlierGroup; unit: string }): ReactNode {
  const title = shown(groupTitle(group.group), 80);
  return (
    <section className="series" aria-label={title}>
      <h2>
        {title}{" "}
        <span className="hint">
          {grouped(group.runs)} {group.runs === 1 ? "run" : "runs"}, usually {valueText(group.usual, unit)}
        </span>
      </h2>
      {group.doubt ? <p className="hint">{sentence(group.doubt)}</p> : null}
      {group.outliers.length > 0 ? <Table group={group} unit={unit} /> : null}
      {group.not_shown > 0 ? <p className="hint">{grouped(group.not_shown)} more are not shown; the command has --top.</p> : null}
      {group.silent ? <p className="hint">{sentence(group.silent)}</p> : null}
    </section>
  );
}

function Table({ group, unit }: { group: OutlierGroup; unit: string }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>What</th>
          <th>Run</th>
          <th className="number">Value</th>
          <th className="number">Usual</th>
          <th className="number">Ratio</th>
          <th className="number">Peers</th>
          <th>Meaning</th>
          <th>Look</th>
        </tr>
      </thead>
      <tbody>
        {group.outliers.map((one) => (
          <Row key={`${one.kind} ${one.run_id} ${one.name}`} one={one} unit={one.kind === "run" ? unit : "ns"} typical={group.typical_run_id} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ one, unit, typical }: { one: Outlier; unit: string; typical: string }): ReactNode {
  return (
    <tr>
      <td title={one.name}>
        {one.kind === "run" ? "the run" : shown(one.name, 60)} <span className="hint">{one.kind === "run" || one.kind === "step" ? "" : one.kind}</span>
      </td>
      <td>
        <Link href={`/runs/${one.run_id}`}>
          <RunName id={one.run_id} />
        </Link>
      </td>
      <td className="number">{valueText(one.value, unit)}</td>
      <td className="number">{valueText(one.usual, unit)}</td>
      <td className="number">{one.ratio === null ? <Absent reason="the usual value is 0" /> : `${digits(one.ratio)} ×`}</td>
      <td className="number">
        {grouped(one.peers)} {one.kind === "step" ? "steps" : "runs"}
      </td>
      <td>
        <Meaning of={one.meaning} />
      </td>
      <td>{one.kind === "step" ? <Link href={`/runs/${one.run_id}?window=${one.name}`}>Analyze this step</Link> : <CompareLink typical={typical} run={one.run_id} />}</td>
    </tr>
  );
}

function CompareLink({ typical, run }: { typical: string; run: string }): ReactNode {
  return typical === run ? null : <Link href={`/compare?base=${typical}&new=${run}`}>Compare with a usual run</Link>;
}
