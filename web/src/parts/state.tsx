// What a page shows while it waits, when it fails, and when there is nothing.

import type { ReactNode } from "react";
import { Link } from "wouter";
import { AskError } from "../api/ask";
import { shown } from "../format/names";
import { OFFLINE } from "../offline/mode";
import { NotHere } from "../offline/not_here";
import { NOT_RECORDED } from "../offline/recorded";

const LIST_OF_RUNS = "POST /api/v1/runs "; // what a program would ask

export function Waiting({ what }: { what: string }): ReactNode {
  return (
    <p className="waiting" role="status">
      {what}…
    </p>
  );
}

export function Failure({ error, retry, retryWords = "Try again" }: { error: unknown; retry?: () => void; retryWords?: string }): ReactNode {
  const known = error instanceof AskError ? error : null;
  if (OFFLINE && known?.code === NOT_RECORDED) return <NotHere what={known.message} command={known.hint} />;
  return (
    <div className="failure" role="alert">
      <Message text={error instanceof Error ? error.message : String(error)} />
      {known?.hint ? <p className="hint">{known.hint.startsWith(LIST_OF_RUNS) ? <RunsLink /> : shown(known.hint, 1000)}</p> : null}
      <p>
        {retry ? <button onClick={retry}>{retryWords}</button> : null}
        {known ? <code>{known.code}</code> : null}
      </p>
    </div>
  );
}

function RunsLink(): ReactNode {
  return (
    <>
      <Link href="/runs">The list of runs</Link> shows what is there.
    </>
  );
}

/** What points at a place of the line above it, as the engine does in SQL, needs letters of one width. */
function Message({ text }: { text: string }): ReactNode {
  const lines = text.split("\n").slice(0, 30);
  if (lines.length === 1) return <p>{shown(text, 1000)}</p>;
  return <pre className="message">{lines.map((line) => (line.trim() === "" ? "" : shown(line, 1000))).join("\n")}</pre>;
}

export function Empty({ children }: { children: ReactNode }): ReactNode {
  return <div className="empty">{children}</div>;
}
