// Gaps whose cause is known: only the longest of each device are named.

import { difference } from "../api/exact_json";
import type { TimelineTrack, Whole } from "../api/answers";
import type { TimelineAnalysis } from "../api/answers_timeline";
import type { View } from "./view";

export interface NamedGap extends View {
  device: number | string | null;
  rank: number | null;
  cause: string;
  hostSpan: string | null;
}

const WORDS: Record<string, string> = {
  host_sync: "the host is in a synchronising call",
  host_data: "the host loads data",
  host_alloc: "the host allocates or frees device memory",
  host_call: "the host is in another runtime call",
  host_op: "the host runs ops and launches nothing",
  host_other: "the host is in the interpreter or in code that was not recorded",
  launch: "the launch was called, but the work has not started yet",
  turnaround: "a short gap between kernels that were queued in time",
  wait: "a stream waits for an event or another stream",
  queued: "work was queued but did not start; the file does not tell why",
  unlinked: "the launch of the next work is not in the capture",
  start: "the capture began mid-run: the device was finishing earlier work",
  end: "after the last work of the device",
  setup: "model loading and session initialisation",
  outside_ops: "outside of ops: scheduling, interpreter, or not recorded",
  between_runs: "the caller's own time between runs of the session",
};

export function causeWords(cause: string): string {
  return WORDS[cause] ?? cause.replaceAll("_", " ");
}

export function gapsOf(analysis: TimelineAnalysis, origin: Whole): NamedGap[] {
  return analysis.devices.flatMap((device) =>
    device.longest_gaps.map((gap) => {
      const begin = difference(gap.start_ns, origin);
      return { device: device.device, rank: device.rank, cause: gap.cause, hostSpan: gap.host_span, begin, end: begin + gap.dur_ns };
    }),
  );
}

/** Gaps of the device that the row belongs to; a run without devices has gaps of its host. */
export function isOfTrack(gap: NamedGap, track: TimelineTrack): boolean {
  if (gap.device === "cpu") return track.kind !== "stream" && (gap.rank === null || track.rank === null || gap.rank === track.rank);
  return track.kind === "stream" && track.device === gap.device && (gap.rank === null || track.rank === null || gap.rank === track.rank);
}

/** The named pieces that a stretch of a row shares with the gaps of its device, the longest first. */
export function causesOf(gaps: readonly NamedGap[], track: TimelineTrack, stretch: View): NamedGap[] {
  const shared = (gap: NamedGap) => Math.min(gap.end, stretch.end) - Math.max(gap.begin, stretch.begin);
  return gaps.filter((gap) => isOfTrack(gap, track) && shared(gap) > 0).sort((a, b) => shared(b) - shared(a));
}
