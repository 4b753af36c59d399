// Search by a part of a name: next and previous, and whether only what is found stands out.

import type { ReactNode } from "react";
import type { SearchAnswer, SpanFound } from "../api/answers";
import { ask } from "../api/ask";
import type { Span } from "./item";
import type { Table } from "./tiles";

export type Way = "next" | "previous";

export function spanOfFound(found: SpanFound, source: number): Span {
  return { kind: "span", source, row: found.row, table: found.table as Table, id: found.id, name: found.name, start: found.start_ns, length: found.dur_ns };
}

const MOST_TEXT = 1000; // letters that the server takes

/** The nearest span with the text, beyond the end of the run again from the other end. */
export async function findSpan(run: string, text: string, way: Way, from: number): Promise<{ count: number; found: SpanFound | null }> {
  const at = async (from_ns: number) => (await ask<SearchAnswer>("timeline", { run, what: "search", text: text.slice(0, MOST_TEXT), from_ns })).data;
  const data = await at(Math.round(from));
  if (data.count === 0 || data[way]) return { count: data.count, found: data[way] };
  const again = await at(way === "next" ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER);
  return { count: data.count, found: again[way] };
}

const MOST_TRIES = 100;

/** The next span of exactly this name on the row: a search also finds longer names. */
export async function sameName(run: string, span: Span, way: Way): Promise<SpanFound | null> {
  let from_ns = Math.floor(span.start) + (way === "next" ? 1 : 0);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { data } = await ask<SearchAnswer>("timeline", { run, what: "search", text: span.name.slice(0, MOST_TEXT), rows: [span.row], from_ns });
    const found = data[way];
    if (!found || found.name === span.name) return found;
    from_ns = found.start_ns + (way === "next" ? 1 : 0);
  }
  return null;
}

interface SearchProps {
  text: string;
  only: boolean;
  said: string;
  change: (part: { find?: string; only?: boolean }) => void;
  find: (way: Way) => void;
  leave: () => void;
}

export function Search({ text, only, said, change, find, leave }: SearchProps): ReactNode {
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        find("next");
        leave();
      }}
    >
      <input
        id="search" type="search" aria-label="Search spans by name" placeholder="Search  /" value={text}
        onChange={(event) => change({ find: event.target.value })}
        onKeyDown={(event) => event.key === "Escape" && leave()}
      />
      <button title="N">Next</button>
      <button type="button" title="⇧N" onClick={() => find("previous")}>
        Previous
      </button>
      <label title="Dim all spans without this text">
        <input type="checkbox" checked={only} onChange={(event) => change({ only: event.target.checked })} /> only these
      </label>
      <span role="status">{said}</span>
    </form>
  );
}
