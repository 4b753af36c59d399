// Notes of people on the run, and on parts of it.

import { useState, type FormEvent, type ReactNode } from "react";
import { NoteHead, NoteText, OneNote, useNoteChange, useNotes } from "../../parts/notes";
import { useMayWrite } from "../../parts/reader";
import { Empty, Failure } from "../../parts/state";
import { Body, useWord } from "./parts";

export default function Notes({ id }: { id: string }): ReactNode {
  const [history, setHistory] = useWord("history");
  const notes = useNotes(id, history !== "");
  const mayWrite = useMayWrite();
  return (
    <Body asked={notes} what="Reading the notes">
      {(data) => (
        <>
          {mayWrite ? <Write id={id} /> : null}
          {data.notes.length === 0 ? <Empty>No one has written a note on this run.</Empty> : null}
          {data.notes.map((note) => (
            <OneNote key={note.note} id={id} note={note} mayWrite={mayWrite} />
          ))}
          <label>
            <input type="checkbox" checked={history !== ""} onChange={(event) => setHistory(event.target.checked ? "yes" : "")} /> Also what notes said before
          </label>
          {(data.past_notes ?? []).map((note, n) => (
            <article className="note past" key={n}>
              <NoteHead id={id} note={note} />
              <NoteText text={note.text} />
            </article>
          ))}
          {history !== "" && data.past_notes?.length === 0 ? <p className="hint">No note was changed or removed.</p> : null}
        </>
      )}
    </Body>
  );
}

function Write({ id }: { id: string }): ReactNode {
  const [text, setText] = useState("");
  const [about, setAbout] = useState("");
  const change = useNoteChange(id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ text, ...(about.trim() ? { about: about.trim() } : {}) }, { onSuccess: () => (setText(""), setAbout("")) });
  };
  return (
    <form className="note-form" onSubmit={submit}>
      <label>
        A new note
        <textarea rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <label>
        About <input value={about} placeholder="the run" onChange={(event) => setAbout(event.target.value)} aria-describedby="about-hint" />
      </label>{" "}
      <button disabled={text.trim() === "" || change.isPending}>Add the note</button>
      <span id="about-hint" className="hint">
        {" "}
        the run, or kernel:NAME, span:ID, finding:RULE, compare:RUN
      </span>
      {change.error ? <Failure error={change.error} /> : null}
    </form>
  );
}
