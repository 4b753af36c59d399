// All kernels of the window: searched, filtered by class, sorted; each leads to its longest call and to SQL.

import { useMemo, type ReactNode } from "react";
import { Link } from "wouter";
import type { KernelRow, QueryRows } from "../../api/answers_run";
import { shown } from "../../format/names";
import { grouped, percent } from "../../format/numbers";
import { Th } from "../../parts/definitions";
import { Time } from "../../parts/figure";
import { useAnalysis, useReady, useRows } from "./asked";
import { classesOf, callsSql, listed, orderAfter, orderOf, SUMMED, type Order } from "./kernel_list";
import { LongestCall } from "./longest_call";
import { Body, errorText, inUnit, Name, Nothing, placeKey, placeText, Scroll, Share, sqlLink, useWord, Value } from "./parts";

const MOST = 400;

export default function Kernels({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id, true);
  return (
    <Body asked={analysis} what="Summing up the kernels">
      {({ data }) => (data.top_kernels.length > 0 ? <List id={id} kernels={data.top_kernels} /> : <Summed id={id} />)}
    </Body>
  );
}

function List({ id, kernels }: { id: string; kernels: KernelRow[] }): ReactNode {
  const [text, setText] = useWord("q");
  const [kind, setKind] = useWord("class");
  const [word, setWord] = useWord("sort", "total_ns");
  const classes = useMemo(() => classesOf(kernels), [kernels]);
  const rows = useMemo(() => listed(kernels, text, kind, word), [kernels, text, kind, word]);
  const all = classes.reduce((sum, one) => sum + one.ns, 0);
  const time = rows.reduce((sum, one) => sum + one.total_ns, 0);
  const hasPlaces = kernels.some((one) => placeKey(one) !== placeKey(kernels[0] as KernelRow));
  return (
    <>
      <p className="controls">
        <input type="search" aria-label="Search kernels by name" placeholder="Search" value={text} onChange={(event) => setText(event.target.value)} />
        <label>
          Class{" "}
          <select value={kind} onChange={(event) => setKind(event.target.value)}>
            <option value="">all</option>
            {classes.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name} ({percent(one.ns / Math.max(1, all))})
              </option>
            ))}
          </select>
        </label>
        <span role="status">
          {grouped(rows.length)} of {grouped(kernels.length)} names, <Time ns={time} /> of <Time ns={all} /> on the device
        </span>
      </p>
      <Scroll label="Table of kernels">
        <table>
          <thead>
            <tr>
              <Head by="name" word={word} sort={setWord}>
                Name
              </Head>
              <th>Class</th>
              <th>Kernel family</th>
              {hasPlaces ? <th>Device</th> : null}
              <Head by="calls" word={word} sort={setWord} define="calls that run in the window, at least partly">
                Calls
              </Head>
              <Head by="total_ns" word={word} sort={setWord} define="sum of the durations of its calls, clipped to the window; not a wall time where calls overlap">
                Time
              </Head>
              <Th define="its time / the sum of the times of all kernels and copies of the device in the window">Share of the device's work</Th>
              <Head by="mean_ns" word={word} sort={setWord} define="mean duration of its calls">
                Mean
              </Head>
              <Head by="longest_ns" word={word} sort={setWord} define="duration of its longest call, not clipped to the window">
                Longest
              </Head>
              <Head by="exposed_share" word={word} sort={setWord} define="the part of its time in which nothing else runs on the device / its time">
                Share of its time alone
              </Head>
              <th>Look</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST).map((kernel) => (
              <Row key={`${placeKey(kernel)}/${kernel.is_copy}/${kernel.name}`} id={id} kernel={kernel} hasPlaces={hasPlaces} />
            ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > MOST ? <p className="hint">The first {MOST}. Search or choose a class to see the others.</p> : null}
    </>
  );
}

interface HeadProps {
  by: Order;
  word: string;
  sort: (word: string) => void;
  define?: string;
  children: ReactNode;
}

function Head({ by, word, sort, define, children }: HeadProps): ReactNode {
  const order = orderOf(word);
  const isSorted = order.by === by;
  const isDown = (by === "name") === order.isUp;
  return (
    <th className={by === "name" ? "" : "number wraps"} aria-sort={isSorted ? (isDown ? "descending" : "ascending") : undefined} data-define={define}>
      <button className="sort" onClick={() => sort(orderAfter(word, by))}>
        {children}
        {isSorted ? (isDown ? " ▾" : " ▴") : ""}
      </button>
    </th>
  );
}

function Row({ id, kernel, hasPlaces }: { id: string; kernel: KernelRow; hasPlaces: boolean }): ReactNode {
  return (
    <tr>
      <td>
        <Name text={kernel.name} label={kernel.label} most={64} />
      </td>
      <td>{kernel.class}</td>
      <td>{kernel.family}</td>
      {hasPlaces ? <td>{placeText(kernel)}</td> : null}
      <td className="number">{grouped(kernel.calls)}</td>
      <td className="number">
        <Time ns={kernel.total_ns} />
      </td>
      <td className="number">
        <Share value={kernel.share} />
      </td>
      <td className="number">
        <Value value={kernel.mean_ns === null ? null : Math.round(kernel.mean_ns)} unit="ns" />
      </td>
      <td className="number">
        <Time ns={kernel.longest_ns} />
      </td>
      <td className="number">
        <Share value={kernel.exposed_share} />
      </td>
      <td className="actions">
        <LongestCall id={id} kernel={kernel} />
        <Link href={sqlLink(id, callsSql(kernel))}>SQL</Link>
      </td>
    </tr>
  );
}

/** A run without a list of kernels may have sums that the profiler made itself. */
function Summed({ id }: { id: string }): ReactNode {
  const asked = useRows(id, SUMMED);
  useReady(asked.data !== undefined || asked.error !== null);
  if (!asked.data || asked.data.rows.length === 0)
    return (
      <Nothing
        why={asked.error ? errorText(asked.error) : asked.data ? "the window has no kernels" : "looking for sums of the profiler"}
        record="Kernels come from a profiler of the device: the PyTorch profiler with CUDA or ROCm activities, nsys, or `rocprofv3 --kernel-trace`."
      />
    );
  return <SummedTable data={asked.data} />;
}

function SummedTable({ data }: { data: QueryRows }): ReactNode {
  return (
    <>
      <p>This file holds no single calls: it is a table of sums that the profiler made itself.</p>
      <Scroll label="Sums of the profiler">
        <table>
          <thead>
            <tr>
              <th>Report</th>
              <th>Name</th>
              <th className="number">Calls</th>
              <th className="number">Sum</th>
              <th className="number">Mean</th>
              <th className="number">Share of the report</th>
            </tr>
          </thead>
          <tbody>
            {data.rows.slice(0, MOST).map(([report, name, calls, unit, total, mean, share], n) => (
              <tr key={n}>
                <td>{shown(String(report), 40)}</td>
                <td>
                  <Name text={String(name)} />
                </td>
                <td className="number">
                  <Value value={numberOf(calls)} unit="count" />
                </td>
                <td className="number">{total === null || total === undefined ? <Value value={null} unit="" /> : inUnit(Number(total), String(unit))}</td>
                <td className="number">{mean === null || mean === undefined ? <Value value={null} unit="" /> : inUnit(Number(mean), String(unit))}</td>
                <td className="number">
                  <Value value={numberOf(share)} unit="%" absent="the report does not say" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function numberOf(cell: unknown): number | null {
  return cell === null || cell === undefined ? null : Number(cell);
}
