// Notes of people. They are shown as they were written: their text is never read as markup.

import { useMutation, useQuery, useQueryClient, type UseMutationResult, type UseQueryResult } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { Link } from "wouter";
import type { Note, Notes } from "../api/answers_run";
import { ask, type Answer, type Parameters } from "../api/ask";
import { shown, visible } from "../format/names";
import { when } from "../format/numbers";
import { focusAfter } from "./focus";
import { Failure } from "./state";

export function useNotes(id: string, history = false): UseQueryResult<Notes> {
  return useQuery({
    queryKey: ["notes", id, history],
    staleTime: 0,
    queryFn: async ({ signal }) => (await ask<Notes>("note", { run: id, history }, signal)).data,
  });
}

/** Changes the notes, and reads them again. */
export function useNoteChange(id: string): UseMutationResult<Answer<Notes>, Error, Parameters> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: Parameters) => ask<Notes>("note", { run: id, ...change }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["notes", id] }),
  });
}

/** Where the time line shows what a note is about; null if it is about something else. */
export function noteLink(id: string, about: string): string | null {
  const span = /^span:(\d+)$/.exec(about);
  if (span) return `/runs/${id}/timeline?show=s${span[1]}`;
  const kernel = /^kernel:([^]+)$/.exec(about);
  return kernel ? `/runs/${id}/timeline?${new URLSearchParams({ find: kernel[1] as string }).toString()}` : null;
}

export function OneNote({ id, note, mayWrite }: { id: string; note: Note; mayWrite: boolean }): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  const change = useNoteChange(id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ edit: note.note, text: draft }, { onSuccess: leave });
  };
  const leave = () => {
    setDraft(null);
    focusAfter(`[data-change="${note.note}"]`);
  };
  return (
    <article className="note" aria-label={`Note ${note.note}`}>
      <NoteHead id={id} note={note} />
      {draft === null ? <NoteText text={note.text} /> : null}
      {draft === null && mayWrite ? (
        <>
          <button data-change={note.note} onClick={() => setDraft(note.text)}>
            Change
          </button>{" "}
          <button disabled={change.isPending} onClick={() => change.mutate({ remove: note.note })}>
            Remove
          </button>
        </>
      ) : null}
      {draft === null ? null : (
        <form onSubmit={submit}>
          <label>
            New text of note {note.note}
            <textarea autoFocus rows={3} value={draft} onChange={(event) => setDraft(event.target.value)} />
          </label>
          <button disabled={draft.trim() === "" || change.isPending}>Keep</button>{" "}
          <button type="button" onClick={leave}>
            Leave it
          </button>
        </form>
      )}
      {change.error ? <Failure error={change.error} /> : null}
    </article>
  );
}

export function NoteHead({ id, note }: { id: string; note: Note }): ReactNode {
  const link = noteLink(id, note.about);
  return (
    <p className="hint">
      {note.note}. {shown(note.user, 40)}, {when(note.written_at_ns)}
      {note.about ? ", about " : ""}
      {note.about && link ? <Link href={link}>{shown(note.about, 80)}</Link> : null}
      {note.about && !link ? shown(note.about, 80) : null}
      {note.until_ns === undefined ? "" : `; changed or removed ${when(note.until_ns)}${note.until_user ? ` by ${shown(note.until_user, 40)}` : ""}`}
    </p>
  );
}

/** Lines are kept; what cannot be seen is not let through. */
export function NoteText({ text }: { text: string }): ReactNode {
  return <p className="note-text">{text.split("\n").map(visible).join("\n")}</p>;
}
