// The notes of a run, and the places of those that are about a span.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Note } from "../api/answers_run";
import { useNotes } from "../parts/notes";
import type { Source } from "./lines";
import { NO_MARKS, notedKernels, notedSpans, type NoteMarks } from "./notes";
import { placed } from "./place";
import { select, unplaced, upwardsSql } from "./records";

const MOST_PLACED = 200; // each may take a question of its own
const NONE: readonly Note[] = [];

export interface NotesOnPicture {
  notes: readonly Note[];
  marks: NoteMarks;
}

/** Without notes until they are there: the picture does not wait for them. */
export function useNotesOnPicture(source: Source): NotesOnPicture {
  const notes = useNotes(source.id).data?.notes ?? NONE;
  const ids = useMemo(() => notedSpans(notes).slice(0, MOST_PLACED), [notes]);
  const spans = useQuery({
    queryKey: ["noted-spans", source.id, ids],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      const rows = await select(source.id, upwardsSql(ids), signal);
      const found = rows.map((row) => unplaced("spans", row, source.data.origin_ns)).filter((one) => one !== null);
      return (await Promise.all(found.map((one) => placed(source, 0, one, signal)))).filter((one) => one !== null);
    },
  }).data;
  const marks = useMemo<NoteMarks>(
    () => (notes.length === 0 ? NO_MARKS : { spans: ids.length > 0 ? (spans ?? []) : [], kernels: notedKernels(notes) }),
    [notes, ids, spans],
  );
  return { notes, marks };
}
