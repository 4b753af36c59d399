// A button that finds the longest call of a kernel and opens the time line there.

import { useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import type { KernelRow } from "../../api/answers_run";
import { longestLink } from "./longest";
import { errorText } from "./parts";

export function LongestCall({ id, kernel, words = "Longest call" }: { id: string; kernel: KernelRow; words?: string }): ReactNode {
  const [, go] = useLocation();
  const [said, setSaid] = useState("");
  const open = async () => {
    try {
      go(await longestLink(id, kernel));
    } catch (error) {
      setSaid(errorText(error));
    }
  };
  return (
    <>
      <button onClick={() => void open()}>{words}</button>
      {said ? <span role="alert">{said}</span> : null}
    </>
  );
}
