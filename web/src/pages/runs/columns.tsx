// The columns of the list of runs: which there are, and which a person chose.

import type { ReactNode } from "react";
import type { ListedRun } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { bytes, grouped, when } from "../../format/numbers";
import { Absent } from "../../parts/figure";
import { keep, kept } from "../../parts/kept";

export interface Column {
  id: string;
  title: string;
  width: string;
  isNumber?: boolean;
  sort?: string;
  cell: (run: ListedRun) => ReactNode;
}

const text = (value: string | null | undefined, reason: string): ReactNode => (value ? <span title={value}>{shown(value, 40)}</span>
  : <Absent reason={reason} />);

const kernels = (run: ListedRun): ReactNode =>
  run.kernels === 0 && run.devices === 0 ? <Absent reason="the source records no kernels" /> : grouped(run.kernels);

const imported = (run: ListedRun): ReactNode =>
  run.imported_at_ns === null ? <Absent reason="the file does not keep when runs were imported" /> : when(run.imported_at_ns);

const FIXED: Column[] = [
  { id: "device", title: "Device", width: "minmax(110px, 1.4fr)", sort: "device", cell: (run) => text(run.device, "the source names no device") },
  { id: "format", title: "Format", width: "minmax(80px, 0.8fr)", sort: "format", cell: (run) => run.format },
  { id: "backend", title: "Backend", width: "minmax(80px, 0.8fr)", sort: "backend", cell: (run) => text(run.backend, "the source names no backend") },
  { id: "devices", title: "Devices", width: "70px", isNumber: true, cell: (run) => grouped(run.devices) },
  { id: "kernels", title: "Kernels", width: "80px", isNumber: true, sort: "kernels", cell: kernels },
  { id: "records", title: "Records", width: "90px", isNumber: true, sort: "records", cell: (run) => grouped(run.records) },
  { id: "dropped", title: "Records lost", width: "95px", isNumber: true, sort: "dropped", cell: (run) => grouped(run.dropped) },
  { id: "size", title: "Size", width: "80px", isNumber: true, cell: (run) => bytes(run.bundle_bytes) },
  { id: "imported", title: "Imported", width: "155px", isNumber: true, sort: "imported", cell: imported },
];

const FIRST = ["label:model", "device", "format", "kernels", "imported"];
const KEPT = "runs.columns";

export function columnOf(id: string): Column | null {
  if (!id.startsWith("label:")) return FIXED.find((one) => one.id === id) ?? null;
  const key = id.slice("label:".length);
  const title = key.charAt(0).toUpperCase() + key.slice(1).replaceAll("_", " ");
  return { id, title, width: "minmax(80px, 1fr)", sort: key, cell: (run) => text(run.labels[key], `the run has no label ${key}`) };
}

/** All that can be chosen, given the labels that runs have. */
export function allColumns(labels: string[]): string[] {
  return [...new Set(["label:model", ...labels.map((key) => `label:${key}`), ...FIXED.map((one) => one.id)])];
}

export function keptColumns(): string[] {
  const before = kept(KEPT);
  return before === null ? FIRST : before.split(",").filter(Boolean);
}

export function keepColumns(ids: string[]): void {
  keep(KEPT, ids.join(","));
}

interface Named {
  run_id: string;
  file_names?: string;
}

export function nameOf(run: Named): string {
  return run.file_names || run.run_id.slice(0, 12);
}

/** The last part of the path; of several files the first, and how many more. */
export function shortNameOf(run: Named, most = 60): string {
  const files = (run.file_names ?? "").split(/ (?=\/)/);
  const first = (files[0] ?? "").split("/").at(-1) || run.run_id.slice(0, 12);
  return shown(first, most) + (files.length > 1 ? ` and ${files.length - 1} more` : "");
}
