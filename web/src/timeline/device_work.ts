// Kernels and copies of each stream, counted and summed by the tables: rows of a stream may hold annotations, too.

import { useQuery } from "@tanstack/react-query";
import { duration, grouped } from "../format/numbers";
import type { Extra } from "./extras";
import type { Group } from "./lines";
import { WORK } from "./device_work_sql";
import { select } from "./records";

export interface Work {
  count: number;
  sum: number | null; // ns; null: the source gives no lengths
}

export type WorkByTrack = ReadonlyMap<number, Work>;

/** Empty until it is known. */
export function useWork(id: string): WorkByTrack {
  const work = useQuery({
    queryKey: ["device-work", id],
    enabled: id !== "",
    queryFn: async ({ signal }) => {
      const rows = await select(id, WORK, signal);
      return new Map(rows.map((row) => [Number(row["track_id"]), { count: Number(row["many"]), sum: row["sum_ns"] === null ? null : Number(row["sum_ns"]) }]));
    },
  });
  return work.data ?? NONE;
}

const NONE: WorkByTrack = new Map();

/** What a group adds up to. */
export function groupText(group: Group, work: WorkByTrack): string {
  const many = (count: number, word: string) => (count === 0 ? [] : [`${grouped(count)} ${word}${count === 1 ? "" : "s"}`]);
  const own = group.tracks.map((track) => work.get(track)).filter((one) => one !== undefined);
  const extras = (kind: Extra["kind"]) => group.extras.filter(({ extra }) => extra.kind === kind).length;
  const parts = [
    ...many(group.streams, "stream"), ...many(group.threads, "thread"), ...many(group.spans, "span"),
    ...many(extras("stacks"), "sampled thread"), ...many(extras("series"), "counter"),
  ];
  if (own.length > 0) {
    const sums = own.map((one) => one.sum).filter((one) => one !== null);
    const sum = sums.length > 0 ? `${duration(sums.reduce((total, one) => total + one, 0))} in sum` : "lengths not known";
    parts.push(`${grouped(own.reduce((total, one) => total + one.count, 0))} kernels and copies, ${sum}`);
  }
  return parts.join(", ");
}
