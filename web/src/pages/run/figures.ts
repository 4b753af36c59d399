// What the overview shows, computed from the analysis: parts of a window, findings by rule, bars of steps.

import type { Metrics, Parts, Place, RunAnalysis, RunDevice, RunFinding, Step } from "../../api/answers_run";

export type Kind = "compute" | "communication" | "copy" | "idle";

export interface Part {
  kind: Kind;
  words: string;
  ns: number;
  metric?: string;
}

/** The four parts that a window is the sum of. */
export function fourParts(one: Parts): Part[] {
  return [
    { kind: "compute", words: "compute", ns: one.compute_ns, metric: "compute_time" },
    { kind: "communication", words: "communication that nothing hides", ns: one.exposed_comm_ns, metric: "exposed_comm_time" },
    { kind: "copy", words: "copies that nothing hides", ns: one.exposed_copy_ns, metric: "exposed_copy_time" },
    { kind: "idle", words: "idle", ns: one.idle_ns, metric: "idle_time" },
  ];
}

/** The same with the idle time split by its causes; what has no cause stays, so that the sum is the window. */
export function partsOf(device: RunDevice, causes: Map<string, string>): Part[] {
  const idle = Object.entries(device.idle_causes).sort((a, b) => b[1] - a[1]);
  const named = idle.reduce((sum, [, ns]) => sum + ns, 0);
  const split = idle.map(([cause, ns]): Part => ({ kind: "idle", words: `idle: ${causeWords(cause, causes)}`, ns, metric: `idle_${cause}_time` }));
  const rest: Part[] = device.idle_ns > named ? [{ kind: "idle", words: "idle: no cause known", ns: device.idle_ns - named }] : [];
  return [...fourParts(device).slice(0, 3), ...split, ...rest].filter((part) => part.ns > 0);
}

export function causeWords(cause: string, causes: Map<string, string>): string {
  return causes.get(cause) ?? cause.replaceAll("_", " ");
}

export function causesOf(metrics: Metrics | undefined): Map<string, string> {
  return new Map(metrics?.idle_causes.map((one) => [one.name, one.doc]));
}

/** Findings of one rule on all devices and ranks; the one with most at stake first. */
export interface Found {
  rule: string;
  worst: RunFinding;
  all: RunFinding[];
}

export function byRule(findings: RunFinding[]): Found[] {
  const groups = new Map<string, RunFinding[]>();
  for (const one of findings) groups.set(one.rule, [...(groups.get(one.rule) ?? []), one]);
  return [...groups].map(([rule, list]) => {
    const all = [...list].sort((a, b) => b.at_stake_ns - a.at_stake_ns);
    return { rule, worst: all[0] as RunFinding, all };
  });
}

export type Proof = { what: "gap"; causes: string[] } | { what: "kernels"; class: string } | { what: "ranks" } | { what: "memory" };

const CLASSES = [
  "gemm", "conv", "attention", "norm", "softmax", "elementwise", "reduce", "pool", "embedding", "rope", "kv_cache",
  "moe", "quantize", "sample", "index", "memory", "communication", "optimizer", "loss", "recurrent", "control", "other",
];

/** Where a finding can be seen, by the figures that it rests on. */
export function proofOf(finding: RunFinding): Proof | null {
  const figures = finding.evidence.map((one) => one.of).join(" ");
  const causes = [...figures.matchAll(/idle_([a-z_]+)_time/g)].map((one) => one[1] as string);
  if (causes.length > 0) return { what: "gap", causes };
  if (/collective_wait|exposed_comm|comm_overlap/.test(figures)) return { what: "ranks" };
  if (/memory_(peak|slack|reserved)|allocation_count/.test(figures)) return { what: "memory" };
  const name = [...figures.matchAll(/\b([a-z_]+)_kernel_time/g)].map((one) => one[1] as string).find((one) => CLASSES.includes(one));
  return name ? { what: "kernels", class: name } : null;
}

export function isAt(one: Place, other: Place): boolean {
  return one.device === other.device && one.rank === other.rank;
}

/** The devices that have a part of the window; one of them is looked at. */
export function workingDevices(data: RunAnalysis): RunDevice[] {
  return data.devices.filter((one) => one.window_ns > 0);
}

/** At most so many bars: of neighbours the longest is drawn. */
export function barsOf(steps: Step[], most: number): { step: Step; number: number }[] {
  const size = Math.max(1, Math.ceil(steps.length / most));
  const bars: { step: Step; number: number }[] = [];
  for (let from = 0; from < steps.length; from += size) {
    let number = from;
    for (let i = from; i < Math.min(from + size, steps.length); i++) if ((steps[i] as Step).dur_ns > (steps[number] as Step).dur_ns) number = i;
    bars.push({ step: steps[number] as Step, number });
  }
  return bars;
}
