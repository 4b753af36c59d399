// A window of a run as a file for Perfetto: where it is, what it is called, and how a command line makes it.

import { shellWord } from "../parts/copy_as";

export function perfettoOf(id: string, window: string): { file: string; address: string; command: string } {
  const file = `${id.slice(0, 12)}${window === "whole" ? "" : `-${window.replace(/[:.]+/g, "-")}`}.perfetto-trace`;
  return {
    file,
    address: `api/v1/export?${new URLSearchParams({ run: id, format: "perfetto", window }).toString()}`,
    command: `neurolens export ${id.slice(0, 12)} --format perfetto --window ${shellWord(window)} --output ${shellWord(file)}`,
  };
}
