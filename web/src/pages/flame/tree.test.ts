import { describe, expect, it } from "vitest";
import { boxesOf, folded, frameAt, heaviest, moved, readStacks, timeOf, titleOf, withPairedDevices, type Frame } from "./tree";

const STACKS = "device 0;step;gemm 60\ndevice 0;step;norm 30\ndevice 0;copy 10\nthread 1;a\\x3bb 5\n";
const [device] = readStacks(STACKS, false) as [Frame];

describe("a flame graph", () => {
  it("is read with sums, largest first", () => {
    expect(readStacks(STACKS, false).map((one) => [one.name, one.value])).toEqual([["device 0", 100], ["thread 1", 5]]);
    expect(device.children.map((one) => [one.name, one.value, one.self])).toEqual([["step", 90, 0], ["copy", 10, 10]]);
    expect(readStacks(STACKS, false)[1]?.children[0]?.name).toBe("a;b");
  });

  it("of a difference has both sides", () => {
    const [root] = readStacks("d;x 5 7\nd;y 3 0\n", true) as [Frame];
    expect([root.base, root.value]).toEqual([8, 7]);
    expect(root.children.map((one) => [one.name, one.base, one.value])).toEqual([["x", 5, 7], ["y", 3, 0]]);
  });

  it("folds chains that only pass time on", () => {
    const [root] = readStacks("r;a;b;c 4\nr;a;b;d 6\n", false) as [Frame];
    const short = folded(root);
    expect([short.name, short.chain, short.children.length]).toEqual(["b", ["r", "a"], 2]);
  });

  it("names the module of a folded chain", () => {
    expect(titleOf({ ...device, name: "forward", chain: ["nn.Module: Net_0", "nn.Module: Layer_1", "call"] })).toBe("Layer_1: forward");
  });

  it("pairs the devices of two runs", () => {
    const [pair, ...rest] = withPairedDevices(readStacks("device 0;x 5 0\ndevice 2;x 0 7\nthread;y 1 1\n", true)) as [Frame];
    expect([pair.name, pair.base, pair.value, pair.children.map((one) => [one.base, one.value]), rest.length]).toEqual(["device 0 → 2", 5, 7, [[5, 7]], 1]);
  });

  it("lays out boxes side by side, one frame as wide as the picture", () => {
    const boxes = boxesOf(device, "", "value");
    expect(boxes.map((one) => [one.frame.name, one.path, one.depth, one.left, one.width])).toEqual([
      ["device 0", "", 0, 0, 1], ["step", "0", 1, 0, 0.9], ["gemm", "0.0", 2, 0, 0.6], ["norm", "0.1", 2, 0.6, 0.3], ["copy", "1", 1, 0.9, 0.1],
    ]);
    expect(boxesOf(device, "0", "value")[0]).toMatchObject({ path: "0", width: 1 });
  });

  it("is walked by keys", () => {
    expect([moved(device, "", "ArrowDown"), moved(device, "0", "ArrowRight"), moved(device, "0.1", "ArrowLeft"),
      moved(device, "0.1", "ArrowUp")]).toEqual(["0", "1", "0.0", "0"]);
    expect(moved(device, "1", "ArrowRight")).toBeNull();
    expect(frameAt(device, "0.1").name).toBe("norm");
    expect(frameAt(device, "9.9").name).toBe("device 0");
  });

  it("sums up by name and by search", () => {
    expect(heaviest(device, 2).map((one) => one.name)).toEqual(["gemm", "norm"]);
    expect(timeOf(device, "STEP")).toBe(90);
    expect(timeOf(device, "")).toBe(0);
  });
});
