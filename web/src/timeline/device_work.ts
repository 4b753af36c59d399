// Kernels and copies of each stream, counted and summed by the tables: rows of a stream may hold annotations, too.

import { useQuery } from "@tanstack/react-query";
import { duration, grouped } from "../format/numbers";
import type { Group } from "./lines";
import { select } from "./records";

export interface Work {
  count: number;
  sum: number; // ns
}

export type WorkByTrack = ReadonlyMap<number, Work>;

const SQL =
  "SELECT track_id, count(*) AS many, sum(dur_ns) AS sum_ns" +
  " FROM (SELECT track_id, dur_ns FROM kernels UNION ALL SELECT track_id, dur_ns FROM copies) GROUP BY track_id";

/** Empty until it is known. */
export function useWork(id: string): WorkByTrack {
  const work = useQuery({
    queryKey: ["device-work", id],
    enabled: id !== "",
    queryFn: async ({ signal }) => {
      const rows = await select(id, SQL, signal);
      return new Map(rows.map((row) => [Number(row["track_id"]), { count: Number(row["many"]), sum: Number(row["sum_ns"] ?? 0) }]));
    },
  });
  return work.data ?? NONE;
}

const NONE: WorkByTrack = new Map();

/** What a group adds up to. */
export function groupText(group: Group, work: WorkByTrack): string {
  const many = (count: number, word: string) => (count === 0 ? [] : [`${grouped(count)} ${word}${count === 1 ? "" : "s"}`]);
  const own = group.tracks.map((track) => work.get(track)).filter((one) => one !== undefined);
  const parts = [...many(group.streams, "stream"), ...many(group.threads, "thread"), ...many(group.spans, "span")];
  if (own.length > 0) {
    const sum = own.reduce((total, one) => total + one.sum, 0);
    parts.push(`${grouped(own.reduce((total, one) => total + one.count, 0))} kernels and copies, ${duration(sum)} in sum`);
  }
  return parts.join(", ");
}
