// Asks for a recording four times a second, one question at a time. Once it is over, only when another view is wanted.

import { useEffect, useRef, useState } from "react";
import { ask } from "../api/ask";
import type { Tile } from "../timeline/tiles";
import type { View } from "../timeline/view";
import { pictureOf, type Live } from "./live_data";

const PERIOD_MS = 250;
const AFTER_ERROR_MS = 1000;

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
  seen: Seen | null;
  error: unknown;
  answers: number;
}

export function questionOf(recording: string, wanted: Wanted, drawn: View | null): Record<string, unknown> {
  const common = { recording, keep: wanted.keep, top: 12 };
  const isDrawn = wanted.rest !== null && drawn !== null && wanted.rest.begin === drawn.begin && wanted.rest.end === drawn.end;
  if (wanted.width === 0 || isDrawn) return common;
  const width = Math.max(16, Math.min(2048, Math.round(wanted.width)));
  const span = Math.max(1000, Math.round(wanted.rest ? wanted.rest.end - wanted.rest.begin : wanted.span));
  return { ...common, picture: true, width, span_ns: span, ...(wanted.rest ? { end_ns: Math.round(wanted.rest.end) } : {}) };
}

export function useLive(recording: string, wanted: Wanted): Following {
  const [state, setState] = useState<Following>({ seen: null, error: null, answers: 0 });
  const latest = useRef(wanted);
  latest.current = wanted;
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let seen: Seen | null = null;
    let isAsking = false;
    let isOver = false;
    const turn = async (): Promise<void> => {
      isAsking = true;
      const began = performance.now();
      const want = latest.current;
      let pause = PERIOD_MS;
      try {
        const { data } = await ask<Live>("live", questionOf(recording, want, seen?.tile ? seen.view : null), stop.signal);
        const tile = pictureOf(data);
        const view = want.rest ?? { begin: data.now_ns - want.span, end: data.now_ns };
        seen = tile || !seen ? { data, tile, view } : { ...seen, data };
        const now = seen;
        isOver = data.state === "ended" && (data.run_id !== null || data.why !== "");
        setState((before) => ({ seen: now, error: null, answers: before.answers + 1 }));
      } catch (error) {
        if (stop.signal.aborted) return;
        pause = AFTER_ERROR_MS;
        setState((before) => ({ ...before, error: isOver ? null : error }));
      }
      isAsking = false;
      if (!isOver) timer = setTimeout(() => void turn(), Math.max(20, pause - (performance.now() - began)));
    };
    wake.current = () => {
      if (isOver && !isAsking) void turn();
    };
    void turn();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [recording]);
  const { rest, span, width } = wanted;
  useEffect(() => wake.current(), [rest, span, width]);
  return state;
}
