import { useEffect, useRef, useState, type ReactNode } from "react";

const ALL: [string, string][] = [
  ["W S, wheel, pinch", "zoom in and out at the cursor"],
  ["A D, drag", "move"],
  ["F", "fit the selection; again: the whole run"],
  ["/", "search, then N and ⇧N"],
  [". ,", "next and previous of this name on this row"],
  ["← → ↑ ↓", "next span of the row, span on the next row"],
  ["M, ⇧M", "measure the selection: spans, sampled functions, counters; on another span: up to it; clear"],
  ["P", "pin the row of the selection"],
  ["G", "go to a time or a row of a table; counters say their value there"],
  ["E", "open this window in Perfetto"],
  ["T, then Ctrl Enter", "write a note on the selected span, and add it"],
  ["[ ]", "previous and next step"],
  ["Ctrl K", "go to a page, a run or an action"],
  ["↑ ↓, space, Enter", "in the list of runs: move, choose, open"],
  ["Arrows, Enter, Esc", "in a flame graph: move, zoom in, zoom out"],
  ["Space", "on a live recording: pause, follow again"],
  ["Ctrl Enter", "ask the question in SQL"],
  ["?", "this list"],
  ["Esc", "one level back"],
];

export function isTyping(event: KeyboardEvent): boolean {
  const element = event.target as HTMLElement;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) || element.isContentEditable;
}

/** The list of keys, on every page. */
export function Keys(): ReactNode {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event)) setOpen(true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} className="keys" onClose={() => setOpen(false)} aria-label="Keys">
      <h2>Keys</h2>
      <table>
        <tbody>
          {ALL.map(([key, what]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}
