// What a page shows while it waits, when it fails, and when there is nothing.

import type { ReactNode } from "react";
import { AskError } from "../api/ask";
import { shown } from "../format/names";
import { OFFLINE } from "../offline/mode";
import { NotHere } from "../offline/not_here";
import { NOT_RECORDED } from "../offline/recorded";

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
      <p>{shown(error instanceof Error ? error.message : String(error), 1000)}</p>
      {known?.hint ? <p className="hint">{shown(known.hint, 1000)}</p> : null}
      <p>
        {retry ? <button onClick={retry}>{retryWords}</button> : null}
        {known ? <code>{known.code}</code> : null}
      </p>
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }): ReactNode {
  return <div className="empty">{children}</div>;
}
