// The record of the selected span, what it is linked to, and the arrows to that.

import { useQuery } from "@tanstack/react-query";
import { arrowsOf, type Arrow } from "./arrows";
import type { Span } from "./item";
import type { Source } from "./lines";
import { placed } from "./place";
import { linkedOf, recordSql, select, type Linked, type Row } from "./records";

const KEPT_MS = 60_000;
const NO_ARROWS: readonly Arrow[] = [];

export interface LinksOfSpan {
  record: Row | null; // null: not there yet
  links: Linked | null;
  arrows: readonly Arrow[];
  error: unknown;
}

export function useLinks(span: Span | null, source: Source | undefined): LinksOfSpan {
  const isThere = span !== null && source !== undefined;
  const record = useQuery({
    queryKey: ["record", source?.id, span?.table, span?.id],
    enabled: isThere,
    gcTime: KEPT_MS,
    queryFn: async ({ signal }) => (isThere ? ((await select(source.id, recordSql(span.table, span.id), signal))[0] ?? null) : null),
  });
  const linked = useQuery({
    queryKey: ["linked", source?.id, span?.source, span?.table, span?.id],
    enabled: isThere && Boolean(record.data),
    gcTime: KEPT_MS,
    queryFn: async ({ signal }) => {
      if (!isThere) return null;
      const links = await linkedOf(source.id, span, record.data ?? {}, source.data.origin_ns, signal);
      return { links, arrows: await arrowsOf(span, links, (end) => placed(source, span.source, end, signal)) };
    },
  });
  return {
    record: (isThere && record.data) || null,
    links: (isThere && linked.data?.links) || null,
    arrows: (isThere && linked.data?.arrows) || NO_ARROWS,
    error: record.error ?? linked.error,
  };
}
