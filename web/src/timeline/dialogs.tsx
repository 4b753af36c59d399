// Small questions over the time line: where to go, what Perfetto shall open, which run to put beside.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { RunList } from "../api/answers";
import { ask } from "../api/ask";
import { CopyAs } from "../parts/copy_as";
import { shown } from "../format/names";
import { OFFLINE } from "../offline/mode";
import { Failure } from "../parts/state";
import { targetOf, type Target } from "./go_to";
import { perfettoOf } from "./perfetto";

export type Asked = "go" | "perfetto" | "beside" | null;

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ReactNode }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="keys ask" onClose={close} aria-label={title}>
      <h2>{title}</h2>
      {children}
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

interface GoToProps {
  origin: number | bigint;
  go: (target: Target) => Promise<string>; // what went wrong, or nothing
  close: () => void;
}

export function GoTo({ origin, go, close }: GoToProps): ReactNode {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const submit = async () => {
    const target = targetOf(text, origin);
    if (!target) return setSaid("This is neither a time nor a row of a table.");
    const wrong = await go(target);
    if (wrong === "") close();
    else setSaid(wrong);
  };
  return (
    <Dialog title="Go to a time or a row" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <input autoFocus aria-label="Time or row" placeholder="12.5 ms or kernel 123" value={text} onChange={(event) => setText(event.target.value)} />{" "}
        <button>Go</button>
      </form>
      <p className="hint">A time after the begin (350 us, 12.5 ms, 1.2 s), a start_ns of the tables, or a row: span 7, kernel 123, copy 4, sync 2.</p>
      <p role="status">{said}</p>
    </Dialog>
  );
}

export function Perfetto({ id, window, close }: { id: string; window: string; close: () => void }): ReactNode {
  const { file, address, command } = perfettoOf(id, window);
  return (
    <Dialog title="Open in Perfetto" close={close}>
      <p>{window === "whole" ? "This is the whole run." : "This is the stretch that is seen, with all that touches it."}</p>
      {OFFLINE ? null : (
        <p>
          <a href={address} download={file}>
            Save {file}
          </a>
          , then open it at ui.perfetto.dev or in a viewer of your own. Nothing is sent anywhere.
        </p>
      )}
      <p>
        <code className="mono">{command}</code> <CopyAs ways={{ command }} />
      </p>
    </Dialog>
  );
}

export function Beside({ id, choose, close }: { id: string; choose: (run: string) => void; close: () => void }): ReactNode {
  const [text, setText] = useState("");
  const runs = useQuery({ queryKey: ["runs-beside"], queryFn: async ({ signal }) => (await ask<RunList>("runs", { limit: 200 }, signal)).data.runs });
  const matching = (runs.data ?? []).filter((one) => one.run_id !== id && `${one.file_names} ${one.run_id}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Dialog title="Put another run beside this one" close={close}>
      {runs.error ? <Failure error={runs.error} /> : null}
      <input autoFocus aria-label="Search runs" placeholder="Part of the file or id" value={text} onChange={(event) => setText(event.target.value)} />
      <ul className="choices">
        {matching.slice(0, 12).map((one) => (
          <li key={one.run_id}>
            <button className="link" onClick={() => choose(one.run_id)}>
              {shown(one.file_names.split("/").at(-1) ?? one.run_id, 60)}
            </button>{" "}
            <span className="hint">{one.run_id.slice(0, 12)}</span>
          </li>
        ))}
      </ul>
      {matching.length > 12 ? <p className="hint">{matching.length - 12} more: type a part of the name.</p> : null}
    </Dialog>
  );
}
