// Names of kernels are long, and what tells them apart stands anywhere: the middle is left out, never the ends.

export function shortened(name: string, most: number): string {
  const letters = [...name];
  if (letters.length <= most) return name;
  const tail = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

const BLANK = /^[\s\u2800\u3164\uffa0]+$/u;

/** Without what cannot be seen or changes the direction of other text. */
export function visible(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu, "\ufffd");
}

export function shown(name: string, most = 80): string {
  if (name === "") return "(no name)";
  return BLANK.test(name) ? "(a name of blanks)" : shortened(visible(name), most);
}

/** A sentence of the program, whose text is plain ASCII, with units as pages write them. */
export function said(text: string, most = 1000): string {
  return shown(text.replace(/(\d) us\b/g, "$1\u2009µs"), most);
}

/** A reason as a sentence of its own. It may hold a name of the run. */
export function sentence(reason: string): string {
  const text = said(reason);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** The same number for the same name, on every page. */
export function hash(name: string): number {
  let value = 2166136261;
  for (let i = 0; i < name.length; i++) value = Math.imul(value ^ name.charCodeAt(i), 16777619);
  return value >>> 0;
}
