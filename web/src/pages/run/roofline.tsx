// How near ops and kernels are to what the device can do: operations a second against operations a byte.

import type { ReactNode } from "react";
import type { CountedKernel, KnownPeaks, Peaks, RoofOp, RunAnalysis, RunDevice } from "../../api/answers_run";
import { shown } from "../../format/names";
import { digits, duration, percent } from "../../format/numbers";
import { Absent, Time } from "../../parts/figure";
import { useAnalysis } from "./asked";
import { Body, Name, Nothing, placeText, Scroll, Share, usePlace } from "./parts";
import { decadeMarks, decades, logPlace, rate, roofAt } from "./plot";

const RECORD = "Shapes are needed: with PyTorch record `record_shapes=True`. Or count operations and bytes with Nsight Compute: `ncu --set roofline`.";

export default function Roofline({ id }: { id: string }): ReactNode {
  const analysis = useAnalysis(id, true);
  return (
    <Body asked={analysis} what="Comparing with the roof of the device">
      {({ data }) => (
        <>
          <Modelled devices={data.devices.filter((one) => one.kind === "device")} hasCounters={data.counters !== null} />
          <Counted data={data} />
        </>
      )}
    </Body>
  );
}

interface Dot {
  name: string;
  intensity: number;
  flopsPerSecond: number;
  ns: number;
  dtype: string;
}

/** From the shapes of ops. */
function Modelled({ devices, hasCounters }: { devices: RunDevice[]; hasCounters: boolean }): ReactNode {
  const [device, choice] = usePlace(devices);
  if (!device) return hasCounters ? null : <Nothing why="no device work in the run" record={RECORD} />;
  const { ops, peaks, kernel_ns, modelled_ns, without_model } = device.roofline;
  if (ops.length === 0) {
    const missing = Object.keys(without_model).slice(0, 3).map((one) => shown(one, 40));
    const why = "absent" in peaks ? peaks.absent : `no op of the window has a model of its operations${missing.length > 0 ? `: ${missing.join(", ")}` : ""}`;
    return (
      <>
        <p className="controls">{choice}</p>
        <Nothing why={why} record={RECORD} />
      </>
    );
  }
  return (
    <section aria-label="Ops by their shapes">
      <h2>Ops, by a model of their shapes</h2>
      <p className="controls">
        {choice}
        <span className="hint">
          {percent(modelled_ns / Math.max(1, kernel_ns))} of the kernel time of {placeText(device)} has a model:{" "}
          <Time ns={modelled_ns} /> of <Time ns={kernel_ns} />.
        </span>
      </p>
      <PeaksLine peaks={peaks} />
      <Chart dots={ops.flatMap(dotOfOp)} peaks={peaks} />
      <OpsTable ops={ops} />
    </section>
  );
}

function dotOfOp(op: RoofOp): Dot[] {
  if (!op.intensity || !op.flops_per_s) return [];
  return [{ name: op.name, intensity: op.intensity, flopsPerSecond: op.flops_per_s, ns: op.kernel_ns, dtype: op.dtype }];
}

function PeaksLine({ peaks }: { peaks: KnownPeaks }): ReactNode {
  if ("absent" in peaks) return <p>No roof is drawn: {shown(peaks.absent, 300)}.</p>;
  return (
    <p className="hint">
      Peaks of {shown(peaks.device, 60)}: {peaks.bandwidth === null ? "bandwidth not known" : rate(peaks.bandwidth, "B/s")}; {peaks.source}.
    </p>
  );
}

function Chart({ dots, peaks }: { dots: Dot[]; peaks: KnownPeaks }): ReactNode {
  if (dots.length === 0) return <p className="hint">None of these does floating-point operations that can be drawn.</p>;
  const roofs = "absent" in peaks ? [] : roofsOf(peaks, dots);
  const x = decades([...dots.map((one) => one.intensity), ...roofs.map((one) => one.ridge)]);
  const y = decades([...dots.map((one) => one.flopsPerSecond), ...roofs.map((one) => one.peak)]);
  const left = (value: number) => 60 + logPlace(value, x) * 600;
  const top = (value: number) => 280 - logPlace(value, y) * 260;
  const most = Math.max(...dots.map((one) => one.ns), 1);
  const [first, last] = [10 ** x.from, 10 ** x.to];
  const corner = (at: number, roof: Roof) => `${left(at)},${top(Math.max(roofAt(at, roof.bandwidth, roof.peak), 10 ** y.from))}`;
  return (
    <svg className="roof" viewBox="0 0 680 320" role="img" aria-label="Operations a second against operations a byte, logarithmic; the table says the same">
      {decadeMarks(x).map((mark) => (
        <g key={`x${mark}`} className="mark">
          <line x1={left(mark)} x2={left(mark)} y1="20" y2="280" />
          <text x={left(mark)} y="295" textAnchor="middle">
            {mark >= 1 ? mark : mark.toPrecision(1)}
          </text>
        </g>
      ))}
      {decadeMarks(y).map((mark) => (
        <g key={`y${mark}`} className="mark">
          <line x1="60" x2="660" y1={top(mark)} y2={top(mark)} />
          <text x="56" y={top(mark) + 3} textAnchor="end">
            {rate(mark, "")}
          </text>
        </g>
      ))}
      <text x="360" y="314" textAnchor="middle">
        operations a byte
      </text>
      <text x="60" y="12">
        floating-point operations a second
      </text>
      {roofs.map((roof) => (
        <g key={roof.dtype} className="roof-line">
          <polyline points={[first, Math.min(Math.max(roof.ridge, first), last), last].map((at) => corner(at, roof)).join(" ")} />
          <text x="656" y={top(roof.peak) - 4} textAnchor="end">
            {roof.dtype} {rate(roof.peak, "FLOP/s")}
          </text>
        </g>
      ))}
      {dots.map((dot, n) => (
        <circle key={n} cx={left(dot.intensity)} cy={top(dot.flopsPerSecond)} r={3 + 9 * Math.sqrt(dot.ns / most)}>
          <title>{dotText(dot)}</title>
        </circle>
      ))}
    </svg>
  );
}

function dotText(dot: Dot): string {
  return `${shown(dot.name, 80)} (${shown(dot.dtype, 30)}): ${digits(dot.intensity)} operations a byte, ${rate(dot.flopsPerSecond, "FLOP/s")}, ${duration(dot.ns)}`;
}

interface Roof {
  dtype: string;
  peak: number;
  bandwidth: number;
  ridge: number;
}

/** A roof for each data type that is drawn. */
function roofsOf(peaks: Peaks, dots: Dot[]): Roof[] {
  const { bandwidth, dense } = peaks;
  if (bandwidth === null) return [];
  return [...new Set(dots.map((one) => one.dtype))].flatMap((dtype) => {
    const peak = dense[dtype];
    return peak === undefined ? [] : [{ dtype, peak, bandwidth, ridge: peak / bandwidth }];
  });
}

function OpsTable({ ops }: { ops: RoofOp[] }): ReactNode {
  return (
    <Scroll label="Table of ops and their roof">
      <table>
        <thead>
          <tr>
            <th>Op</th>
            <th>Class</th>
            <th>Type</th>
            <th className="number">Kernel time</th>
            <th className="number">Operations a byte</th>
            <th className="number">Attained</th>
            <th className="number">Moved</th>
            <th>Bound by</th>
            <th className="number">Share of the roof</th>
          </tr>
        </thead>
        <tbody>
          {ops.map((op) => (
            <tr key={`${op.name}/${op.dtype}`}>
              <td>
                <Name text={op.name} most={50} />
              </td>
              <td>{op.class}</td>
              <td>{shown(op.dtype, 30)}</td>
              <td className="number">
                <Time ns={op.kernel_ns} />
              </td>
              <td className="number">
                <Intensity value={op.intensity} />
              </td>
              <td className="number">
                <Rate value={op.flops_per_s} unit="FLOP/s" />
              </td>
              <td className="number">
                <Rate value={op.bytes_per_s} unit="B/s" />
              </td>
              <td>{op.bound ?? <Absent reason={op.absent ?? "the roof is not known"} />}</td>
              <td className="number">
                <Share value={op.roof_share} absent={op.absent ?? "the roof is not known"} />
                {op.model_or_peak_error ? <span className="hint"> more than possible: the model or the peak is wrong</span> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Intensity({ value }: { value: number | null }): ReactNode {
  return value === null ? <Absent reason="its bytes or operations are not known" /> : <span title={String(value)}>{digits(value)}</span>;
}

function Rate({ value, unit, absent }: { value: number | null; unit: string; absent?: string | undefined }): ReactNode {
  return value === null ? <Absent reason={absent ?? "the run does not say"} /> : <span title={`${value} ${unit}`}>{rate(value, unit)}</span>;
}

/** From hardware counters. */
function Counted({ data: { counters } }: { data: RunAnalysis }): ReactNode {
  if (!counters) return null;
  const peaks = counters.devices[0]?.peaks ?? { absent: "the source does not name the device" };
  const dots = counters.kernels.flatMap(dotOfKernel);
  return (
    <section aria-label="Kernels by counters">
      <h2>Kernels, by hardware counters</h2>
      <PeaksLine peaks={peaks} />
      {dots.length === 0 ? <p>{whyNoCounts(counters.kernels)}</p> : <Chart dots={dots} peaks={peaks} />}
      <CountedTable kernels={counters.kernels} />
    </section>
  );
}

function whyNoCounts(kernels: CountedKernel[]): string {
  const reasons = [...new Set(kernels.flatMap((one) => [one.absent["flops"], one.absent["dram_bytes"]]).filter((one) => one !== undefined))];
  return `No kernel can be placed: ${reasons.join("; ") || "operations or bytes were not counted"}.`;
}

function dotOfKernel(one: CountedKernel): Dot[] {
  if (!one.intensity || !one.flops_per_s) return [];
  return [{ name: one.label, intensity: one.intensity, flopsPerSecond: one.flops_per_s, ns: one.replay_ns ?? 0, dtype: one.dtype ?? "type not known" }];
}

function CountedTable({ kernels }: { kernels: CountedKernel[] }): ReactNode {
  return (
    <Scroll label="Table of counted kernels and their roof">
      <table>
        <thead>
          <tr>
            <th>Kernel</th>
            <th>Type</th>
            <th className="number">Replayed time</th>
            <th className="number">Operations a byte</th>
            <th className="number">Attained</th>
            <th>Bound by</th>
            <th className="number">Share of the roof</th>
          </tr>
        </thead>
        <tbody>
          {kernels.map((one) => (
            <tr key={one.kernel}>
              <td>
                <Name text={one.kernel} label={one.label} most={60} />
              </td>
              <td>{one.dtype ?? <Absent reason="no operations were counted" />}</td>
              <td className="number">
                <Time ns={one.replay_ns} />
              </td>
              <td className="number">
                <Intensity value={one.intensity} />
              </td>
              <td className="number">
                <Rate value={one.flops_per_s} unit="FLOP/s" absent={one.absent["flops"]} />
              </td>
              <td>{one.roof_bound ?? <Absent reason={one.absent["flops"] ?? one.absent["dram_bytes"] ?? "the roof is not known"} />}</td>
              <td className="number">
                <Share value={one.roof_share} absent={one.absent["flops"] ?? one.absent["dram_bytes"] ?? "the roof is not known"} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
