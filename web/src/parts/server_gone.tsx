// Says when the server does not answer. What is shown stays, and what failed meanwhile is asked for again once it is back.

import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { askCaller, AskError } from "../api/ask";

const ASK_AGAIN_MS = 3000;

let isGone = false;
const listeners = new Set<() => void>();

function setGone(gone: boolean): void {
  if (gone === isGone) return;
  isGone = gone;
  for (const listener of listeners) listener();
}

/** An error for which there was no answer at all. */
export function isSilence(error: unknown): boolean {
  return error instanceof AskError ? error.code === "unavailable" && error.status === 0 : error instanceof TypeError && /fetch|network|load failed/i.test(error.message);
}

/** Learns from each answer, and from each that does not come, whether the server is there. */
export function noteAnswers(client: QueryClient): void {
  for (const cache of [client.getQueryCache(), client.getMutationCache()])
    cache.subscribe((event) => {
      if (event.type !== "updated") return;
      if (event.action.type === "success") setGone(false);
      else if (event.action.type === "error" && isSilence(event.action.error)) setGone(true);
    });
}

export function ServerGone(): ReactNode {
  const gone = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isGone,
  );
  return gone ? <Banner /> : null;
}

function Banner(): ReactNode {
  const client = useQueryClient();
  const [tries, setTries] = useState(0);
  const tryNow = useCallback(async () => {
    try {
      await askCaller();
    } catch (error) {
      if (isSilence(error)) return setTries((before) => before + 1);
    }
    setGone(false);
    void client.refetchQueries({ type: "active", predicate: ({ state }) => isSilence(state.error) });
  }, [client]);
  useEffect(() => {
    const timer = setTimeout(() => void tryNow(), ASK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [tries, tryNow]);
  return (
    <div className="banner server-gone" role="alert">
      The server does not answer. What you see stays as it is; the page asks again every few seconds.{" "}
      <button onClick={() => void tryNow()}>Ask now</button>
    </div>
  );
}
