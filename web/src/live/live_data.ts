// What `live` answers, made ready to be shown: words for losses, the rows as the time line knows them, the bytes of the picture.

import type { AnswerOf, TimelineRows } from "../api/answers";
import { lossReason } from "../format/loss_reasons";
import { duration, grouped } from "../format/numbers";
import type { Source } from "../timeline/lines";
import { unpack, type Tile } from "../timeline/tiles";
import { stretchOf, viewText, type View } from "../timeline/view";

type Answered = AnswerOf<"live">;
export type Recording = Required<Answered>["recordings"][number];
export type Live = Required<Omit<Answered, "recordings" | "picture" | "begin_ns" | "end_ns">> & Pick<Answered, "picture">;
/** What is told of every recording. */
export type Head = Pick<Live, "recording" | "command" | "state" | "why" | "run_id" | "started_at_ns">;
/** An answer: the figures are absent where the server does not know them any more. */
export type Told = Head & Partial<Omit<Live, keyof Head>>;
export type Lost = NonNullable<Recording["lost"]>;

const SHORTEST = 1e6; // ns, while it is followed
const USUAL = { keep: 30, span: 10e9 };
export const KEEPS = [10, 30, 60, 120, 300]; // s

/** What of a recording is looked at: its address says so. */
export interface Look {
  keep: number; // s that the server keeps
  span: number; // ns that are seen while it is followed
  rest: View | null; // what is seen while the view rests
}

export function lookOf(search: URLSearchParams): Look {
  const [keep, span] = [Number(search.get("keep")), Number(search.get("span"))];
  return {
    keep: KEEPS.includes(keep) ? keep : USUAL.keep,
    span: Number.isFinite(span) && span > 0 ? seenSpan(span, (KEEPS.at(-1) as number) * 1e9) : USUAL.span,
    rest: stretchOf(search.get("rest")),
  };
}

/** Of what is not as usual, as parameters of the address. */
export function addressOf({ keep, span, rest }: Look): Record<string, string | null> {
  return {
    keep: keep === USUAL.keep ? null : String(keep),
    span: span === USUAL.span ? null : String(Math.round(span)),
    rest: rest ? viewText(rest) : null,
  };
}

export function seenSpan(span: number, longest: number): number {
  return Math.min(Math.max(span, SHORTEST), longest);
}

/** Figures that the server does not know any more stay as they were. Null: it never told any. */
export function merged(told: Told, before: Live | null): Live | null {
  if (told.totals !== undefined) return told as Live;
  return before ? { ...before, ...told, command: told.command || before.command } : null;
}

export function totalLost(lost: Lost): number {
  return Object.values(lost).reduce((sum, count) => sum + count, 0);
}

/** The most first. */
export function lostWords(lost: Lost): string {
  const reasons = Object.entries(lost).filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a);
  if (reasons.length === 0) return "No marker was lost.";
  return `${reasons.map(([reason, count]) => `${grouped(count)}: ${lossReason(reason)}`).join("; ")}.`;
}

export function stateWords(head: Head, behindBytes: number, isWithoutRun: boolean): string {
  if (head.state === "running") return behindBytes > 0 ? "Running; this page is catching up." : "Running.";
  if (head.why !== "") return head.why;
  if (head.run_id !== null) return "The program has ended.";
  return isWithoutRun ? "The program has ended. No run of it was found so far." : "The program has ended. Its run is being imported.";
}

/** Without zeros at the end: 10 s, and not 10.00 s. */
export function lengthWords(ns: number): string {
  return duration(ns).replace(/(\.\d*?)0+(?=\D*$)/, (_, kept: string) => (kept === "." ? "" : kept));
}

/** The program and its arguments, without what recorded it. */
export function programOf(command: string): string {
  const at = command.indexOf(" -- ");
  return at < 0 ? command : command.slice(at + 4);
}

export function pictureOf(data: Told): Tile | null {
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
