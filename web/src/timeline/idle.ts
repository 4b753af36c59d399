// Gaps whose cause is known: only the longest of each device are named.

import { difference } from "../api/exact_json";
import type { TimelineTrack, Whole } from "../api/answers";
import type { TimelineAnalysis } from "../api/answers_timeline";
import { causeWords } from "../pages/run/figures";
import type { View } from "./view";

export interface NamedGap extends View {
  device: number | string | null;
  rank: number | null;
  words: string; // what the device waited for
  hostSpan: string | null;
}

/** `causes` has the words of each cause, as the metrics define them. */
export function gapsOf(analysis: TimelineAnalysis, origin: Whole, causes: Map<string, string>): NamedGap[] {
  return analysis.devices.flatMap((device) =>
    device.longest_gaps.map((gap) => {
      const begin = difference(gap.start_ns, origin);
      return { device: device.device, rank: device.rank, words: causeWords(gap.cause, causes), hostSpan: gap.host_span, begin, end: begin + gap.dur_ns };
    }),
  );
}

/** Gaps of the device that the row belongs to; a run without devices has gaps of its host. */
export function isOfTrack(gap: NamedGap, track: TimelineTrack): boolean {
  if (gap.device === "cpu") return track.kind !== "stream" && (gap.rank === null || track.rank === null || gap.rank === track.rank);
  return track.kind === "stream" && track.device === gap.device && (gap.rank === null || track.rank === null || gap.rank === track.rank);
}

/** The named pieces that a stretch of a row shares with the gaps of its device, the longest first. */
export function namedIn(gaps: readonly NamedGap[], track: TimelineTrack, stretch: View): NamedGap[] {
  const shared = (gap: NamedGap) => Math.min(gap.end, stretch.end) - Math.max(gap.begin, stretch.begin);
  return gaps.filter((gap) => isOfTrack(gap, track) && shared(gap) > 0).sort((a, b) => shared(b) - shared(a));
}
