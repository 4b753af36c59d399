// Keys of the time line. A key pressed in a field or a dialog is not ours.

import { useEffect, useRef } from "react";
import { isTyping } from "../parts/keys";

export type Actions = Record<string, () => void>;

/** Space presses what has the focus: a button keeps it. */
const PRESSED_BY_SPACE = "button, a, summary, label, [role=button], [role=option]";

export function useKeys(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const element = event.target as HTMLElement;
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.key.startsWith("Arrow") && element.closest(".details")) return; // it scrolls
      if (event.key === " " && element.closest(PRESSED_BY_SPACE)) return;
      const act = latest.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
