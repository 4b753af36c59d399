// What could be meant by the word before the cursor: a table after FROM or JOIN, else a column of the tables in use.

import type { Table } from "../../api/answers_pages";

const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "HAVING", "count(*)",
  "sum(", "avg(", "min(", "max(", "median(", "DESC", "DISTINCT"];
const MOST = 10;

export interface Completion {
  text: string;
  detail: string;
}

/** The word that ends at the cursor, and where it begins; of a name with a dot what follows the dot. */
export function wordAt(sql: string, cursor: number): { word: string; begin: number } {
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(sql.slice(0, cursor))?.[0] ?? "";
  return { word, begin: cursor - word.length };
}

export function completions(sql: string, cursor: number, tables: Table[]): Completion[] {
  const { word, begin } = wordAt(sql, cursor);
  if (word === "" || /[A-Za-z0-9_]/.test(sql[cursor] ?? "")) return [];
  const before = sql.slice(0, begin);
  const names = tables.map((table) => ({ text: table.name, detail: table.doc }));
  if (/\b(from|join)\s+$/i.test(before) || /\b(from|join)\s+[\w\s,]*,\s*$/i.test(before)) return matching(names, word);
  const used = tables.filter((table) => new RegExp(`\\b${table.name}\\b`, "i").test(sql));
  const columns = (used.length > 0 ? used : tables).flatMap((table) =>
    table.columns.map((column) => ({ text: column.name, detail: `${table.name}: ${column.doc}` })),
  );
  if (before.endsWith(".")) return matching(columns, word);
  return matching([...columns, ...names, ...KEYWORDS.map((text) => ({ text, detail: "" }))], word);
}

/** Those that begin with the word first, then those that contain it; the word itself needs no completion. */
function matching(list: Completion[], word: string): Completion[] {
  const wanted = word.toLowerCase();
  const seen = new Set<string>();
  const fits = list.filter(({ text }) => {
    const isNew = !seen.has(text) && text.toLowerCase().includes(wanted);
    seen.add(text);
    return isNew;
  });
  if (fits.some((one) => one.text.toLowerCase() === wanted)) return [];
  const rank = (one: Completion) => (one.text.toLowerCase().startsWith(wanted) ? 0 : 1);
  return fits.sort((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/** The text with the word before the cursor replaced, and the place of the cursor after it. */
export function completed(sql: string, cursor: number, text: string): { sql: string; cursor: number } {
  const { begin } = wordAt(sql, cursor);
  return { sql: sql.slice(0, begin) + text + sql.slice(cursor), cursor: begin + text.length };
}
