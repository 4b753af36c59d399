// Filters with counts. A value can be chosen or excluded; values of one key are alternatives.

import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Facet } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { grouped } from "../../format/numbers";
import { askRuns, choiceOf, chosenSo, parsed } from "./conditions";

const FIRST = ["model", "device", "engine", "format", "precision", "tag"];
const NOT_COUNTED = ["file", "imported", "kernels", "records", "dropped"];
const SHORT = 8;

/** Counts of a key that is filtered by are those without its own filter: else the alternatives would show none. */
export function useFacets(where: string[]): Facet[] {
  const all = useQuery({
    queryKey: ["runs", "facets", where],
    staleTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await askRuns(where, { limit: 1, facets: "" }, signal)).facets ?? [],
  });
  const keys = [...new Set(where.map((one) => parsed(one)?.key ?? ""))].filter((key) => key !== "" && !NOT_COUNTED.includes(key));
  const own = useQueries({
    queries: keys.map((key) => {
      const rest = where.filter((one) => parsed(one)?.key !== key);
      return {
        queryKey: ["runs", "facet", key, rest],
        staleTime: 0,
        placeholderData: keepPreviousData,
        queryFn: async ({ signal }: { signal: AbortSignal }) => (await askRuns(rest, { limit: 1, facets: key }, signal)).facets?.[0] ?? null,
      };
    }),
  });
  const byKey = new Map([...(all.data ?? []), ...own.flatMap((query) => query.data ?? [])].map((facet) => [facet.key, facet]));
  return [...byKey.values()].sort((a, b) => place(a.key) - place(b.key) || a.key.localeCompare(b.key));
}

function place(key: string): number {
  const at = FIRST.indexOf(key);
  return at < 0 ? FIRST.length : at;
}

export function Facets({ facets, where, setWhere }: { facets: Facet[]; where: string[]; setWhere: (where: string[]) => void }): ReactNode {
  const tells = facets.filter((facet) => facet.values.length > 1 || where.some((one) => parsed(one)?.key === facet.key) || FIRST.includes(facet.key));
  return (
    <>
      {tells.map((facet) =>
        facet.values.length === 0 ? null : (
          <OneFacet key={facet.key} facet={facet} where={where} choose={(value, choice) => setWhere(chosenSo(where, facet.key, value, choice))} />
        ),
      )}
    </>
  );
}

function OneFacet({ facet, where, choose }: { facet: Facet; where: string[]; choose: (value: string, choice: "is" | "not") => void }): ReactNode {
  const [isLong, setLong] = useState(false);
  const isUsed = facet.values.some(({ value }) => choiceOf(where, facet.key, value) !== null);
  const values = facet.values.filter(({ value }, n) => n < SHORT || isLong || choiceOf(where, facet.key, value) !== null).slice(0, 500);
  return (
    <details className="facet" open={isUsed || FIRST.includes(facet.key)}>
      <summary>
        {facet.key} <span className="hint">{grouped(facet.distinct)}</span>
      </summary>
      <ul>
        {values.map(({ value, runs }) => {
          const choice = choiceOf(where, facet.key, value);
          return (
            <li key={value} className={choice ?? ""}>
              <label title={value}>
                <input type="checkbox" checked={choice === "is"} onChange={() => choose(value, "is")} />
                <span className="value">{shown(value, 24)}</span>
              </label>
              <button aria-pressed={choice === "not"} aria-label={`Not ${facet.key} ${shown(value, 40)}`} title="Exclude" onClick={() => choose(value, "not")}>
                not
              </button>
              <span className="number">{grouped(runs)}</span>
            </li>
          );
        })}
      </ul>
      {facet.values.length > SHORT ? (
        <button className="plain" onClick={() => setLong(!isLong)}>
          {isLong ? "Fewer" : `${grouped(facet.values.length - SHORT)} more`}
        </button>
      ) : null}
      {facet.without > 0 ? <p className="hint">{facet.without === 1 ? "1 run has none" : `${grouped(facet.without)} runs have none`}</p> : null}
    </details>
  );
}
