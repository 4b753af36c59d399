// The state of the page and its address, kept the same: a change is written after a moment, and Back brings the state before.

import { useCallback, useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { readState, writeState, type PageState } from "./page_state";
import type { View } from "./view";

const REST_MS = 250;

export function usePageState(first: (search: URLSearchParams) => PageState, all: View): [PageState, (part: Partial<PageState>) => void] {
  const [search, setSearch] = useSearchParams();
  const [state, setState] = useState(() => first(search));
  const written = useRef(search.toString());
  const patch = useCallback((part: Partial<PageState>) => setState((before) => ({ ...before, ...part })), []);

  useEffect(() => {
    const timer = setTimeout(() => {
      const before = new URLSearchParams(written.current);
      const after = writeState(state, before);
      if (after.toString() === written.current) return;
      written.current = after.toString();
      setSearch(after, { replace: isOnlyTheView(before, after) });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [state, setSearch]);

  const address = search.toString();
  useEffect(() => {
    if (address === written.current) return;
    written.current = address;
    setState(readState(new URLSearchParams(address), all));
  }, [address, all]);

  return [state, patch];
}

/** What changes while one moves, types or drags leaves no trail in the history; a selection does. */
const MOVING = ["at", "find", "rows", "area"];

export function isOnlyTheView(before: URLSearchParams, after: URLSearchParams): boolean {
  if (!before.has("at")) return true;
  const rest = (search: URLSearchParams) => {
    const copy = new URLSearchParams(search);
    for (const name of MOVING) copy.delete(name);
    return copy.toString();
  };
  return rest(before) === rest(after);
}
