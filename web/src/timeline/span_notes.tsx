// Notes on the selected span: those that are there, and a field for one more.

import { useState, type FormEvent, type ReactNode } from "react";
import { OneNote, useNoteChange, useNotes } from "../parts/notes";
import { useMayWrite } from "../parts/reader";
import { Failure } from "../parts/state";
import type { Span } from "./item";
import { aboutOf, notesOf } from "./notes";

export const NOTE_FIELD = "note-of-span";

export function SpanNotes({ run, span, leave }: { run: string; span: Span; leave: () => void }): ReactNode {
  const all = useNotes(run);
  const mayWrite = useMayWrite();
  const about = aboutOf(span);
  if (about === null) return null;
  const notes = notesOf(all.data?.notes ?? [], span);
  if (notes.length === 0 && !mayWrite) return null;
  return (
    <section aria-label="Notes on it" className="span-notes">
      {notes.length > 0 ? <h3>{notes.length === 1 ? "1 note" : `${notes.length} notes`}</h3> : null}
      {all.error ? <Failure error={all.error} retry={() => void all.refetch()} /> : null}
      {notes.map((note) => (
        <OneNote key={note.note} id={run} note={{ ...note, about: "" }} mayWrite={mayWrite} />
      ))}
      {mayWrite ? <Write key={about} run={run} about={about} leave={leave} /> : null}
    </section>
  );
}

function Write({ run, about, leave }: { run: string; about: string; leave: () => void }): ReactNode {
  const [text, setText] = useState("");
  const change = useNoteChange(run);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ text, about }, { onSuccess: () => setText("") });
  };
  return (
    <form className="note-form" onSubmit={submit}>
      <label>
        {about.startsWith("kernel:") ? "A note on all kernels of this name" : "A note on this span"}
        <textarea
          id={NOTE_FIELD} rows={1} value={text} title="T" placeholder="Worth a sentence" onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") leave();
            if (event.key === "Enter" && event.ctrlKey && text.trim() !== "") event.currentTarget.form?.requestSubmit();
          }}
        />
      </label>
      <button disabled={text.trim() === "" || change.isPending}>Add the note</button>
      {change.error ? <Failure error={change.error} /> : null}
    </form>
  );
}
