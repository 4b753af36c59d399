// The tree of a flame graph, from lines `frame;frame WEIGHT` or, for a difference, `frame;frame BASE NEW`.

export interface Frame {
  name: string;
  value: number; // with all below it
  base: number; // the same of the base, in a difference
  self: number;
  children: Frame[]; // largest first
  chain: string[]; // frames above it that only pass their time on to it
}

interface Growing {
  value: number;
  base: number;
  children: Map<string, Growing>;
}

const grown = (): Growing => ({ value: 0, base: 0, children: new Map() });

export function readStacks(text: string, isDifference: boolean): Frame[] {
  const root = grown();
  const form = isDifference ? /^(.*) (\d+) (\d+)$/s : /^(.*) ()(\d+)$/s;
  for (const line of text.split("\n")) {
    const found = form.exec(line);
    if (!found) continue;
    const [base, value] = [Number(found[2]), Number(found[3])];
    let at = root;
    for (const name of (found[1] as string).split(";")) {
      let next = at.children.get(name);
      if (!next) at.children.set(name, (next = grown()));
      next.value += value;
      next.base += base;
      at = next;
    }
  }
  return finished(root);
}

function finished(node: Growing): Frame[] {
  return [...node.children]
    .map(([name, one]) => {
      const children = finished(one);
      return { name: name.replaceAll("\\x3b", ";"), value: one.value, base: one.base, self: one.value - children.reduce((sum, child) => sum + child.value, 0),
        children, chain: [] };
    })
    .sort((a, b) => Math.max(b.value, b.base) - Math.max(a.value, a.base));
}

/** A frame whose only child has all of its time is merged with it: such chains say little and take much room. */
export function folded(frame: Frame): Frame {
  const only = frame.children[0];
  if (frame.children.length === 1 && only && only.value === frame.value && only.base === frame.base) {
    const below = folded(only);
    return { ...below, chain: [frame.name, ...below.chain] };
  }
  return { ...frame, children: frame.children.map(folded) };
}

/** The name of a box: of a folded chain also the module in it, which tells layers apart. */
export function titleOf(frame: Frame): string {
  const module = frame.chain.findLast((one) => one.startsWith("nn.Module: "));
  return module ? `${module.slice("nn.Module: ".length)}: ${frame.name}` : frame.name;
}

/** Numbers of devices say little of two runs: a device that only the base has is the one that only the new run has. */
export function withPairedDevices(roots: Frame[]): Frame[] {
  const devices = roots.filter((one) => /^device \d+$/.test(one.name));
  const [gone, come] = [devices.filter((one) => one.value === 0), devices.filter((one) => one.base === 0)];
  if (gone.length !== 1 || come.length !== 1) return roots;
  const pair = merged(gone[0] as Frame, come[0] as Frame);
  return [{ ...pair, name: `${(gone[0] as Frame).name} → ${(come[0] as Frame).name.slice("device ".length)}` },
    ...roots.filter((one) => one !== gone[0] && one !== come[0])];
}

function merged(a: Frame, b: Frame): Frame {
  const names = [...new Set([...a.children, ...b.children].map((one) => one.name))];
  const children = names.map((name) => {
    const [one, two] = [a, b].map((side) => side.children.find((child) => child.name === name));
    return one && two ? merged(one, two) : ((one ?? two) as Frame);
  });
  const size = (one: Frame) => Math.max(one.value, one.base);
  return { name: b.name, value: a.value + b.value, base: a.base + b.base, self: a.self + b.self, chain: [],
    children: children.sort((x, y) => size(y) - size(x)) };
}

/** By the places of children: 0.3.1. What does not exist ends the way. */
export function frameAt(root: Frame, path: string): Frame {
  let at = root;
  for (const place of path.split(".").filter(Boolean)) at = at.children[Number(place)] ?? at;
  return at;
}

export interface Box {
  frame: Frame;
  path: string;
  depth: number;
  left: number; // shares of the width
  width: number;
}

const NARROWEST = 0.0008;

export type Weight = "value" | "base";

/** Boxes that can be seen, the frame at `path` as wide as the picture. */
export function boxesOf(root: Frame, path: string, by: Weight): Box[] {
  const top = frameAt(root, path);
  const boxes: Box[] = [];
  const add = (frame: Frame, at: string, depth: number, left: number) => {
    const width = frame[by] / Math.max(1, top[by]);
    if (width < NARROWEST) return;
    boxes.push({ frame, path: at, depth, left, width });
    let place = left;
    for (const [n, child] of frame.children.entries()) {
      add(child, at ? `${at}.${n}` : String(n), depth + 1, place);
      place += child[by] / Math.max(1, top[by]);
    }
  };
  add(top, path, 0, 0);
  return boxes;
}

export interface Sum {
  name: string;
  self: number;
  base: number;
}

/** Own time by name, in all of the frame. */
export function heaviest(frame: Frame, most: number): Sum[] {
  const sums = new Map<string, Sum>();
  const add = (one: Frame) => {
    const sum = sums.get(one.name) ?? { name: one.name, self: 0, base: 0 };
    sum.self += one.self;
    sum.base += one.base - one.children.reduce((below, child) => below + child.base, 0);
    sums.set(one.name, sum);
    one.children.forEach(add);
  };
  add(frame);
  return [...sums.values()].filter((one) => one.self > 0 || one.base > 0).sort((a, b) => Math.max(b.self, b.base) - Math.max(a.self, a.base)).slice(0, most);
}

/** The time below frames whose name contains the text, none of it twice. */
export function timeOf(frame: Frame, text: string): number {
  if (text === "") return 0;
  if (matches(frame, text)) return frame.value;
  return frame.children.reduce((sum, child) => sum + timeOf(child, text), 0);
}

export function matches(frame: Frame, text: string): boolean {
  const wanted = text.toLowerCase();
  return wanted !== "" && [frame.name, ...frame.chain].some((one) => one.toLowerCase().includes(wanted));
}

/** From a box to its neighbours. */
export function moved(root: Frame, path: string, key: string): string | null {
  const parts = path === "" ? [] : path.split(".");
  const parent = parts.slice(0, -1).join(".");
  const place = Number(parts.at(-1) ?? 0);
  const siblings = parts.length > 0 ? frameAt(root, parent).children.length : 1;
  const join = (n: number) => (parent ? `${parent}.${n}` : String(n));
  switch (key) {
    case "ArrowDown":
      return frameAt(root, path).children.length > 0 ? (path ? `${path}.0` : "0") : null;
    case "ArrowUp":
      return parts.length > 0 ? parent : null;
    case "ArrowRight":
      return parts.length > 0 && place + 1 < siblings ? join(place + 1) : null;
    case "ArrowLeft":
      return parts.length > 0 && place > 0 ? join(place - 1) : null;
    default:
      return null;
  }
}
