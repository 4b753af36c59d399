// Hardware counters of single kernels, as Nsight Compute or rocprofv3 replayed them, and series over time.

import type { ReactNode } from "react";
import { Link } from "wouter";
import type { CountedKernel, Counters as Counted, QueryRows } from "../../api/answers_run";
import { said, shown } from "../../format/names";
import { digits, grouped, percent } from "../../format/numbers";
import { Absent, Time } from "../../parts/figure";
import { Failure, Waiting } from "../../parts/state";
import { useAnalysis, useRows } from "./asked";
import { SERIES } from "./counter_series";
import { Body, Name, Nothing, Scroll, Share, sqlLink, useWord, Value } from "./parts";

/** Columns: what they are called, the field, and its unit. */
const COLUMNS: [string, keyof CountedKernel, string][] = [
  ["Compute throughput", "sm_pct", "%"], ["Memory throughput", "memory_pct", "%"], ["Device memory", "dram_pct", "%"], ["Tensor pipes", "tensor_pct", "%"],
  ["Occupancy", "achieved_occupancy_pct", "%"], ["Possible occupancy", "theoretical_occupancy_pct", "%"],
  ["L1 hits", "l1_hit_pct", "%"], ["L2 hits", "l2_hit_pct", "%"], ["Warp efficiency", "warp_efficiency_pct", "%"],
  ["Instructions a clock", "ipc", "count"], ["Registers", "registers", "count"], ["Bytes of device memory", "dram_bytes", "B"], ["Clock", "sm_clock_hz", "Hz"],
];

export default function Counters({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id, true);
  return (
    <Body asked={analysis} what="Reading the counters">
      {({ data }) => (
        <>
          {data.counters ? <Kernels id={id} counters={data.counters} /> : null}
          <OverTime id={id} hasKernels={data.counters !== null} />
        </>
      )}
    </Body>
  );
}

function Kernels({ id, counters }: { id: string; counters: Counted }): ReactNode {
  const [word, setWord] = useWord("kernel");
  const chosen = counters.kernels.find((one) => one.kernel === word) ?? counters.kernels[0];
  const columns = COLUMNS.filter(([, field]) => counters.kernels.some((one) => one[field] !== null));
  const missing = COLUMNS.filter((one) => !columns.includes(one)).map(([title]) => title);
  return (
    <>
      <p>
        {grouped(counters.launches)} launches were replayed under the counter profiler, <Time ns={counters.replay_ns} /> in all. That is not the time of
        the run: the profiler fixes clocks and flushes caches.
      </p>
      <Scroll label="Table of counted kernels">
        <table>
          <thead>
            <tr>
              <th>Kernel</th>
              <th className="number">Launches</th>
              <th className="number">Replayed</th>
              <th className="number">Share of replayed time</th>
              <th>Bound by</th>
              {columns.map(([title]) => (
                <th key={title} className="number">
                  {title}
                </th>
              ))}
              <th>Look</th>
            </tr>
          </thead>
          <tbody>
            {counters.kernels.map((one) => (
              <tr key={one.kernel}>
                <td>
                  <Name text={one.kernel} label={one.label} most={36} />
                </td>
                <td className="number">{grouped(one.launches)}</td>
                <td className="number">
                  <Time ns={one.replay_ns} />
                </td>
                <td className="number">
                  <Share value={one.share} />
                </td>
                <td>{one.bound ?? <Absent reason={one.absent["bound"] ?? "the file does not say"} />}</td>
                {columns.map(([title, field, unit]) => (
                  <td key={title} className="number">
                    <Value value={one[field] as number | null} unit={unit} absent={one.absent[field] ?? "not in the file"} />
                  </td>
                ))}
                <td className="actions">
                  <button aria-pressed={one === chosen} onClick={() => setWord(one.kernel)}>
                    Why
                  </button>
                  <Link href={sqlLink(id, metricsSql(one.kernel))}>SQL</Link>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {missing.length > 0 ? <p className="hint">No kernel has a counter for: {missing.join(", ")}.</p> : null}
      {chosen ? <Why counters={counters} kernel={chosen} /> : null}
    </>
  );
}

function metricsSql(kernel: string): string {
  const name = `'${kernel.replaceAll("'", "''")}'`;
  return `SELECT launch_id, section, metric, unit, value, text, absent FROM kernel_metrics\nWHERE kernel_name = ${name} ORDER BY launch_id, metric`;
}

/** What is known of one kernel: statements, why its warps wait, advice of the profiler. */
function Why({ counters, kernel }: { counters: Counted; kernel: CountedKernel }): ReactNode {
  const statements = counters.diagnosis.filter((one) => one.kernel === kernel.kernel);
  const advice = counters.advice.filter((one) => one.kernel === kernel.kernel);
  const stalls = Object.entries(kernel.evidence.stall_shares).filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1]);
  return (
    <section aria-label="Of the chosen kernel" aria-live="polite">
      <h2 title={kernel.kernel}>{shown(kernel.label, 80)}</h2>
      <ul>
        {statements.map((one) => (
          <li key={one.id}>{said(one.text)}</li>
        ))}
      </ul>
      {stalls.length > 0 ? (
        <table>
          <caption>Why warps wait: share of their stalls</caption>
          <tbody>
            {stalls.slice(0, 10).map(([name, share]) => (
              <tr key={name}>
                <th scope="row">{shown(name.replaceAll("_", " "), 60)}</th>
                <td className="number">{percent(share)}</td>
                <td aria-hidden="true">
                  <svg className="share" viewBox="0 0 100 8" preserveAspectRatio="none">
                    <rect className="compute" x="0" y="1" height="6" width={share * 100} />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {advice.length > 0 ? (
        <>
          <h3>What the profiler advises</h3>
          <ul>
            {advice.map((one, n) => (
              <li key={n}>
                {shown(one.text, 2000)} {one.speedup_pct ? <span className="gain">it estimates {digits(one.speedup_pct)} %</span> : null}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </section>
  );
}

function OverTime({ id, hasKernels }: { id: string; hasKernels: boolean }): ReactNode {
  const asked = useRows(id, SERIES);
  if (asked.error) return <Failure error={asked.error} />;
  if (!asked.data) return <Waiting what="Reading the counters over time" />;
  if (asked.data.rows.length > 0) return <SeriesTable id={id} data={asked.data} />;
  if (hasKernels) return null;
  return (
    <Nothing
      why="no kernel of this run has hardware counters"
      record="`neurolens deep -- COMMAND` records them with the trace; or add a table of `ncu --csv --page raw` or of `rocprofv3 --pmc`: `neurolens import --as-one`."
    />
  );
}

function SeriesTable({ id, data }: { id: string; data: QueryRows }): ReactNode {
  return (
    <section aria-label="Counters over time">
      <h2>
        Counters over time <Link href={sqlLink(id, SERIES)}>SQL</Link>
      </h2>
      <Scroll label="Table of series">
        <table>
          <thead>
            <tr>
              <th>Counter</th>
              <th>Series</th>
              <th className="number">Samples</th>
              <th className="number">Smallest</th>
              <th className="number">Mean</th>
              <th className="number">Largest</th>
            </tr>
          </thead>
          <tbody>
            {data.rows.map(([name, series, unit, samples, ...values], n) => (
              <tr key={n}>
                <td title={String(name)}>{shown(String(name), 60)}</td>
                <td>{series === null ? <Absent reason="the counter is one series" /> : shown(String(series), 40)}</td>
                <td className="number">{grouped(Number(samples))}</td>
                {values.map((value, i) => (
                  <td className="number" key={i}>
                    <Value value={value === null ? null : Number(value)} unit={unit === null ? "" : String(unit)} absent="no sample has a value" />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}
