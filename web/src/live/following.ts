// Asks for a recording four times a second, one question at a time. Once it is over, only when another view is wanted.

import type { Tile } from "../timeline/tiles";
import type { View } from "../timeline/view";
import { merged, pictureOf, type Head, type Live, type Told } from "./live_data";

const PERIOD_MS = 250;
const SLOW_MS = 1000; // after an error, and while the run is imported
const LONG_MS = 30_000; // an import that takes longer may have failed
const SELDOM_MS = 5000; // after that

/** What is wanted: the last stretch of this length, or one that rests. A view that was drawn already is not asked for again. */
export interface Wanted {
  keep: number; // s
  span: number; // ns
  rest: View | null;
  width: number; // px
}

export interface Seen {
  data: Live;
  tile: Tile | null;
  view: View; // that the tile was asked for
}

export interface Following {
  head: Head | null;
  seen: Seen | null; // null: no figure was ever told
  isStale: boolean; // the server knows these figures no more
  isWithoutRun: boolean; // it ended long ago, and no run of it was found
  error: unknown;
  answers: number;
}

export const NOTHING_YET: Following = { head: null, seen: null, isStale: false, isWithoutRun: false, error: null, answers: 0 };

export function questionOf(recording: string, wanted: Wanted, drawn: View | null): Record<string, unknown> {
  const common = { recording, keep: wanted.keep, top: 12 };
  const isDrawn = wanted.rest !== null && drawn !== null && wanted.rest.begin === drawn.begin && wanted.rest.end === drawn.end;
  if (wanted.width === 0 || isDrawn) return common;
  const width = Math.max(16, Math.min(2048, Math.round(wanted.width)));
  const span = Math.max(1000, Math.round(wanted.rest ? wanted.rest.end - wanted.rest.begin : wanted.span));
  return { ...common, picture: true, width, span_ns: span, ...(wanted.rest ? { end_ns: Math.round(wanted.rest.end) } : {}) };
}

interface Around {
  ask: (question: Record<string, unknown>) => Promise<Told>;
  wanted: () => Wanted;
  tell: (state: Following) => void;
}

/** `wake` says that another view is wanted. */
export function follow(recording: string, { ask, wanted, tell }: Around): { wake: () => void; stop: () => void } {
  let state = NOTHING_YET;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = PERIOD_MS; // infinite: it is over
  let endedAt: number | null = null;
  let [isAsking, isWoken, isStopped] = [false, false, false];

  const take = (told: Told, want: Wanted) => {
    const tile = pictureOf(told);
    const before = state.seen;
    const data = merged(told, before?.data ?? null);
    const view = want.rest ?? { begin: (data?.now_ns ?? 0) - want.span, end: data?.now_ns ?? 0 };
    const seen = !data ? null : tile || !before ? { data, tile, view } : { ...before, data };
    const hasEnded = told.state === "ended" && (told.behind_bytes ?? 0) === 0;
    endedAt = hasEnded ? (endedAt ?? performance.now()) : null;
    const isWithoutRun = endedAt !== null && told.run_id === null && told.why === "" && performance.now() - endedAt >= LONG_MS;
    if (!hasEnded) pause = PERIOD_MS;
    else if (told.run_id !== null || told.why !== "") pause = Infinity;
    else pause = isWithoutRun ? SELDOM_MS : SLOW_MS;
    state = { head: { ...told, command: told.command || (state.head?.command ?? "") }, seen, isStale: told.totals === undefined, isWithoutRun, error: null, answers: state.answers + 1 };
  };

  const turn = async (): Promise<void> => {
    [isAsking, isWoken] = [true, false];
    const began = performance.now();
    const want = wanted();
    try {
      take(await ask(questionOf(recording, want, state.seen?.tile ? state.seen.view : null)), want);
    } catch (error) {
      if (pause < SLOW_MS) pause = SLOW_MS;
      state = { ...state, error };
    }
    isAsking = false;
    if (isStopped) return;
    tell(state);
    const isNext = isWoken && pause > PERIOD_MS;
    if (isNext) timer = setTimeout(() => void turn(), 0);
    else if (pause < Infinity) timer = setTimeout(() => void turn(), Math.max(20, pause - (performance.now() - began)));
  };

  void turn();
  return {
    wake: () => {
      isWoken = true;
      if (isAsking || pause === PERIOD_MS) return; // the next question comes soon
      clearTimeout(timer);
      void turn();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
