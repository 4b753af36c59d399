// Which runs are listed. The address of the page holds conditions as people mean them: several values of one key are
// alternatives, conditions on different keys must all hold.

import { ask, type Parameters } from "../../api/ask";
import type { RunList } from "../../api/answers_pages";

export type Sign = "=" | "!=" | "~" | ">=" | "<=";
export interface Condition {
  key: string;
  sign: Sign;
  value: string;
}

const FORM = /^([A-Za-z0-9_][\w.-]*)(!=|>=|<=|=|~)(.*)$/s;

export function parsed(text: string): Condition | null {
  const found = FORM.exec(text.trim());
  return found ? { key: found[1] as string, sign: found[2] as Sign, value: found[3] as string } : null;
}

/** A run has one value of a key, but many tags: several tags must all be there. */
const hasManyValues = (key: string): boolean => key === "tag";

/** Keys of which the run may have one of several values. */
export function alternatives(where: string[]): string[] {
  const counts = new Map<string, number>();
  for (const text of where) {
    const one = parsed(text);
    if (one?.sign === "=" && !hasManyValues(one.key)) counts.set(one.key, (counts.get(one.key) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([key]) => key);
}

/** The server knows only "and": one of several values is "has the key, and none of its other values". */
export function withoutAlternatives(where: string[], key: string, values: string[]): string[] {
  const wanted = new Set(where.filter((text) => parsed(text)?.key === key && parsed(text)?.sign === "=").map((text) => parsed(text)?.value));
  const rest = where.filter((text) => !(parsed(text)?.key === key && parsed(text)?.sign === "="));
  return [...rest, `${key}~`, ...values.filter((value) => !wanted.has(value)).map((value) => `${key}!=${value}`)];
}

/** The conditions as the server takes them. */
export async function conditionsFor(where: string[], signal?: AbortSignal): Promise<string[]> {
  let conditions = where;
  for (const key of alternatives(where)) {
    const { data } = await ask<RunList>("runs", { limit: 1, facets: key }, signal);
    conditions = withoutAlternatives(conditions, key, data.facets?.[0]?.values.map((one) => one.value) ?? []);
  }
  return conditions;
}

export async function askRuns(where: string[], parameters: Parameters, signal?: AbortSignal): Promise<RunList> {
  return (await ask<RunList>("runs", { where: await conditionsFor(where, signal), ...parameters }, signal)).data;
}

export type Choice = "is" | "not" | null;

export function choiceOf(where: string[], key: string, value: string): Choice {
  if (where.includes(`${key}=${value}`)) return "is";
  return where.includes(`${key}!=${value}`) ? "not" : null;
}

/** Chooses a value, excludes it, or takes the choice back if it was made. */
export function chosenSo(where: string[], key: string, value: string, choice: "is" | "not"): string[] {
  const rest = where.filter((one) => one !== `${key}=${value}` && one !== `${key}!=${value}`);
  if (choiceOf(where, key, value) === choice) return rest;
  return [...rest, `${key}${choice === "is" ? "=" : "!="}${value}`];
}

const WORDS: Record<Sign, string> = { "=": "is", "!=": "is not", "~": "contains", ">=": "≥", "<=": "≤" };

/** Sentences for the conditions, and which of them each stands for. */
export function sentences(where: string[]): { words: string; of: string[] }[] {
  const joined = new Map<string, { condition: Condition; of: string[]; values: string[] }>();
  for (const text of where) {
    const condition = parsed(text);
    if (!condition) continue;
    const isAlternative = condition.sign === "=" && !hasManyValues(condition.key);
    const key = isAlternative ? `${condition.key}=` : text;
    const before = joined.get(key);
    if (before) {
      before.of.push(text);
      before.values.push(condition.value);
    } else joined.set(key, { condition, of: [text], values: [condition.value] });
  }
  return [...joined.values()].map(({ condition, of, values }) => ({ words: `${condition.key} ${WORDS[condition.sign]} ${values.join(" or ")}`, of }));
}

/** What a person types: a condition, or a part of the file's name. */
export function typed(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return parsed(trimmed) ? trimmed : `file~${trimmed}`;
}
