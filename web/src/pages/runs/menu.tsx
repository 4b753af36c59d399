import { useEffect, useRef, type ReactNode } from "react";

/** A box that opens below its title; Escape and a click elsewhere close it. */
export function Menu({ title, children }: { title: string; children: ReactNode }): ReactNode {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isOutside = !box.current?.contains(event.target as Node);
      if (box.current && (isOutside || (event instanceof KeyboardEvent && event.key === "Escape"))) box.current.open = false;
    };
    window.addEventListener("pointerdown", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("pointerdown", close);
      window.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details ref={box} className="menu">
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
