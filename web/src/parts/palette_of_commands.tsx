// ⌃K: everything that can be reached, by typing a part of its name: pages, runs, and what the page can do.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent as Press, type ReactNode } from "react";
import { useLocation } from "wouter";
import { shown } from "../format/names";
import { shortNameOf } from "../pages/runs/columns";
import { askRuns, typed } from "../pages/runs/conditions";
import { keptViews } from "../pages/runs/views";

export interface Command {
  name: string;
  detail: string;
  run: () => void;
}

const PAGES: [string, string][] = [
  ["Runs", "/runs"], ["Compare", "/compare"], ["Trend", "/trend"], ["Outliers", "/outliers"], ["Similar runs", "/similar"], ["Flame graph", "/flame"],
    ["SQL", "/sql"], ["Rules", "/rules"], ["Live", "/live"], ["System", "/system"],
];
const OF_A_RUN: [string, (id: string) => string][] = [
  ["Overview of this run", (id) => `/runs/${id}`], ["Timeline of this run", (id) => `/runs/${id}/timeline`],
    ["Flame graph of this run", (id) => `/flame?run=${id}`],
  ["SQL over this run", (id) => `/sql?run=${id}`], ["Runs similar to this one", (id) => `/similar?run=${id}`],
    ["Compare this run with the newest", (id) => `/compare?base=${id}&new=@latest`],
];

/** All words must be somewhere in the name, in any order. */
export function fits(name: string, text: string): boolean {
  const lower = name.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => lower.includes(word));
}

/** What the page offers as buttons, apart from those of rows. */
function actionsOfPage(): Command[] {
  const names = new Set<string>();
  return [...document.querySelectorAll<HTMLButtonElement>("main button:not(:disabled)")].flatMap((button) => {
    const name = (button.ariaLabel ?? button.textContent).trim();
    const isOfRow = button.closest("table, li, [role=grid], [role=table]") !== null;
    if (name === "" || names.has(name) || isOfRow || button.offsetParent === null) return [];
    names.add(name);
    return [{ name, detail: "on this page", run: () => button.click() }];
  });
}

export function Palette(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      setOpen(true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return isOpen ? <Opened close={() => setOpen(false)} /> : null;
}

function useCommands(text: string): Command[] {
  const [path, go] = useLocation();
  const runs = useQuery({
    queryKey: ["runs", "palette", text],
    staleTime: 0,
    queryFn: async ({ signal }) => (await askRuns([typed(text) ?? ""].filter(Boolean), { limit: 8 }, signal)).runs,
  });
  const id = /^\/runs\/([0-9a-f]+)/.exec(path)?.[1];
  const known: Command[] = [
    ...(id ? OF_A_RUN.map(([name, address]) => ({ name, detail: "this run", run: () => go(address(id)) })) : []),
    ...PAGES.map(([name, address]) => ({ name, detail: "page", run: () => go(address) })),
    ...Object.entries(keptViews()).map(([name, query]) => ({ name, detail: "saved view", run: () => go(`/runs${query}`) })),
    ...(text === "" ? [] : actionsOfPage()),
  ];
  const found = (runs.data ?? []).map((run) => ({
    name: shortNameOf(run, 60), detail: [run.labels["model"], run.device].filter(Boolean).join(" · ") || "run", run: () => go(`/runs/${run.run_id}`),
  }));
  return [...known.filter((one) => fits(one.name, text)), ...found];
}

function Opened({ close }: { close: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const list = useId();
  const commands = useCommands(text);
  useEffect(() => dialog.current?.showModal(), []);
  const start = (command: Command | undefined) => {
    if (!command) return;
    dialog.current?.close();
    command.run();
  };
  const press = (event: Press) => {
    if (event.key === "ArrowDown") setActive(Math.min(commands.length - 1, active + 1));
    else if (event.key === "ArrowUp") setActive(Math.max(0, active - 1));
    else if (event.key === "Enter") start(commands[active]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Go to a page or run" onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}>
      <input
        role="combobox" aria-label="Page, run or action" aria-expanded="true" aria-controls={list} aria-autocomplete="list"
          placeholder="Page, run or action" value={text}
        aria-activedescendant={commands[active] ? `${list}-${active}` : undefined} onKeyDown={press}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
      />
      <ul id={list} role="listbox" aria-label="Found">
        {commands.map((one, n) => (
          <li key={`${n} ${one.name}`} id={`${list}-${n}`} role="option" aria-selected={n === active} onClick={() => start(one)}
            onPointerMove={() => setActive(n)}>
            {shown(one.name, 70)} <span className="hint">{shown(one.detail, 40)}</span>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
