// What `live` answers, made ready to be shown: words for losses, the rows as the time line knows them, the bytes of the picture.

import type { AnswerOf, TimelineRows } from "../api/answers";
import { grouped } from "../format/numbers";
import type { Source } from "../timeline/lines";
import { unpack, type Tile } from "../timeline/tiles";
import type { View } from "../timeline/view";

type Answered = AnswerOf<"live">;
export type Recording = Required<Answered>["recordings"][number];
export type Live = Required<Omit<Answered, "recordings" | "picture" | "begin_ns" | "end_ns">> & Pick<Answered, "picture">;
export type Lost = Recording["lost"];

/** Why a marker is not in the recording, for people; the names are those of src/wire/record.h. */
const REASONS: Record<string, string> = {
  ring_full: "the recorder did not keep up",
  no_ring: "more threads than the memory limit allows",
  names_full: "more different names than are kept",
  too_large: "attributes that are too long",
  reentered: "set inside of a signal handler",
  begin_lost: "ends of scopes whose begin was lost",
  foreign_end: "ends of scopes that another thread began",
  scope_reused: "scopes that were entered while they were open",
  disk_limit: "the recording is as large as it may become",
  overwritten: "older than the flight recorder keeps",
  damaged_ring: "memory that the program overwrote",
  unsupported: "calls of NVTX that are not known",
  too_deep: "scopes nested too deep",
  gpu_dropped: "the GPU's profiler had no buffer",
  gpu_buffer: "a buffer of the GPU's profiler that could not be read",
};

export function totalLost(lost: Lost): number {
  return Object.values(lost).reduce((sum, count) => sum + count, 0);
}

/** The most first. */
export function lostWords(lost: Lost): string {
  const reasons = Object.entries(lost).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  if (reasons.length === 0) return "No marker was lost.";
  return `${reasons.map(([reason, count]) => `${grouped(count)}: ${REASONS[reason] ?? reason.replaceAll("_", " ")}`).join("; ")}.`;
}

/** Recorded and lost markers are all that the program set. */
export function stateWords(data: Live): string {
  if (data.state === "running") return data.behind_bytes > 0 ? "Running; this page is catching up." : "Running.";
  if (data.why !== "") return data.why;
  return data.run_id === null ? "The program has ended. Its run is being imported." : "The program has ended.";
}

/** The program and its arguments, without what recorded it. */
export function programOf(command: string): string {
  const at = command.indexOf(" -- ");
  return at < 0 ? command : command.slice(at + 4);
}

export function pictureOf(data: Live): Tile | null {
  if (data.picture === undefined) return null;
  const text = atob(data.picture);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return unpack(bytes.buffer);
}

/** The rows as the time line of a run has them. How long a row was busy in all is not known here, and nothing shows it. */
export function sourceOf(data: Live): Source {
  const rows = data.rows.map((row) => ({ ...row, busy_ns: 0 }));
  const told: TimelineRows = {
    run_id: "", origin_ns: 0, begin_ns: 0, end_ns: data.now_ns, spans: data.totals.followed, not_placed: 0, tracks: data.tracks, rows,
  };
  return { id: "", data: told, shift: 0 };
}

/** All that can be looked at: what is kept. */
export function keptView(data: Live): View {
  return { begin: Math.max(0, data.now_ns - data.keep_ns), end: Math.max(data.now_ns, 1000) };
}
