// What the pages of a run ask the server for. A run never changes, so each answer is asked for once; what a name stands for does.

import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useEffect } from "react";
import { useSearchParams } from "wouter";
import type { Metrics, QueryRows, RunAnalysis, RunDocument, Shown } from "../../api/answers_run";
import { ask, askBytes, type Answer } from "../../api/ask";
import { parseExact } from "../../api/exact_json";
import { OFFLINE } from "../../offline/mode";
import { METRICS } from "../../parts/definitions";
import { staleOf } from "../../parts/fresh";

export const STEADY = "steady";

/** The window that is looked at: of the address, so that a link keeps it. */
export function useWindow(): string {
  const [search] = useSearchParams();
  return search.get("window") ?? STEADY;
}

/** `all`: every kernel, op and module instead of the first ten. */
export function useAnalysis(id: string, all = false): UseQueryResult<Answer<RunAnalysis>> {
  return useAnalysisOf(id, useWindow(), all);
}

/** Of a window that the address does not say. Without a run nothing is asked. */
export function useAnalysisOf(id: string, window: string, all = false): UseQueryResult<Answer<RunAnalysis>> {
  return useQuery({
    queryKey: ["analyze", id, window, all],
    staleTime: staleOf(id),
    enabled: id !== "",
    queryFn: ({ signal }) => ask<RunAnalysis>("analyze", { run: id, window, ...(all ? { top: 10_000 } : {}) }, signal),
  });
}

export function useShown(id: string): UseQueryResult<Shown> {
  return useQuery({ queryKey: ["show", id], staleTime: staleOf(id), queryFn: async ({ signal }) => (await ask<Shown>("show", { run: id }, signal)).data });
}

export function useRows(id: string, sql: string, enabled = true): UseQueryResult<QueryRows> {
  return useQuery({
    queryKey: ["query", id, sql],
    staleTime: staleOf(id),
    enabled,
    queryFn: async ({ signal }) => (await ask<QueryRows>("query", { run: id, sql, limit: 5000 }, signal)).data,
  });
}

export function useMetrics(): UseQueryResult<Metrics> {
  return useQuery(METRICS);
}

/** It is no answer of an operation, so it comes without an envelope. */
export function useDocument(id: string): UseQueryResult<RunDocument> {
  return useQuery({
    queryKey: ["document", id],
    staleTime: staleOf(id),
    queryFn: async ({ signal }) =>
      OFFLINE ? (await ask<RunDocument>("document", { run: id })).data : (parseExact(new TextDecoder().decode(await askBytes(`runs/${id}`, {}, signal))) as RunDocument),
  });
}

/** Says on the page that it shows what was asked for. */
export function useReady(isReady: boolean): void {
  useEffect(() => {
    const page = document.getElementById("main") as HTMLElement;
    page.dataset["ready"] = String(isReady);
    return () => void (page.dataset["ready"] = "false");
  }, [isReady]);
}
