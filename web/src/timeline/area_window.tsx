// The area as a window of other pages and tools, and the step that it lies in.

import type { ReactNode } from "react";
import { Link } from "wouter";
import { shown } from "../format/names";
import { OFFLINE } from "../offline/mode";
import { CopyAs } from "../parts/copy_as";
import { perfettoOf } from "./perfetto";
import type { Step } from "./steps";

export function AreaWindow({ id, window, step }: { id: string; window: string; step: Step | null }): ReactNode {
  const perfetto = perfettoOf(id, window);
  const ways = { "command to analyze": `neurolens analyze ${id.slice(0, 12)} --window ${window}`, "command for Perfetto": perfetto.command };
  if (OFFLINE) return <CopyAs ways={ways} />;
  return (
    <p className="area-window">
      <Link href={analysisOf(id, window)}>Analyze this stretch</Link>
      {step ? (
        <>
          {" "}
          or <Link href={analysisOf(id, step.window)}>all of {shown(step.label, 60)}</Link>
        </>
      ) : null}{" "}
      ·{" "}
      <a href={perfetto.address} download={perfetto.file}>
        Save it for Perfetto
      </a>
      <CopyAs ways={ways} />
    </p>
  );
}

function analysisOf(id: string, window: string): string {
  return `/runs/${id}?window=${encodeURIComponent(window)}`;
}
