// The command that answers what a page asks, for pages that have no server to ask.

import { shellWord } from "../parts/copy_as";

type Parameters = Record<string, unknown>;

export function commandOf(operation: string, { run, sql, ...rest }: Parameters): string {
  const words = [run, sql].filter((word) => word !== undefined).map((word) => shortened(String(word)));
  const options = Object.entries(rest).filter(([name, value]) => name !== "limit" && value !== undefined && value !== false);
  const told = options.flatMap(([name, value]) => [`--${name.replaceAll("_", "-")}`, ...(value === true ? [] : [value].flat().map((one) => shortened(String(one))))]);
  return ["neurolens", operation, ...words.map(shellWord), ...told.map(shellWord)].join(" ");
}

/** Ids need not be typed in full. */
function shortened(word: string): string {
  return /^[0-9a-f]{64}$/.test(word) ? word.slice(0, 12) : word;
}
