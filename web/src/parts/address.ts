// What a page shows is kept in its address: the parameters, and a way to change some of them.

import { useSearchParams } from "wouter";

export type SetAddress = (changes: Record<string, string | null>, replace?: boolean) => void;

/** An empty value takes its parameter out. */
export function useAddress(): [URLSearchParams, SetAddress] {
  const [search, setSearch] = useSearchParams();
  const set: SetAddress = (changes, replace = false) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value) after.set(name, value);
          else after.delete(name);
        }
        return after;
      },
      { replace },
    );
  return [search, set];
}
