// Small questions over the time line: where to go, what Perfetto shall open, which run to put beside.

import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Shown } from "../api/answers_run";
import { ask } from "../api/ask";
import { CopyAs } from "../parts/copy_as";
import { OFFLINE } from "../offline/mode";
import { RunPicker } from "../pages/runs/picker";
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

/** What is chosen may be a part of an id, or a name for a run: the address of the page takes the whole id, which stays true. */
export function Beside({ id, choose, close }: { id: string; choose: (run: string) => void; close: () => void }): ReactNode {
  const [failure, fail] = useState<unknown>(null);
  const take = async (text: string) => {
    fail(null);
    try {
      const { run_id } = (await ask<Pick<Shown, "run_id">>("show", { run: text })).data;
      if (run_id === id) fail("This is the run itself. Choose another one.");
      else choose(run_id);
    } catch (error) {
      fail(error);
    }
  };
  return (
    <Dialog title="Put another run beside this one" close={close}>
      <RunPicker label="Run to put beside" choose={(text) => void take(text)} />
      {failure ? <Failure error={failure} /> : null}
    </Dialog>
  );
}
