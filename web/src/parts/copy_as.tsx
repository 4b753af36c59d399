import { useState, type ReactNode } from "react";
import { copyText } from "./copy_text";

/** A long text is made only when it is asked for. */
type Way = string | (() => string);

const MOST_SHOWN = 500;

/** Every view can be asked for elsewhere: by a link, the command line, SQL, or an agent. */
export function CopyAs({ ways }: { ways: Record<string, Way> }): ReactNode {
  const [said, setSaid] = useState({ way: "", words: "" });
  const copy = async (way: string) => {
    const text = ways[way] as Way;
    const isCopied = await copyText(typeof text === "string" ? text : text());
    setSaid({ way, words: isCopied ? "Copied" : "The browser refused" });
    setTimeout(() => setSaid({ way: "", words: "" }), isCopied ? 1500 : 4000);
  };
  return (
    <span className="copy-as">
      {Object.entries(ways).map(([way, text]) => (
        <button key={way} title={typeof text === "string" ? text.slice(0, MOST_SHOWN) : undefined} onClick={() => void copy(way)}>
          {said.way === way ? said.words : `Copy ${way}`}
        </button>
      ))}
      <span role="status" className="unseen">
        {said.words}
      </span>
    </span>
  );
}

/** A word as a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The call of a tool, as an agent makes it. */
export function mcpCall(name: string, parameters: Record<string, unknown> = {}): { "MCP call": string } {
  return { "MCP call": JSON.stringify({ name, arguments: parameters }) };
}
