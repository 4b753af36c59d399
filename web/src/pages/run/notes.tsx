// Notes of people on the run. They are shown as they were written: their text is never read as markup.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import type { Note, Notes as NotesAnswer } from "../../api/answers_run";
import { ask, type Parameters } from "../../api/ask";
import { shown, visible } from "../../format/names";
import { when } from "../../format/numbers";
import { Empty, Failure } from "../../parts/state";
import { Body, useWord } from "./parts";

export default function Notes({ id }: { id: string }): ReactNode {
  const [history, setHistory] = useWord("history");
  const notes = useQuery({
    queryKey: ["notes", id, history],
    staleTime: 0,
    queryFn: async ({ signal }) => (await ask<NotesAnswer>("note", { run: id, history: history !== "" }, signal)).data,
  });
  return (
    <Body asked={notes} what="Reading the notes">
      {(data) => (
        <>
          <Write id={id} />
          {data.notes.length === 0 ? <Empty>No one has written a note on this run.</Empty> : null}
          {data.notes.map((note) => (
            <OneNote key={note.note} id={id} note={note} />
          ))}
          <label>
            <input type="checkbox" checked={history !== ""} onChange={(event) => setHistory(event.target.checked ? "yes" : "")} /> Also what notes said before
          </label>
          {(data.past_notes ?? []).map((note, n) => (
            <article className="note past" key={n}>
              <NoteHead note={note} />
              <NoteText text={note.text} />
            </article>
          ))}
          {history !== "" && data.past_notes?.length === 0 ? <p className="hint">No note was changed or removed.</p> : null}
        </>
      )}
    </Body>
  );
}

/** Changes the notes, and reads them again. */
function useChange(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: Parameters) => ask<NotesAnswer>("note", { run: id, ...change }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["notes", id] }),
  });
}

function Write({ id }: { id: string }): ReactNode {
  const [text, setText] = useState("");
  const [about, setAbout] = useState("");
  const change = useChange(id);
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

function OneNote({ id, note }: { id: string; note: Note }): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  const change = useChange(id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ edit: note.note, text: draft }, { onSuccess: () => setDraft(null) });
  };
  return (
    <article className="note" aria-label={`Note ${note.note}`}>
      <NoteHead note={note} />
      {draft === null ? (
        <>
          <NoteText text={note.text} />
          <button onClick={() => setDraft(note.text)}>Change</button>{" "}
          <button disabled={change.isPending} onClick={() => change.mutate({ remove: note.note })}>
            Remove
          </button>
        </>
      ) : (
        <form onSubmit={submit}>
          <label>
            New text of note {note.note}
            <textarea rows={3} value={draft} onChange={(event) => setDraft(event.target.value)} />
          </label>
          <button disabled={draft.trim() === "" || change.isPending}>Keep</button>{" "}
          <button type="button" onClick={() => setDraft(null)}>
            Leave it
          </button>
        </form>
      )}
      {change.error ? <Failure error={change.error} /> : null}
    </article>
  );
}

function NoteHead({ note }: { note: Note }): ReactNode {
  return (
    <p className="hint">
      {note.note}. {shown(note.user, 40)}, {when(note.written_at_ns)}
      {note.about ? `, about ${shown(note.about, 80)}` : ""}
      {note.until_ns === undefined ? "" : `; changed or removed ${when(note.until_ns)}${note.until_user ? ` by ${shown(note.until_user, 40)}` : ""}`}
    </p>
  );
}

/** Lines are kept; what cannot be seen is not let through. */
function NoteText({ text }: { text: string }): ReactNode {
  return <p className="note-text">{text.split("\n").map(visible).join("\n")}</p>;
}
