// How long answers stay true. A run never changes, but a name such as @latest, a baseline or a tag is another run tomorrow.

import type { QueryClient } from "@tanstack/react-query";

export function isId(text: string): boolean {
  return /^[0-9a-f]{6,64}$/.test(text);
}

/** For an answer about these runs, as they are named. */
export function staleOf(...runs: (string | null)[]): number {
  return runs.every((one) => one === null || isId(one)) ? Infinity : 0;
}

/** For an answer whose query says nothing: that its key holds a name is seen by its sign. */
export function staleOfKey(key: readonly unknown[]): number {
  return key.flat().some((one) => typeof one === "string" && one.startsWith("@")) ? 0 : Infinity;
}

/** After a label, a tag, a baseline or the runs themselves were changed. */
export function runsChanged(client: QueryClient): void {
  for (const name of ["runs", "baselines", "show", "compare", "sparklines"]) void client.invalidateQueries({ queryKey: [name] });
}
