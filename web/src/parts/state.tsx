// What a page shows while it waits, when it fails, and when there is nothing.

import type { ReactNode } from "react";
import { AskError } from "../api/ask";

export function Waiting({ what }: { what: string }): ReactNode {
  return (
    <p className="waiting" role="status">
      {what}…
    </p>
  );
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  const known = error instanceof AskError ? error : null;
  return (
    <div className="failure" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {known?.hint ? <p className="hint">{known.hint}</p> : null}
      <p>
        {retry ? <button onClick={retry}>Try again</button> : null}
        {known ? <code>{known.code}</code> : null}
      </p>
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }): ReactNode {
  return <div className="empty">{children}</div>;
}
