// Baselines stay above the list, whatever is filtered.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { ask } from "../../api/ask";
import type { Baseline } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { focusAfter } from "../../parts/focus";
import { runsChanged } from "../../parts/fresh";

export function useBaselines(): Baseline[] {
  const list = useQuery({
    queryKey: ["baselines"],
    staleTime: 0,
    queryFn: async ({ signal }) => (await ask<{ baselines: Baseline[] }>("baseline", {}, signal)).data.baselines,
  });
  return list.data ?? [];
}

/** The names of the baselines that a run belongs to. */
export function namesByRun(baselines: Baseline[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { name, run_ids } of baselines) for (const id of run_ids) names.set(id, [...(names.get(id) ?? []), name]);
  return names;
}

export function PinnedBaselines({ baselines, chosen }: { baselines: Baseline[]; chosen: string[] }): ReactNode {
  const client = useQueryClient();
  if (baselines.length === 0) return null;
  const remove = async (name: string) => {
    await ask("baseline", { name, remove: true });
    runsChanged(client);
    focusAfter(".pinned button", ".run-list");
  };
  return (
    <section className="pinned" aria-label="Baselines">
      {baselines.map(({ name, run_id, run_ids }) => (
        <span key={name} className="pin">
          ⚑ <Link href={`/runs/${run_id}`}>{shown(name, 30)}</Link>
          {run_ids.length > 1 ? <span className="hint"> {run_ids.length} runs</span> : null}{" "}
          <Link href={`/compare?base=${encodeURIComponent(`@baseline:${name}`)}&new=${chosen.length > 0 ? chosen.join(",") : "@latest"}`}>
            {chosen.length > 0 ? "compare with the chosen" : "compare with the newest"}
          </Link>
          <button className="plain" aria-label={`Remove the baseline ${shown(name, 30)}; its runs stay`} onClick={() => void remove(name)}>
            ✕
          </button>
        </span>
      ))}
    </section>
  );
}
