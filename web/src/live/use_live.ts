// A recording, followed as long as the page is open.

import { useEffect, useRef, useState } from "react";
import { ask } from "../api/ask";
import { follow, NOTHING_YET, type Following, type Wanted } from "./following";
import type { Told } from "./live_data";

export function useLive(recording: string, wanted: Wanted): Following & { retry: () => void } {
  const [state, setState] = useState<Following>(NOTHING_YET);
  const latest = useRef(wanted);
  latest.current = wanted;
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const stop = new AbortController();
    const following = follow(recording, {
      ask: async (question) => (await ask<Told>("live", question, stop.signal)).data,
      wanted: () => latest.current,
      tell: setState,
    });
    wake.current = following.wake;
    return () => {
      following.stop();
      stop.abort();
    };
  }, [recording]);
  const { rest, span, width } = wanted;
  useEffect(() => wake.current(), [rest, span, width]);
  return { ...state, retry: () => wake.current() };
}
