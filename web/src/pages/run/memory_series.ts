// What was allocated over time, from the table of allocations.

import type { Cell } from "../../api/answers_run";

/** Where the source gives only changes, they are summed up. */
export const SERIES = `WITH events AS (
  SELECT rank, a.device AS device, start_ns, allocation_id, total_allocated_bytes AS total, total_reserved_bytes AS reserved,
    sum(bytes) OVER (PARTITION BY rank, a.device ORDER BY start_ns, allocation_id) AS changed
  FROM allocations a JOIN tracks USING (track_id)
), ends AS (SELECT min(start_ns) AS first, max(start_ns) AS last FROM events)
SELECT rank, device, (start_ns - first) * 300 // greatest(last - first, 1) AS bucket, count(*) AS events, max(total) AS allocated,
  max(reserved) AS reserved, max(changed) AS changed, arg_max(start_ns, coalesce(total, changed)) AS at_ns, any_value(last - first) AS length_ns,
  first(coalesce(total, changed) ORDER BY start_ns, allocation_id) AS at_begin, last(coalesce(total, changed) ORDER BY start_ns, allocation_id) AS at_end
FROM events, ends GROUP BY ALL ORDER BY ALL`;

export const COPIES = "SELECT name, count(*) AS copies, sum(bytes) AS bytes, sum(dur_ns) AS dur_ns\nFROM copies GROUP BY name ORDER BY dur_ns DESC, name";

export interface Point {
  bucket: number;
  allocated: number;
  reserved: number | null;
  at: number | bigint;
}

export interface Series {
  title: string;
  isRelative: boolean; // to the first event
  events: number;
  length: number;
  points: Point[];
  peak: Point;
  atStart: number; // after the first event, and after the last one
  atEnd: number;
  reservedPeak: number | null;
}

/** One series a device, from the rows of SERIES, which are in the order of time. */
export function seriesOf(rows: Cell[][]): Series[] {
  const all = new Map<string, Series>();
  for (const [rank, device, bucket, events, total, reserved, changed, at, length, begin, end] of rows) {
    const title = titleOf(rank ?? null, device ?? null);
    const allocated = total ?? changed;
    if (allocated === null || allocated === undefined) continue;
    const held = reserved === null || reserved === undefined ? null : Number(reserved);
    const point: Point = { bucket: Number(bucket), allocated: Number(allocated), reserved: held, at: at as number | bigint };
    const one = all.get(title) ?? {
      title, isRelative: total === null, events: 0, length: Number(length), points: [], peak: point, atStart: Number(begin), atEnd: Number(end), reservedPeak: null,
    };
    one.atEnd = Number(end);
    one.points.push(point);
    one.events += Number(events);
    if (point.allocated > one.peak.allocated) one.peak = point;
    if (held !== null) one.reservedPeak = Math.max(one.reservedPeak ?? 0, held);
    all.set(title, one);
  }
  return [...all.values()].sort((a, b) => b.peak.allocated - a.peak.allocated);
}

function titleOf(rank: Cell, device: Cell): string {
  const what = device === null || Number(device) < 0 ? "host" : `device ${Number(device)}`;
  return rank === null ? what : `${what} of rank ${Number(rank)}`;
}
