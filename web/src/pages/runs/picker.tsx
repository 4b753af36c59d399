// Chooses the runs of a side by searching: names of files, tags, baselines, or anything the command line takes.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { ask } from "../../api/ask";
import type { Baseline } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { when } from "../../format/numbers";
import { OFFLINE } from "../../offline/mode";
import { isId } from "../../parts/fresh";
import { shortNameOf } from "./columns";
import { askRuns, typed } from "./conditions";

interface Offer {
  id: string;
  name: string;
  detail: string;
}

/** What is offered for a text: names that stand for runs first, then runs. */
async function offers(text: string, signal: AbortSignal): Promise<Offer[]> {
  const condition = typed(text);
  const [list, named] = await Promise.all([
    askRuns(condition ? [condition] : [], { limit: 12 }, signal),
    ask<{ baselines: Baseline[] }>("baseline", {}, signal),
  ]);
  const special = [
    ...(OFFLINE ? [] : [{ id: "@latest", name: "@latest", detail: "the run that was imported last" }]),
    ...named.data.baselines.map(({ name, run_ids }) => ({ id: `@baseline:${name}`, name: `@baseline:${name}`,
      detail: `baseline, ${run_ids.length} ${run_ids.length === 1 ? "run" : "runs"}` })),
  ].filter((one) => one.name.includes(text));
  const runs = list.runs.map((run) => ({
    id: run.run_id.slice(0, 12), name: shortNameOf(run, 50), detail: [run.labels["model"], run.device, run.imported_at_ns === null ? "" : when(run.imported_at_ns)].filter(Boolean).join(" · "),
  }));
  return [...special, ...runs];
}

/** An input that offers runs; `choose` gets the id or what stands for it. */
export function RunPicker({ label, choose, placeholder }: { label: string; choose: (id: string) => void; placeholder?: string }): ReactNode {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [isWaiting, setWaiting] = useState(false); // Enter was pressed before the offers of the text came
  const list = useId();
  const found = useQuery({ queryKey: ["runs", "offers", text], enabled: isOpen, staleTime: 0, placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => await offers(text, signal) });
  const offered = found.data ?? [];
  const isOfText = found.data !== undefined && !found.isPlaceholderData; // else the offers are those of the text before
  const take = (id: string) => {
    choose(id);
    setText("");
    setOpen(false);
    setActive(-1);
    setWaiting(false);
  };
  useEffect(() => {
    if (!isWaiting || !isOfText) return;
    const first = offered.at(0)?.id;
    if (first) take(first);
    else setWaiting(false);
  });
  const press = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setOpen(true);
      setActive((active + (event.key === "ArrowDown" ? 1 : -1) + offered.length) % Math.max(1, offered.length));
    } else if (event.key === "Enter") {
      const wanted = offered[active]?.id ?? (isId(text) || text.startsWith("@") ? text : isOfText ? offered.at(0)?.id : undefined);
      if (wanted) take(wanted);
      else setWaiting(!isOfText && text.trim() !== "");
    } else if (event.key === "Escape") {
      setOpen(false);
      setWaiting(false);
    } else return;
    event.preventDefault();
  };
  return (
    <span className="picker">
      <input
        role="combobox" aria-label={label} aria-expanded={isOpen && offered.length > 0} aria-controls={list} aria-autocomplete="list"
        aria-activedescendant={isOpen && active >= 0 ? `${list}-${active}` : undefined} placeholder={placeholder ?? "name, id, tag or @latest"} value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(-1);
          setOpen(true);
          setWaiting(false);
        }}
        onFocus={() => setOpen(true)} onKeyDown={press}
        onBlur={() => {
          setOpen(false);
          setWaiting(false);
        }}
      />
      <ul id={list} role="listbox" aria-label={`Runs for: ${label}`} hidden={!isOpen || offered.length === 0}>
        {offered.map((one, n) => (
          <li key={one.id} id={`${list}-${n}`} role="option" aria-selected={n === active} onPointerDown={(event) => event.preventDefault()}
            onClick={() => take(one.id)}>
            {shown(one.name, 60)} <span className="hint">{shown(one.detail, 70)}</span>
          </li>
        ))}
      </ul>
    </span>
  );
}

interface Shown {
  run_id: string;
  files: string[];
}

/** The name of a run by its id; what stands for several runs is its own name. */
export function RunName({ id }: { id: string }): ReactNode {
  const show = useQuery({ queryKey: ["show", id], enabled: isId(id), queryFn: async ({ signal }) => (await ask<Shown>("show", { run: id }, signal)).data });
  const files = show.data?.files ?? [];
  const first = files[0]?.split("/").at(-1) ?? id;
  return <span title={files.join(" ") || id}>{shown(first, 44) + (files.length > 1 ? ` and ${files.length - 1} more` : "")}</span>;
}
