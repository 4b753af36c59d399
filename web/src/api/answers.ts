// The parts of answers that several pages show. The server's own schemas give the types (schema.d.ts, written by tools/check --fix): what may be
// absent in an answer cannot be shown as a number. Types that are written by hand say so; the schemas of those answers name too few fields.

import type { components } from "./schema";

export type Whole = number | bigint;

/** Times since 1970 need more than the 53 bits of a number (see exact_json.ts). */
type Exact<T> = { [K in keyof T]: K extends AbsoluteTime ? Whole | Extract<T[K], null> : Exact<T[K]> };
type AbsoluteTime = "start_ns" | "host_start_ns" | "origin_ns" | "until_ns" | `${string}_at_ns`;

type Schemas = components["schemas"];
/** What an operation answers. */
export type AnswerOf<Operation extends keyof Schemas> = Exact<Schemas[Operation]>;

/** By hand. */
export interface RunRow {
  run_id: string;
  file_names: string;
  format: string;
  backend: string | null;
  device: string | null;
  devices: number;
  kernels: number;
  records: number;
  dropped: number;
  bundle_bytes: number;
  imported_at_ns: Whole | null; // null: in a file, which does not keep it
  labels: Record<string, string>;
  tags: string[];
}

/** By hand. */
export interface Facet {
  key: string;
  distinct: number;
  without: number;
  values: { value: string; runs: number }[];
}

export interface RunList {
  runs: RunRow[];
  total: number;
  matching: number;
  facets?: Facet[];
}

export type Cell = string | number | bigint | boolean | null;

/** By hand: a cell is of any type. */
export interface QueryRows {
  columns: string[];
  rows: Cell[][];
  truncated: boolean;
  rows_left_out: number;
}

type Timeline = Schemas["timeline"];
/** What `timeline` answers always, and these fields to what was asked for; `origin_ns` is the only time that is not since the origin. */
type TimelineAnswer<Field extends keyof Timeline> = Required<Pick<Timeline, Field>> & { run_id: string; origin_ns: Whole };

/** What is not known of it is null, and never left out. */
export type TimelineTrack = Required<Required<Timeline>["tracks"][number]>;
export type TimelineRow = Omit<Required<Timeline>["rows"][number], "begin_ns" | "end_ns">;
export type TimelineRows = TimelineAnswer<"begin_ns" | "end_ns" | "spans" | "not_placed"> & { tracks: TimelineTrack[]; rows: TimelineRow[] };
export type SpanFound = Schemas["timeline_span"];
export type SearchAnswer = Required<Pick<Timeline, "count" | "next" | "previous">>;

/** A figure, or why there is none: it cannot be shown as a number by mistake. By hand. */
export type Known = { value: number } | { absent_reason: string };

export type AreaName = Omit<Required<Timeline>["by_name"][number], "union_ns"> & { union_ns: Known };
export type AreaAnswer = Required<Pick<Timeline, "count" | "sum_ns" | "not_shown">> & { by_name: AreaName[] };
