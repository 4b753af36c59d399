import { useState, type ReactNode } from "react";

/** Every view can be asked for elsewhere: by a link, the command line, or an agent. */
export function CopyAs({ ways }: { ways: Record<string, string> }): ReactNode {
  const [copied, setCopied] = useState("");
  const copy = async (way: string) => {
    await navigator.clipboard.writeText(ways[way] as string);
    setCopied(way);
    setTimeout(() => setCopied(""), 1500);
  };
  return (
    <span className="copy-as">
      {Object.keys(ways).map((way) => (
        <button key={way} title={ways[way]} onClick={() => void copy(way)}>
          {copied === way ? "Copied" : `Copy ${way}`}
        </button>
      ))}
    </span>
  );
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
