// Saved views: a name for what the address of the page says. They stay in this browser; a link shares one.

import { useState, type FormEvent, type ReactNode } from "react";
import { useLocation } from "wouter";
import { shown } from "../../format/names";
import { keep, kept } from "../../parts/kept";
import { Menu } from "./menu";

const KEPT = "runs.views";

export type Views = Record<string, string>;

export function keptViews(): Views {
  try {
    const before: unknown = JSON.parse(kept(KEPT) ?? "{}");
    return typeof before === "object" && before !== null ? (before as Views) : {};
  } catch {
    return {};
  }
}

export function SavedViews(): ReactNode {
  const [views, setViews] = useState<Views>(keptViews);
  const [name, setName] = useState("");
  const [, go] = useLocation();
  const change = (next: Views) => {
    keep(KEPT, JSON.stringify(next));
    setViews(next);
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    change({ ...views, [name.trim()]: location.search });
    setName("");
  };
  return (
    <Menu title="Views">
      {Object.keys(views).length === 0 ? <p className="hint">Save the filters, order and columns that you use often.</p> : null}
      <ul>
        {Object.entries(views).map(([one, query]) => (
          <li key={one}>
            <button className="plain" onClick={() => go(`/runs${query}`)}>
              {shown(one, 40)}
            </button>
            <button
              className="plain" aria-label={`Forget the view ${shown(one, 40)}`}
              onClick={() => change(Object.fromEntries(Object.entries(views).filter(([other]) => other !== one)))}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={save}>
        <input aria-label="Name of the view" placeholder="name" value={name} onChange={(event) => setName(event.target.value)} />
        <button disabled={name.trim() === ""}>Save this view</button>
      </form>
    </Menu>
  );
}
