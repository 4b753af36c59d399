import type { ReactNode } from "react";

const BADGES = { worse: "regression", better: "improvement", changed: "" };
const WORDS = { worse: "▲ Worse", better: "▼ Better", changed: "≠ Changed" };

export function Meaning({ of }: { of: keyof typeof WORDS }): ReactNode {
  return <span className={`badge ${BADGES[of]}`}>{WORDS[of]}</span>;
}
