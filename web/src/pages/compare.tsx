// Two runs, or two sets of repeats, side by side: the verdict first, then the parts whose differences add up, then what changed.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { ask } from "../api/ask";
import type { Change, Comparison, NamedChange } from "../api/answers_pages";
import { said, sentence, shown } from "../format/names";
import { duration, exactNs, grouped, percent, signedDuration } from "../format/numbers";
import { useAddress } from "../parts/address";
import { CopyAs, mcpCall, shellWord } from "../parts/copy_as";
import { Th } from "../parts/definitions";
import { Absent, Time } from "../parts/figure";
import { focusAfter } from "../parts/focus";
import { staleOf } from "../parts/fresh";
import { Empty, Failure, Waiting } from "../parts/state";
import { axisOf, byKind, sidesOf, stairs, type Share } from "./compare/waterfall";
import { addressOfName } from "./runs/jump";
import { RunName, RunPicker } from "./runs/picker";

const WINDOWS: [string, string][] = [["auto", "best window"], ["steps", "steps"], ["steady", "steady part"], ["whole", "whole capture"]];
const VERDICTS: Record<string, string> = {
  regression: "▲ Slower", improvement: "▼ Faster", no_change: "= No change", inconclusive: "? Not clear", not_tested: "? Not tested",
    incomparable: "≠ Cannot be compared",
};

const listOf = (text: string | null): string[] => (text ?? "").split(",").filter(Boolean);

function useCompareAddress() {
  const [search, set] = useAddress();
  return {
    base: listOf(search.get("base")), other: listOf(search.get("new")), window: search.get("window") ?? "auto",
    isShort: search.get("all") !== "1", by: search.get("by") ?? "work", set,
  };
}

export default function ComparePage(): ReactNode {
  const { base, other, window, isShort, by, set } = useCompareAddress();
  const isAsked = base.length > 0 && other.length > 0;
  const comparison = useQuery({
    queryKey: ["compare", base, other, window],
    staleTime: staleOf(...base, ...other),
    enabled: isAsked,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await ask<Comparison>("compare", { base, new: other, window, top: 200 }, signal)).data,
  });
  const data = isAsked && !comparison.error ? comparison.data : undefined;
  return (
    <main id="main" data-ready={(data !== undefined && !comparison.isFetching) || comparison.error !== null || !isAsked}>
      <h1>Compare</h1>
      <div className="sides">
        <SideChoice title="Base" ids={base} set={(ids) => set({ base: ids.join(",") })} />
        <SideChoice title="New" ids={other} set={(ids) => set({ new: ids.join(",") })} />
        <div className="line">
          <button disabled={!isAsked} onClick={() => set({ base: other.join(","), new: base.join(",") })}>
            ⇄ Swap
          </button>
          <label>
            Window{" "}
            <select value={window} onChange={(event) => set({ window: event.target.value === "auto" ? "" : event.target.value })}>
              {WINDOWS.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <label>
            <input type="checkbox" checked={isShort} onChange={() => set({ all: isShort ? "1" : "" }, true)} /> only differences
          </label>
        </div>
      </div>
      {isAsked ? null : (
        <Empty>
          Choose a base and a new run above. Several runs on a side count as repeats, which shows what is noise. Runs can also be chosen on{" "}
          <Link href="/runs">the list of runs</Link>.
        </Empty>
      )}
      {comparison.error ? <Failure error={comparison.error} retry={() => void comparison.refetch()} /> : null}
      {comparison.isFetching ? <Waiting what="Comparing the runs" /> : null}
      {data ? (
        <>
          <Verdict data={data} base={base} other={other} window={window} />
          <Parts data={data} isShort={isShort} />
          <Changes data={data} by={by} setBy={(one) => set({ by: one === "work" ? "" : one }, true)} isShort={isShort} />
          <Conditions data={data} isShort={isShort} />
        </>
      ) : null}
    </main>
  );
}

function SideChoice({ title, ids, set }: { title: string; ids: string[]; set: (ids: string[]) => void }): ReactNode {
  return (
    <div className="side" role="group" aria-label={title}>
      <strong>{title}</strong>
      {ids.map((id) => (
        <span className="pin" key={id}>
          <RunName id={id} />
          <button
            className="plain" aria-label={`Remove ${shown(id, 64)} from ${title}`}
            onClick={() => {
              set(ids.filter((one) => one !== id));
              focusAfter(`.side[aria-label="${title}"] input`);
            }}
          >
            ✕
          </button>
        </span>
      ))}
      <RunPicker
        label={`Add a run to ${title}`} placeholder={ids.length > 0 ? "add a repeat" : "name, id, tag or @latest"}
        choose={(id) => set([...ids.filter((one) => one !== id), id])}
      />
    </div>
  );
}

function Verdict({ data, base, other, window }: { data: Comparison; base: string[]; other: string[]; window: string }): ReactNode {
  const command = ["neurolens compare", `--base ${base.map(shellWord).join(" ")}`, `--new ${other.map(shellWord).join(" ")}`,
    ...(window === "auto" ? [] : [`--window ${shellWord(window)}`])].join(" ");
  return (
    <section className="verdict" aria-label="Verdict">
      <p>
        <span className={`badge ${data.verdict}`}>{VERDICTS[data.verdict] ?? data.verdict}</span> <strong>{said(data.sentence)}</strong>
      </p>
      {[...data.reasons, ...data.remarks].map((reason) => (
        <p className="hint" key={reason}>
          {sentence(reason)}
        </p>
      ))}
      <p>
        <Link href={`/runs/${data.new.run_id}/timeline?with=${data.base.run_id}`}>Both time lines, aligned by step</Link> ·{" "}
        <Link href={`/runs/${data.base.run_id}/timeline`}>Timeline of the base</Link> ·{" "}
        <Link href={`/runs/${data.new.run_id}/timeline`}>Timeline of the new run</Link> ·{" "}
        <Link href={`/flame?run=${data.new.run_id}&base=${data.base.run_id}`}>Flame graph of the difference</Link>
        <CopyAs ways={{ command, link: location.href, ...mcpCall("compare", { base, new: other, window }) }} />
      </p>
    </section>
  );
}

/** Blue or red, with sign and arrow: never colour alone. */
function Delta({ ns }: { ns: number }): ReactNode {
  return (
    <span className={ns > 0 ? "worse" : ns < 0 ? "better" : ""} title={exactNs(ns)}>
      {signedDuration(ns)}
    </span>
  );
}

function Parts({ data, isShort }: { data: Comparison; isShort: boolean }): ReactNode {
  const parts = isShort ? data.parts.filter((part) => part.delta_ns !== 0) : data.parts;
  const { base, end } = sidesOf(data.parts, data.delta_ns);
  const list = stairs(parts, base, end);
  const axis = axisOf(list, base, end);
  const at = (ns: number) => ((ns - axis.begin) / (axis.end - axis.begin)) * 100;
  const bar = (from: number, to: number, kind: string) => (
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" className={kind}>
      <rect x={at(Math.min(from, to))} width={Math.max(0.3, Math.abs(at(to) - at(from)))} y="1" height="8" />
      <line x1={at(to)} x2={at(to)} y1="0" y2="10" />
    </svg>
  );
  return (
    <section aria-label="Parts">
      <h2>Where the difference is, per {data.unit}</h2>
      <Strips data={data} />
      <div className="scroll" tabIndex={0} role="region" aria-label="Waterfall of the parts">
        <table className="stairs">
          <thead>
            <tr>
              <th>Part</th>
              <Th define={`time of the part per ${data.unit} of the base; of several runs the one with the median`}>Base</Th>
              <Th define={`time of the part per ${data.unit} of the new side; of several runs the one with the median`}>New</Th>
              <Th define={`new - base, per ${data.unit}; all parts add up to the difference of the wholes`}>Difference</Th>
              <td aria-hidden="true" className="axis">
                <span>{duration(axis.begin)}</span>
                <span>{duration(axis.end)}</span>
              </td>
            </tr>
          </thead>
          <tbody>
            <tr className="total">
              <td>Base, all</td>
              <td className="number">
                <Time ns={base} />
              </td>
              <td />
              <td />
              <td aria-hidden="true">{bar(axis.begin, base, "total")}</td>
            </tr>
            {list.map(({ words, part, from, to }) => (
              <tr key={words}>
                <td>{words}</td>
                <td className="number">{part ? <Time ns={part.base_ns} /> : <Absent reason="no part names it" />}</td>
                <td className="number">{part ? <Time ns={part.new_ns} /> : <Absent reason="no part names it" />}</td>
                <td className="number">
                  <Delta ns={to - from} />
                </td>
                <td aria-hidden="true">{bar(from, to, to > from ? "worse" : "better")}</td>
              </tr>
            ))}
            <tr className="total">
              <td>New, all</td>
              <td />
              <td className="number">
                <Time ns={end} />
              </td>
              <td className="number">
                <Delta ns={data.delta_ns} />
              </td>
              <td aria-hidden="true">{bar(axis.begin, end, "total")}</td>
            </tr>
          </tbody>
        </table>
      </div>
      {axis.begin > 0 ? <p className="hint">The bars begin at {duration(axis.begin)}, not at zero: the steps would be too small to see.</p> : null}
    </section>
  );
}

const KINDS: Record<string, string> = { compute: "compute", communication: "communication alone", copy: "copies alone", idle: "idle" };

function sharesInWords(shares: Share[], total: number): string {
  return shares.map((one) => `${KINDS[one.kind] ?? one.kind} ${percent(one.ns / Math.max(1, total))}`).join(", ");
}

/** Both sides on one scale. */
function Strips({ data }: { data: Comparison }): ReactNode {
  const { base, end } = sidesOf(data.parts, data.delta_ns);
  const longest = Math.max(base, end, 1);
  return (
    <div className="strips">
      {([["Base", "base_ns", base], ["New", "new_ns", end]] as const).map(([title, side, total]) => (
        <div className="strip" key={title}>
          <span>{title}</span>
          <span className="closing-bar" role="img" aria-label={sharesInWords(byKind(data.parts, side), total)}>
            {byKind(data.parts, side).map(({ kind, ns }) => (
              <span
                key={kind} className={KINDS[kind] ? kind : "other"} style={{ width: `${(ns / longest) * 100}%` }}
                title={`${KINDS[kind] ?? kind}: ${duration(ns)}, ${percent(ns / Math.max(1, total))} of the ${data.unit}`}
              />
            ))}
          </span>
          <Time ns={total} />
        </div>
      ))}
      <p className="hint legend">
        {byKind(data.parts, "base_ns").map(({ kind }) => (
          <span key={kind}>
            <span className={`swatch ${KINDS[kind] ? kind : "other"}`} /> {KINDS[kind] ?? kind}
          </span>
        ))}
      </p>
    </div>
  );
}

const KIND_WORDS: Record<string, string> = {
  changed: "takes longer or shorter", moved: "at another place", renamed: "another kernel", fused: "fused", split: "split",
    added: "only in new", removed: "only in base",
};

function Changes({ data, by, setBy, isShort }: { data: Comparison; by: string; setBy: (by: string) => void; isShort: boolean }): ReactNode {
  const ways: [string, string, number][] = [["work", "Kernels and ops", data.changes.length], ["op", "By op", data.ops.length],
    ["module", "By layer", data.modules.length]];
  const keep = <T extends { delta_ns: number }>(rows: T[]): T[] => (isShort ? rows.filter((one) => one.delta_ns !== 0) : rows);
  return (
    <section aria-label="Changes">
      <h2>What changed, per {data.unit}</h2>
      <div className="tabs" role="tablist" aria-label="Changes by">
        {ways.map(([id, title, count]) => (
          <button key={id} role="tab" aria-selected={by === id} disabled={count === 0} onClick={() => setBy(id)}>
            {title} <span className="hint">{grouped(count)}</span>
          </button>
        ))}
      </div>
      <div className="scroll tall" tabIndex={0} role="region" aria-label="Table of changes">
        {by === "work" ? <WorkTable data={data} rows={keep(data.changes)} />
          : <NamedTable rows={keep(by === "op" ? data.ops : data.modules)} title={by === "op" ? "Op" : "Layer"} />}
      </div>
      {by === "work" && data.not_shown.rows > 0 ? (
        <p className="hint">
          and {grouped(data.not_shown.rows)} more, together {signedDuration(data.not_shown.delta_ns)}
        </p>
      ) : null}
    </section>
  );
}

const PER_UNIT = {
  base: "its time in the base, per unit of the window: the sum of its calls", new: "its time on the new side, per unit of the window: the sum of its calls",
  delta: "new - base, per unit of the window; what is not listed is summed up below the table", calls: "calls in the base → calls on the new side",
};

function WorkTable({ data, rows }: { data: Comparison; rows: Change[] }): ReactNode {
  if (rows.length === 0) return <p>No op or kernel differs.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th>Name</th>
          <th>What happened</th>
          <Th define={PER_UNIT.base}>Base</Th>
          <Th define={PER_UNIT.new}>New</Th>
          <Th define={PER_UNIT.delta}>Difference</Th>
          <Th define={PER_UNIT.calls}>Calls</Th>
          <th>On the timeline</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((change, number) => (
          <tr key={number}>
            <td className="mono" title={change.new?.names.join("\n") ?? change.base?.names.join("\n") ?? change.name}>
              {shown(change.name, 64)}
              {change.op ? <span className="hint"> in {shown(change.op, 36)}</span> : null}
            </td>
            <td>{KIND_WORDS[change.kind] ?? change.kind}</td>
            <td className="number">{change.base ? <Time ns={change.base.time_ns} /> : <Absent reason="it is not in the base" />}</td>
            <td className="number">{change.new ? <Time ns={change.new.time_ns} /> : <Absent reason="it is not in the new run" />}</td>
            <td className="number">
              <Delta ns={change.delta_ns} />
            </td>
            <td className="number">
              {callsOf(change.base?.calls_per_unit)} → {callsOf(change.new?.calls_per_unit)}
            </td>
            <td>
              <FindButton run={data.base.run_id} name={change.base?.names[0]} title="base" />{" "}
              <FindButton run={data.new.run_id} name={change.new?.names[0]} title="new" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const callsOf = (calls: number | undefined): string => (calls === undefined ? "none" : Number.isInteger(calls) ? grouped(calls) : calls.toFixed(2));

/** Opens the time line at the longest work of this name. */
function FindButton({ run, name, title }: { run: string; name: string | undefined; title: string }): ReactNode {
  const [, go] = useLocation();
  const [said, setSaid] = useState("");
  if (name === undefined) return null;
  const find = async () => {
    try {
      const address = await addressOfName(run, name);
      if (address) go(address);
      else setSaid("it has no time");
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button className="plain link" aria-label={`Show ${shown(name, 40)} on the timeline of the ${title} run`} onClick={() => void find()}>
        {title} ▸
      </button>
      <span role="status">{said}</span>
    </>
  );
}

function NamedTable({ rows, title }: { rows: NamedChange[]; title: string }): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          <th>{title}</th>
          <Th define={PER_UNIT.base}>Base</Th>
          <Th define={PER_UNIT.new}>New</Th>
          <Th define={PER_UNIT.delta}>Difference</Th>
          <Th define={PER_UNIT.calls}>Calls</Th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <td className="mono" title={row.name ?? undefined}>
              {row.name === null ? <Absent reason={`work of no ${title.toLowerCase()}`} /> : shown(row.name, 90)}
            </td>
            <td className="number">{row.base_calls > 0 ? <Time ns={row.base_ns} /> : <Absent reason="it is not in the base" />}</td>
            <td className="number">{row.new_calls > 0 ? <Time ns={row.new_ns} /> : <Absent reason="it is not in the new run" />}</td>
            <td className="number">
              <Delta ns={row.delta_ns} />
            </td>
            <td className="number">
              {grouped(row.base_calls)} → {grouped(row.new_calls)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What was the same and what was not when the runs were made: whether the times may be compared at all. */
function Conditions({ data, isShort }: { data: Comparison; isShort: boolean }): ReactNode {
  const factors = data.comparability.factors.filter((one) => !isShort || one.state === "different");
  const unknown = data.comparability.factors.filter((one) => one.state === "unknown").length;
  return (
    <section aria-label="Conditions of the runs">
      <h2>What differs between the runs</h2>
      {data.differences.length === 0 ? <p>No label and no fact of the runs differs.</p> : null}
      <ul className="facts">
        {data.differences.map((one) => (
          <li key={one}>{shown(one, 160)}</li>
        ))}
      </ul>
      {factors.length > 0 ? (
        <div className="scroll" tabIndex={0} role="region" aria-label="Table of conditions">
          <table>
            <caption>What decides whether the times may be compared</caption>
            <thead>
              <tr>
                <th>Condition</th>
                <th>Base</th>
                <th>New</th>
                <th>State</th>
                <th>What it means</th>
              </tr>
            </thead>
            <tbody>
              {factors.map((one) => (
                <tr key={one.name}>
                  <td>{one.name.replaceAll("_", " ")}</td>
                  <td>{one.base === null ? <Absent reason="the base does not say" /> : shown(one.base, 50)}</td>
                  <td>{one.new === null ? <Absent reason="the new run does not say" /> : shown(one.new, 50)}</td>
                  <td>{one.state}</td>
                  <td>{one.words}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      {isShort && unknown > 0 ? <p className="hint">{grouped(unknown)} more conditions are not known of both runs;
        switch off “only differences” to see them.</p> : null}
    </section>
  );
}
