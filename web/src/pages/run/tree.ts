// Time as a tree: of modules, of layers by their stack, of engine layers or ops by their class.

import type { ModelLayer, OpRow, Place, RunAnalysis } from "../../api/answers_run";
import { isAt } from "./figures";

export interface Node {
  path: string; // unique in the tree
  name: string;
  depth: number;
  selfNs: number;
  totalNs: number; // of it and all below
  count: number | null; // kernels or calls, of it and all below; not known if one of them is not
  children: Node[];
}

const SEPARATOR = " / ";

interface Leaf {
  path: string[];
  ns: number;
  count: number | null;
}

/** Adds up leaves by their paths; a path that others go through keeps what is its own as self time. */
export function treeOf(leaves: Leaf[]): Node {
  const root: Node = { path: "", name: "", depth: 0, selfNs: 0, totalNs: 0, count: 0, children: [] };
  const known = new Map<string, Node>();
  for (const leaf of leaves) {
    let node = root;
    add(node, leaf);
    leaf.path.forEach((name, n) => {
      const path = leaf.path.slice(0, n + 1).join(SEPARATOR);
      let next = known.get(path);
      if (!next) {
        next = { path, name, depth: n + 1, selfNs: 0, totalNs: 0, count: 0, children: [] };
        known.set(path, next);
        node.children.push(next);
      }
      node = next;
      add(node, leaf);
    });
    node.selfNs += leaf.ns;
  }
  for (const node of [root, ...known.values()]) node.children.sort((a, b) => b.totalNs - a.totalNs);
  return root;
}

function add(node: Node, leaf: Leaf): void {
  node.totalNs += leaf.ns;
  node.count = node.count === null || leaf.count === null ? null : node.count + leaf.count;
}

/** What a run can be seen as, best first. */
export type Way = "modules" | "layers" | "engine" | "ops";

export const WAYS: Record<Way, { title: string; of: string; counted: string }> = {
  modules: { title: "Modules", of: "work that modules launched on the device", counted: "Kernels" },
  layers: { title: "Layers", of: "work of named layers", counted: "Kernels or ops" },
  engine: { title: "Layers of the engine", of: "time of the engine's layers, by class", counted: "Calls" },
  ops: { title: "Ops", of: "time of ops, by class", counted: "Calls" },
};

export function waysOf(data: RunAnalysis): Way[] {
  const ways: Way[] = [];
  if (data.top_modules.length > 0) ways.push("modules");
  if (data.model_layers.devices.some((one) => one.layers.length > 0)) ways.push("layers");
  if ((data.layers?.top.length ?? 0) > 0) ways.push("engine");
  if (data.top_ops.some((one) => one.owner !== "layer")) ways.push("ops");
  return ways;
}

/** The devices that a way has figures of. */
export function placesOf(data: RunAnalysis, way: Way): Place[] {
  if (way === "engine") return [];
  const rows = way === "modules" ? data.top_modules : way === "layers" ? data.model_layers.devices : data.top_ops;
  const places = rows.map(placeOf);
  return places.filter((one, n) => places.findIndex((other) => isAt(one, other)) === n);
}

/** Layers of an engine are of no device. */
export function placeOf({ device = null, rank = null }: Partial<Place>): Place {
  return { device, rank };
}

export function treeBy(data: RunAnalysis, way: Way, place: Place | undefined): Node {
  const here = (one: Partial<Place>) => !place || isAt(placeOf(one), place);
  if (way === "modules")
    return treeOf(
      data.top_modules.filter(here).map(({ path, device_ns: ns, kernels: count }) => ({ path: path?.split(SEPARATOR) ?? ["outside of modules"], ns, count })),
    );
  if (way === "layers") return treeOf(data.model_layers.devices.filter(here).flatMap((one) => one.layers.flatMap(leavesOfLayer)));
  const ops = way === "engine" ? (data.layers?.top ?? []) : data.top_ops.filter((one) => one.owner !== "layer" && here(one));
  return treeOf(ops.flatMap(leavesOfOp));
}

/** None where it has no time. */
function leavesOfOp(op: OpRow): Leaf[] {
  const ns = op.own_ns ?? op.device_ns;
  return ns === undefined ? [] : [{ path: [op.class, op.name], ns, count: op.calls }];
}

/** Its own ops beside what its modules launched, where it has both. */
function leavesOfLayer(layer: ModelLayer): Leaf[] {
  const path = [layer.stack, `layer ${layer.index}`];
  const inside = layer.device_ns - layer.self_ns;
  if (layer.self_ns === 0 || inside === 0) return [{ path, ns: layer.device_ns, count: layer.kernels }];
  return [
    { path: [...path, "in its modules"], ns: inside, count: layer.kernels },
    { path, ns: layer.self_ns, count: 0 },
  ];
}

/** The rows that are seen: children of open nodes. */
export function rowsOf(root: Node, open: ReadonlySet<string>): Node[] {
  const rows: Node[] = [];
  const visit = (node: Node) => {
    for (const child of node.children) {
      rows.push(child);
      if (open.has(child.path)) visit(child);
    }
  };
  visit(root);
  return rows;
}

/** Open at first: the way down to most of the time, and to the node of the address. */
export function firstOpen(root: Node, at: string): Set<string> {
  const open = new Set<string>();
  const names = at.split(SEPARATOR);
  names.forEach((_, n) => n > 0 && open.add(names.slice(0, n).join(SEPARATOR)));
  const visit = (node: Node) => {
    for (const child of node.children)
      if (child.children.length > 0 && (child.totalNs >= root.totalNs / 2 || node.children.length === 1)) {
        open.add(child.path);
        visit(child);
      }
  };
  visit(root);
  return open;
}

export interface Moved {
  row: number;
  open: Set<string>;
}

/** What a key does in the tree: the row that gets the focus, and what is open then. */
export function pressed(key: string, rows: Node[], row: number, open: ReadonlySet<string>): Moved | null {
  const node = rows[row];
  if (!node) return null;
  const isOpen = open.has(node.path);
  const hasChildren = node.children.length > 0;
  const stay = new Set(open);
  const toggled = new Set(open);
  if (isOpen) toggled.delete(node.path);
  else toggled.add(node.path);
  switch (key) {
    case "ArrowDown":
      return { row: Math.min(rows.length - 1, row + 1), open: stay };
    case "ArrowUp":
      return { row: Math.max(0, row - 1), open: stay };
    case "Home":
      return { row: 0, open: stay };
    case "End":
      return { row: rows.length - 1, open: stay };
    case "Enter":
    case " ":
      return hasChildren ? { row, open: toggled } : null;
    case "ArrowRight":
      if (!hasChildren) return null;
      return isOpen ? { row: row + 1, open: stay } : { row, open: toggled };
    case "ArrowLeft":
      if (isOpen && hasChildren) return { row, open: toggled };
      return { row: parentOf(rows, row), open: stay };
    default:
      return null;
  }
}

function parentOf(rows: Node[], row: number): number {
  const depth = rows[row]?.depth ?? 1;
  for (let n = row - 1; n >= 0; n--) if ((rows[n]?.depth ?? 0) < depth) return n;
  return row;
}
