import { describe, expect, it } from "vitest";
import type { KernelRow, RunAnalysis, RunDevice, RunFinding, Step } from "../../api/answers_run";
import { sentence } from "../../format/names";
import { kernelBehind, linkOf } from "./behind";
import { barsOf, byRule, partsOf, proofOf } from "./figures";
import { callsSql, classesOf, listed, orderAfter, orderOf } from "./kernel_list";
import { seriesOf } from "./memory_series";
import { inUnit, placeText } from "./parts";
import { idleShare } from "./steps";
import { decades, logPlace, rate, roofAt, stairs } from "./plot";
import { firstOpen, pressed, rowsOf, treeBy, treeOf } from "./tree";

describe("parts of a window", () => {
  const device = { compute_ns: 60, exposed_comm_ns: 0, exposed_copy_ns: 10, idle_ns: 30, idle_causes: { launch: 5, host_op: 20 } } as unknown as RunDevice;

  it("add up to the window, with what has no cause", () => {
    const parts = partsOf(device, new Map([["host_op", "the host runs ops"]]));
    expect(parts.map((one) => one.words)).toEqual([
      "compute", "copies that nothing hides", "idle: the host runs ops", "idle: launch", "idle: no cause known",
    ]);
    expect(parts.reduce((sum, one) => sum + one.ns, 0)).toBe(100);
  });
});

describe("findings", () => {
  const finding = (rule: string, at_stake_ns: number, of: string) => ({ rule, at_stake_ns, evidence: [{ of }] }) as unknown as RunFinding;

  it("are one item a rule, the worst first", () => {
    const found = byRule([finding("a", 1, ""), finding("b", 9, ""), finding("a", 5, "")]);
    expect(found.map((one) => [one.rule, one.worst.at_stake_ns, one.all.length])).toEqual([["a", 5, 2], ["b", 9, 1]]);
  });

  it("lead to what their figures are about", () => {
    expect(proofOf(finding("a", 1, "idle_host_data_time / total_time"))).toEqual({ what: "gap", causes: ["host_data"] });
    expect(proofOf(finding("a", 1, "kv_cache_kernel_time"))).toEqual({ what: "kernels", class: "kv_cache" });
    expect(proofOf(finding("a", 1, "flash2_kernel_time"))).toBeNull();
    expect(proofOf(finding("a", 1, "exposed_comm_time"))).toEqual({ what: "ranks" });
  });
});

describe("what a finding rests on", () => {
  const finding = { device: 1, rank: null } as unknown as RunFinding;
  const kernel = (device: number, kind: string, name: string) => ({ device, rank: null, class: kind, name, is_copy: false }) as unknown as KernelRow;

  it("is a kernel of its class on its device", () => {
    const data = { top_kernels: [kernel(0, "gemm", "a"), kernel(1, "norm", "b"), kernel(1, "gemm", "c")] } as unknown as RunAnalysis;
    expect(kernelBehind({ what: "kernels", class: "gemm" }, finding, data)?.name).toBe("c");
    expect(kernelBehind({ what: "ranks" }, finding, data)).toBeUndefined();
  });

  it("is selected on the time line, or shown as a gap", () => {
    expect(linkOf("r", { kind: "kernel", row: "kernels:12" })).toBe("/runs/r/timeline?show=k12");
    expect(linkOf("r", { kind: "gap", row: "kernels:3", start_ns: 100n, time_ns: 5 })).toBe("/runs/r/timeline?gap=100-5");
    expect(linkOf("r", { kind: "op" })).toBeNull();
  });
});

describe("the idle share of a step", () => {
  it("is that of the chosen device", () => {
    const step = { devices: [{ device: 0, rank: 0, window_ns: 10, idle_ns: 1 }, { device: 0, rank: 1, window_ns: 10, idle_ns: 7 }] } as unknown as Step;
    expect(idleShare(step, { device: 0, rank: 1 })).toBe(0.7);
    expect(idleShare(step, { device: 0, rank: 2 })).toBeNull();
  });
});

describe("bars of steps", () => {
  it("are the longest of neighbours", () => {
    const steps = [3, 1, 2, 5, 4].map((dur_ns) => ({ dur_ns }) as Step);
    expect(barsOf(steps, 2).map(({ number }) => number)).toEqual([0, 3]);
    expect(barsOf(steps, 10)).toHaveLength(5);
    expect(barsOf([], 10)).toEqual([]);
  });
});

describe("the tree", () => {
  const root = treeOf([
    { path: ["Model", "Layer", "Linear"], ns: 6, count: 2 },
    { path: ["Model", "Layer"], ns: 1, count: 1 },
    { path: ["Model", "Norm"], ns: 3, count: null },
  ]);

  it("has inclusive and self time", () => {
    const model = root.children[0];
    expect([root.totalNs, model?.totalNs, model?.selfNs]).toEqual([10, 10, 0]);
    expect(model?.children.map((one) => [one.name, one.totalNs, one.selfNs])).toEqual([["Layer", 7, 1], ["Norm", 3, 3]]);
  });

  it("does not take an unknown count for 0", () => {
    expect(root.children[0]?.count).toBeNull();
    expect(root.children[0]?.children[0]?.count).toBe(3);
  });

  it("is open on the way to most of the time, and to a node of the address", () => {
    expect([...firstOpen(root, "")]).toEqual(["Model", "Model / Layer"]);
    expect(firstOpen(root, "A / B / C")).toContain("A / B");
  });

  it("is walked with keys", () => {
    const open = new Set(["Model"]);
    const rows = rowsOf(root, open);
    expect(rows.map((one) => one.name)).toEqual(["Model", "Layer", "Norm"]);
    expect(pressed("ArrowDown", rows, 0, open)?.row).toBe(1);
    expect(pressed("End", rows, 0, open)?.row).toBe(2);
    expect(pressed("ArrowRight", rows, 0, open)?.row).toBe(1);
    expect(pressed("ArrowRight", rows, 1, open)?.open).toContain("Model / Layer");
    expect(pressed("ArrowLeft", rows, 2, open)?.row).toBe(0);
    expect([...(pressed("ArrowLeft", rows, 0, open)?.open ?? [])]).toEqual([]);
    expect(pressed("x", rows, 0, open)).toBeNull();
    expect(pressed("Enter", rows, 2, open)).toBeNull();
  });

  it("leaves out ops without a time", () => {
    const op = { class: "gemm", owner: "op", calls: 1 };
    const data = { top_ops: [{ ...op, name: "a", own_ns: 5 }, { ...op, name: "b" }] } as unknown as RunAnalysis;
    expect(rowsOf(treeBy(data, "ops", undefined), new Set(["gemm"])).map((one) => one.name)).toEqual(["gemm", "a"]);
  });
});

describe("the list of kernels", () => {
  const kernel = (name: string, kind: string, total_ns: number, mean_ns: number | null) => ({ name, class: kind, total_ns, mean_ns }) as KernelRow;
  const kernels = [kernel("alpha", "gemm", 5, null), kernel("Beta", "norm", 9, 3), kernel("gamma", "gemm", 7, 4)];
  const names = (text: string, kind: string, sort: string) => listed(kernels, text, kind, sort).map((one) => one.name);

  it("is searched, filtered and sorted", () => {
    expect(names("", "", "total_ns")).toEqual(["Beta", "gamma", "alpha"]);
    expect(names("", "", "-total_ns")).toEqual(["alpha", "gamma", "Beta"]);
    expect(names("BET", "", "")).toEqual(["Beta"]);
    expect(names("", "gemm", "name")).toEqual(["alpha", "gamma"]);
    expect(names("", "", "mean_ns")).toEqual(["gamma", "Beta", "alpha"]);
  });

  it("is turned round by a second click", () => {
    expect(orderAfter("total_ns", "total_ns")).toBe("-total_ns");
    expect(orderAfter("-total_ns", "total_ns")).toBe("total_ns");
    expect(orderOf("nonsense")).toEqual({ by: "total_ns", isUp: false });
  });

  it("sums up classes, and asks for names with quotes", () => {
    expect(classesOf(kernels)).toEqual([{ name: "gemm", ns: 12 }, { name: "norm", ns: 9 }]);
    expect(callsSql({ name: "it's", is_copy: false })).toContain("name = 'it''s'");
  });
});

describe("charts", () => {
  it("have whole decades", () => {
    expect(decades([3, 250])).toEqual({ from: 0, to: 3 });
    expect(decades([10])).toEqual({ from: 1, to: 2 });
    expect(decades([0, Number.NaN])).toEqual({ from: 0, to: 1 });
    expect(logPlace(10, { from: 0, to: 2 })).toBe(0.5);
  });

  it("have a roof with a ridge", () => {
    expect(roofAt(1, 2, 10)).toBe(2);
    expect(roofAt(100, 2, 10)).toBe(10);
    expect(rate(312e12, "FLOP/s")).toBe("312\u2009TFLOP/s");
  });

  it("keep a value until the next one", () => {
    expect(stairs([[0, 5], [50, 10]], 0, 100, 10)).toBe("M0.000 50.000H50.000V0.000H100");
    expect(stairs([], 0, 1, 1)).toBe("");
  });
});

describe("memory over time", () => {
  it("is one series a device, and says when it has only changes", () => {
    const series = seriesOf([
      [null, 0, 0, 2, 100, 200, 5, 1n, 1000, 60, 90],
      [null, 0, 7, 1, 300, 400, 6, 2n, 1000, 300, 40],
      [3, -1, 0, 4, null, null, 8, 1n, 1000, 8, 2],
    ]);
    expect(series.map((one) => [one.title, one.peak.allocated, one.reservedPeak, one.isRelative, one.events])).toEqual([
      ["device 0", 300, 400, false, 3],
      ["host of rank 3", 8, null, true, 4],
    ]);
    expect(series.map((one) => [one.atStart, one.atEnd])).toEqual([[60, 40], [8, 2]]);
  });
});

describe("words", () => {
  it("have units and are sentences", () => {
    expect(inUnit(0.5, "ratio")).toBe("50.0\u2009%");
    expect(inUnit(1500, "B/s")).toBe("1.500\u2009kB/s");
    expect(inUnit(12, "%")).toBe("12\u2009%");
    expect(sentence("no device work")).toBe("No device work.");
    expect(placeText({ device: "cpu", rank: null })).toBe("host");
    expect(placeText({ device: null, rank: 2 })).toBe("rank 2, device not named");
  });
});
