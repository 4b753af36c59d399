// What a run has beside its spans, and what of it the view shows: one question for each table, once the view rests.

import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { OFFLINE } from "../offline/mode";
import { EXTRAS_SQL, extrasOf, type Extra, type SeriesRow, type StacksRow } from "./extras";
import type { Line, Source } from "./lines";
import { select, type Row } from "./records";
import { pointsOf, seriesPieces, seriesSql, type Point } from "./series";
import { slicesOf, stackPieces, stacksSql, type Slice } from "./stacks";
import { shifted, type View } from "./view";

const REST_MS = 200;
const KEPT_MS = 30_000;
const MOST_ROWS = 100_000;
const NO_EXTRAS: readonly Extra[] = [];
const NO_POINTS: ReadonlyMap<number, Point[]> = new Map();
const NO_SLICES: ReadonlyMap<number, Slice[]> = new Map();

export function useExtraRows(id: string): UseQueryResult<Row[]> {
  return useQuery({ queryKey: ["extras", id], enabled: id !== "", queryFn: ({ signal }) => select(id, EXTRAS_SQL, signal) });
}

/** Nothing until it is known: the spans do not wait for it. A file knows which there are, and has none of them. */
export function useExtras(source: Source | undefined): readonly Extra[] {
  const rows = useExtraRows(source?.id ?? "").data;
  const data = source?.data;
  return useMemo(() => (rows && data && !OFFLINE ? extrasOf(rows, data) : NO_EXTRAS), [rows, data]);
}

/** What a run's extra rows look like in the view; while it moves, what was there before. */
export interface ExtraData {
  points: ReadonlyMap<number, Point[]>; // by row
  slices: ReadonlyMap<number, Slice[]>; // by track
  isWaiting: boolean;
  error: unknown;
}

export function useExtraData(source: Source | undefined, number: number, seen: readonly Line[], view: View, width: number): ExtraData {
  const own = shifted(view, -(source?.shift ?? 0));
  const extras = seen.flatMap((line) => (line.kind === "extra" && line.source === number ? [line.extra] : []));
  const rows = [...new Set(extras)].sort((a, b) => a.row - b.row);
  const wanted = `${Math.round(own.begin)} ${Math.round(own.end)} ${width} ${rows.map((one) => one.row).join(".")}`;
  const rested = useRested(wanted, REST_MS);
  const series = rows.filter((one): one is SeriesRow => one.kind === "series");
  const stacks = rows.filter((one): one is StacksRow => one.kind === "stacks");
  const isThere = source !== undefined && width > 0 && rested === wanted;
  const run = source?.id ?? "";
  const origin = source?.data.origin_ns ?? 0;
  const points = useQuery<ReadonlyMap<number, Point[]>>({
    queryKey: ["series", run, rested],
    enabled: isThere && series.length > 0,
    gcTime: KEPT_MS,
    placeholderData: (before, query) => (query?.queryKey[1] === run ? before : undefined),
    queryFn: async ({ signal }) => pointsOf(await select(run, seriesSql(series, seriesPieces(own, width), origin), signal, MOST_ROWS)),
  });
  const slices = useQuery<ReadonlyMap<number, Slice[]>>({
    queryKey: ["stacks", run, rested],
    enabled: isThere && stacks.length > 0,
    gcTime: KEPT_MS,
    placeholderData: (before, query) => (query?.queryKey[1] === run ? before : undefined),
    queryFn: async ({ signal }) => {
      const pieces = stackPieces(own, width);
      return slicesOf(await select(run, stacksSql(stacks, pieces, origin), signal, MOST_ROWS), pieces);
    },
  });
  return {
    points: points.data ?? NO_POINTS, slices: slices.data ?? NO_SLICES, error: points.error ?? slices.error,
    isWaiting: rows.length > 0 && (rested !== wanted || points.isFetching || slices.isFetching),
  };
}

/** A text once it has not changed for a while; the first is taken at once. */
function useRested(text: string, ms: number): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return rested;
}
