// The field for SQL, with names of tables and columns offered while one types.

import { useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import type { Table } from "../../api/answers_pages";
import { shown } from "../../format/names";
import { completed, completions } from "./completion";

export function Editor(props: { sql: string; setSql: (sql: string) => void; start: () => void; tables: Table[];
  field: RefObject<HTMLTextAreaElement | null> }): ReactNode {
  const { sql, setSql, start, tables, field } = props;
  const [cursor, setCursor] = useState(-1); // where words are offered; -1: nowhere
  const [active, setActive] = useState(0);
  const place = useRef<number | null>(null);
  const list = useId();
  const offered = cursor < 0 ? [] : completions(sql, cursor, tables);
  useLayoutEffect(() => {
    if (place.current === null) return;
    field.current?.setSelectionRange(place.current, place.current);
    place.current = null;
  });
  const take = (text: string) => {
    const next = completed(sql, cursor, text);
    place.current = next.cursor;
    setSql(next.sql);
    setCursor(-1);
    field.current?.focus();
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      setCursor(-1);
      start();
    } else if (event.key === " " && event.ctrlKey) setCursor(event.currentTarget.selectionStart);
    else if (offered.length === 0) return;
    else if (event.key === "Tab" && !event.shiftKey) take((offered[active] ?? offered[0])?.text ?? "");
    else if (event.key === "ArrowDown") setActive((active + 1) % offered.length);
    else if (event.key === "ArrowUp") setActive((active + offered.length - 1) % offered.length);
    else if (event.key === "Escape") setCursor(-1);
    else return;
    event.preventDefault();
  };
  return (
    <div className="editor">
      <textarea
        ref={field} rows={5} spellCheck={false} value={sql} aria-label="Question in SQL" aria-autocomplete="list" aria-controls={list}
        aria-activedescendant={offered.length > 0 ? `${list}-${active}` : undefined}
        onChange={(event) => {
          setSql(event.target.value);
          setCursor(event.target.selectionStart);
          setActive(0);
        }}
        onBlur={() => setCursor(-1)} onKeyDown={press}
      />
      <ul id={list} role="listbox" aria-label="Names" hidden={offered.length === 0}>
        {offered.map((one, n) => (
          <li key={one.text} id={`${list}-${n}`} role="option" aria-selected={n === active} onPointerDown={(event) => event.preventDefault()}
            onClick={() => take(one.text)}>
            <span className="mono">{one.text}</span> <span className="hint">{shown(one.detail || "SQL", 70)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
