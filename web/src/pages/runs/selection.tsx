// What can be done with the chosen runs, in place.

import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { useLocation } from "wouter";
import { ask } from "../../api/ask";
import { OFFLINE } from "../../offline/mode";
import { focusAfter } from "../../parts/focus";
import { runsChanged } from "../../parts/fresh";
import { Failure } from "../../parts/state";

type Action = "label" | "tag" | "baseline" | "delete";

interface Form {
  title: string;
  hint: string;
  placeholder: string;
  button: string;
  run: (id: string, text: string, isFirst: boolean) => [string, Record<string, unknown>];
}

const FORMS: Record<Action, Form> = {
  label: {
    title: "Label", hint: "key=value sets it, key= removes it", placeholder: "precision=fp16", button: "Set the label",
    run: (run, text) => ["label", { run, labels: [text] }],
  },
  tag: {
    title: "Tag", hint: "a word; with a minus before it, the tag is removed", placeholder: "nightly", button: "Tag",
    run: (run, text) => ["tag", text.startsWith("-") ? { run, names: [text.slice(1)], remove: true } : { run, names: [text] }],
  },
  baseline: {
    title: "Baseline", hint: "the runs count as repeats of each other; a baseline of this name is replaced", placeholder: "main", button: "Set the baseline",
    run: (run, name, isFirst) => ["baseline", isFirst ? { run, name } : { run, name, add: true }],
  },
  delete: {
    title: "Delete", hint: "this cannot be undone; the reason is kept with your name and the time", placeholder: "why they must go", button: "Delete for good",
    run: (run, reason) => ["delete", { run, reason }],
  },
};

const runsOf = (count: number): string => (count === 1 ? "1 run" : `${count} runs`);

interface BarProps {
  chosen: string[];
  base: string[];
  clear: () => void;
  setBase: (ids: string[]) => void;
  forget: (ids: string[]) => void; // takes them out of both
}

export function SelectionBar({ chosen, base, clear, setBase, forget }: BarProps): ReactNode {
  const [action, setAction] = useState<Action | null>(null);
  const [, go] = useLocation();
  if (chosen.length === 0 && base.length === 0) return null;
  const others = chosen.filter((id) => !base.includes(id));
  const compare = () => {
    const [left, right] = base.length > 0 ? [base, others] : [chosen.slice(0, 1), chosen.slice(1)];
    go(`/compare?base=${left.join(",")}&new=${right.join(",")}`);
  };
  const close = () => {
    setAction(null);
    focusAfter(action && `.selection [data-action="${action}"]:enabled`, ".run-list", "#search");
  };
  const canCompare = base.length > 0 ? others.length > 0 : chosen.length === 2;
  return (
    <section className="selection" aria-label="Chosen runs">
      <div className="line">
        <strong role="status">
          {base.length > 0 ? `Base: ${runsOf(base.length)}. ` : ""}
          {base.length > 0 && others.length === 0 ? "Now choose the new runs." : `${runsOf(chosen.length)} chosen`}
        </strong>
        <button className="main" disabled={!canCompare} onClick={compare} title={canCompare ? "" : "choose two runs, or set some as base and choose others"}>
          {base.length > 0 ? "Compare with the base" : "Compare"}
        </button>
        <button disabled={chosen.length === 0} onClick={() => setBase(chosen)}>
          Use as base
        </button>
        {(OFFLINE ? [] : (Object.keys(FORMS) as Action[])).map((one) => (
          <button key={one} data-action={one} disabled={chosen.length === 0} aria-expanded={action === one} onClick={() => setAction(action === one ? null : one)}>
            {FORMS[one].title}
          </button>
        ))}
        <button
          onClick={() => {
            clear();
            focusAfter(".run-list", "#search");
          }}
        >
          Clear
        </button>
      </div>
      {action && chosen.length > 0 ? <ActionForm key={action} action={action} chosen={chosen} done={close} forget={forget} /> : null}
    </section>
  );
}

function ActionForm({ action, chosen, done, forget }: { action: Action; chosen: string[]; done: () => void; forget: (ids: string[]) => void }): ReactNode {
  const form = FORMS[action];
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [at, setAt] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setError(null);
    const gone: string[] = [];
    try {
      for (const [n, id] of chosen.entries()) {
        setAt(n);
        await ask(...form.run(id, text.trim(), n === 0));
        if (action === "delete") gone.push(id);
      }
      done();
    } catch (failure) {
      setError(failure);
    } finally {
      setAt(null);
      if (gone.length > 0) forget(gone); // what is done is not tried again
      runsChanged(client);
    }
  };
  return (
    <form className="line" onSubmit={(event) => void submit(event)}>
      <label>
        {action === "delete" ? `Delete ${runsOf(chosen.length)}? Reason` : `${form.title} of ${runsOf(chosen.length)}`}{" "}
        <input autoFocus value={text} placeholder={form.placeholder} onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && done()} />
      </label>
      <button className={action === "delete" ? "danger" : "main"} disabled={text.trim() === "" || at !== null}>
        {at === null ? form.button : `${at + 1} of ${chosen.length}…`}
      </button>
      <button type="button" onClick={done}>
        Cancel
      </button>
      <span className="hint">{form.hint}</span>
      {error ? <Failure error={error} /> : null}
    </form>
  );
}
