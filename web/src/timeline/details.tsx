// The selected span, or gap: what the tables say of it, and what it is linked to.

import { useQuery } from "@tanstack/react-query";
import { memo, type ReactNode } from "react";
import type { TimelineTrack } from "../api/answers";
import type { Cell } from "../api/answers_timeline";
import { shown } from "../format/names";
import { bytes, digits, duration, exactNs, grouped } from "../format/numbers";
import { OFFLINE } from "../offline/mode";
import { CopyAs, shellWord } from "../parts/copy_as";
import { Absent } from "../parts/figure";
import { Failure, Waiting } from "../parts/state";
import { namedIn, type NamedGap } from "./idle";
import { ID_COLUMNS, type Gap, type Span } from "./item";
import type { Source } from "./lines";
import { countersSql, MOST_LINKED, recordSql, select, type Linked, type Row, type Unplaced } from "./records";
import { SpanNotes } from "./span_notes";

/** Shown elsewhere, or of no use to a reader. */
const NOT_LISTED = new Set(["name", "start_ns", "dur_ns", "track_id", "launch_span_id", "op_id", "parent_id", "args", "span_id", "kernel_id", "copy_id", "sync_id"]);

interface SpanDetailsProps {
  span: Span;
  source: Source;
  record: Row | null; // null: not there yet
  linked: Linked | null;
  failure: unknown;
  zoom: () => void;
  go: (to: Unplaced) => void;
  light: (name: string | null) => void;
  leave: () => void; // back to the picture
  link: string; // to this page as it is
}

export const SpanDetails = memo(function SpanDetails({ span, source, record, linked, failure, zoom, go, light, leave, link }: SpanDetailsProps): ReactNode {
  const track = source.data.tracks.find((one) => one.track === source.data.rows[span.row]?.track);
  const sql = recordSql(span.table, span.id);
  const origin = source.data.origin_ns;
  return (
    <section aria-label="Selected span" className="selected-span">
      <div>
        <h2 className="mono" title={span.name}>
          {shown(span.name, 80)}
        </h2>
        <p>
          <button onClick={zoom} title="F">
            Zoom to it
          </button>
          <CopyAs ways={{ name: span.name, SQL: sql, command: `neurolens query ${source.id.slice(0, 12)} ${shellWord(sql)}`, link }} />
        </p>
        <dl>
          <Fact name="Name">
            <span className="mono">{shown(span.name, 2000)}</span>
          </Fact>
          <Fact name="Length">{span.length === 0 ? "an instant, or no length given" : <Exact ns={span.length} />}</Fact>
          <Fact name="Start">
            <Exact ns={span.start} /> after the begin
          </Fact>
          <Fact name="On the clock">{exactNs(BigInt(origin) + BigInt(Math.round(span.start)))}</Fact>
          <Fact name="Row">
            {track ? trackText(track) : ""}, {span.table}, {ID_COLUMNS[span.table]} {span.id}
          </Fact>
          {record ? <Facts record={record} /> : null}
        </dl>
      </div>
      <div>
        {failure ? <Failure error={failure} /> : null}
        {!record && !failure ? <Waiting what="Reading its record" /> : null}
        <SpanNotes run={source.id} span={span} leave={leave} />
        {linked ? <Links span={span} linked={linked} go={go} light={light} /> : null}
        {span.table === "kernels" && !OFFLINE ? <Counters run={source.id} kernel={span.id} /> : null}
        {record?.["args"] ? <Arguments text={String(record["args"])} /> : null}
      </div>
    </section>
  );
});

function trackText({ process, title }: TimelineTrack): string {
  return `${shown(process.trim(), 60)} / ${shown(title.trim(), 60)}`;
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Exact({ ns }: { ns: number }): ReactNode {
  return (
    <span>
      {duration(ns)} <span className="hint">({exactNs(ns)})</span>
    </span>
  );
}

function Facts({ record }: { record: Row }): ReactNode {
  const known = Object.entries(record).filter(([name, value]) => value !== null && !NOT_LISTED.has(name));
  const absent = Object.keys(record).filter((name) => record[name] === null && !NOT_LISTED.has(name));
  return (
    <>
      {sized(known).map(([name, value]) => (
        <Fact key={name} name={name}>
          <span className="mono">{value}</span>
        </Fact>
      ))}
      {absent.length > 0 ? (
        <Fact name="Not in this trace">
          <span className="hint">{absent.map(words).join(", ")}</span>
        </Fact>
      ) : null}
    </>
  );
}

const words = (name: string) => name.replace(/_(ns|bytes|pct)$/, "").replaceAll("_", " ");

/** Columns as a reader wants them: grid and block in one line each, units on numbers. */
export function sized(known: [string, Cell][]): [string, string][] {
  const cells = new Map(known);
  const list: [string, string][] = [];
  for (const [name, value] of cells) {
    const axis = /^(grid|block)_([xyz])$/.exec(name);
    if (axis && axis[2] === "x") list.push([axis[1] as string, ["x", "y", "z"].map((one) => cells.get(`${axis[1]}_${one}`) ?? "—").join(" × ")]);
    else if (!axis) list.push([words(name), cellText(name, value)]);
  }
  return list;
}

function cellText(name: string, value: Cell): string {
  if (typeof value === "number" || typeof value === "bigint") {
    if (name.endsWith("_ns")) return duration(Number(value));
    if (name.endsWith("bytes")) return bytes(Number(value));
    if (name.endsWith("_pct")) return `${digits(Number(value))} %`;
    if (name === "bandwidth_gb_per_s") return `${digits(Number(value))} GB/s`;
    return typeof value === "bigint" || Number.isInteger(value) ? String(value) : digits(value);
  }
  return shown(String(value), 2000);
}

function Links({ span, linked, go, light }: { span: Span; linked: Linked; go: (to: Unplaced) => void; light: (name: string | null) => void }): ReactNode {
  const link = (to: Unplaced) => (
    <button className="link mono" title={to.name} onClick={() => go(to)} onPointerEnter={() => light(to.name)} onPointerLeave={() => light(null)}>
      {shown(to.name, 70)}
    </button>
  );
  const isWork = span.table === "kernels" || span.table === "copies";
  return (
    <div className="links">
      {isWork ? (
        <p>
          Launched by {linked.launch ? link(linked.launch) : <Absent reason="no call is known that launched it" />}
          {linked.launch ? <span className="hint"> {duration(span.start - linked.launch.start)} before it began</span> : null}
        </p>
      ) : null}
      {isWork || linked.op ? (
        <p>
          Belongs to op {linked.op ? link(linked.op) : <Absent reason="no op is known for it" />}
        </p>
      ) : null}
      {linked.caller ? <p>Inside of {link(linked.caller)}</p> : null}
      {span.table === "spans" && linked.work.length > 0 ? <Work linked={linked} link={link} /> : null}
      {span.table === "spans" && linked.work.length === 0 ? <p className="hint">No device work was launched in it.</p> : null}
      <CopyAs ways={linked.sql.length > 0 ? { "SQL of the links": linked.sql.join(";\n") } : {}} />
    </div>
  );
}

function Work({ linked, link }: { linked: Linked; link: (to: Unplaced) => ReactNode }): ReactNode {
  const sum = linked.work.reduce((total, one) => total + one.length, 0);
  const isPart = linked.workInAll > linked.work.length;
  return (
    <details open>
      <summary>
        Device work launched in it: {grouped(linked.workInAll)}, {duration(sum)} in sum{isPart ? ` of the first ${MOST_LINKED}` : ""}
      </summary>
      <ol>
        {linked.work.map((one) => (
          <li key={`${one.table}/${one.id}`}>
            {link(one)} <span className="number">{duration(one.length)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function Counters({ run, kernel }: { run: string; kernel: number }): ReactNode {
  const sql = countersSql(kernel);
  const counters = useQuery({ queryKey: ["counters", run, kernel], gcTime: 60_000, queryFn: async ({ signal }) => await select(run, sql, signal) });
  if (counters.error) return <Failure error={counters.error} />;
  if (!counters.data) return <Waiting what="Looking for counters" />;
  if (counters.data.length === 0)
    return (
      <p>
        Counters <Absent reason="no counters were recorded for this kernel, and no replayed launch is surely the same" />
      </p>
    );
  return (
    <details>
      <summary>{counters.data.length} counters</summary>
      <CopyAs ways={{ SQL: sql }} />
      <table>
        <tbody>
          {counters.data.map((one, n) => (
            <tr key={n}>
              <td className="mono">{shown(String(one["metric"]), 80)}</td>
              <td className="number">{counterValue(one)}</td>
              <td>{one["unit"] === null ? "" : shown(String(one["unit"]), 24)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function counterValue(one: Row): ReactNode {
  if (one["value"] !== null) return digits(Number(one["value"]));
  return one["text"] === null ? <Absent reason={String(one["absent"] ?? "the source gives none")} /> : shown(String(one["text"]), 80);
}

/** What the source said beyond the columns, a line for each key. */
function Arguments({ text }: { text: string }): ReactNode {
  const lines = argumentLines(text);
  return (
    <details open={lines.length <= 12}>
      <summary>Arguments ({lines.length})</summary>
      <dl>
        {lines.map(([name, value]) => (
          <Fact key={name} name={shown(name, 60)}>
            <span className="mono">{shown(value, 2000)}</span>
          </Fact>
        ))}
      </dl>
    </details>
  );
}

export function argumentLines(text: string): [string, string][] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed))
      return Object.entries(parsed).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  } catch {
    // a text of the source that is no JSON is shown as it is
  }
  return [["args", text]];
}

interface GapDetailsProps {
  gap: Gap;
  source: Source;
  gaps: readonly NamedGap[] | null; // null: the analysis is not there yet, or failed
  failed: boolean;
  zoom: () => void;
}

export const GapDetails = memo(function GapDetails({ gap, source, gaps, failed, zoom }: GapDetailsProps): ReactNode {
  const track = source.data.tracks.find((one) => one.track === source.data.rows[gap.row]?.track);
  const named = track && gaps ? namedIn(gaps, track, { begin: gap.start, end: gap.start + gap.length }) : [];
  return (
    <section aria-label="Selected gap" className="selected-span">
      <div>
        <h2>
          Nothing on this row for {duration(gap.length)} <span className="hint">({exactNs(gap.length)})</span>
        </h2>
        <p>
          <button onClick={zoom}>Zoom to it</button>
        </p>
        <dl>
          <Fact name="From">
            <Exact ns={gap.start} /> after the begin
          </Fact>
          <Fact name="Row">{track ? trackText(track) : ""}</Fact>
          <Fact name="Cause">
            {gaps === null ? (failed ? "Not known: the analysis failed. Its error is above the picture." : "The analysis is not there yet.") : null}
            {gaps !== null && named.length === 0 ? (
              <>
                <Absent reason="only the longest gaps of each device are named, in the steady window" />{" "}
                <span className="hint">Only the longest gaps of each device are named; this is none of them.</span>
              </>
            ) : null}
            <ul>
              {named.map((one) => (
                <li key={`${one.begin}/${one.device}`}>
                  {duration(one.end - one.begin)}: {one.words}
                  {one.hostSpan ? ` (${shown(one.hostSpan, 120)})` : ""}
                </li>
              ))}
            </ul>
          </Fact>
        </dl>
      </div>
    </section>
  );
});
