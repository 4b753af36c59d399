// Addresses of pages that are opened as a file: behind the #, path and parameters alike.

import { useSyncExternalStore } from "react";
import { site } from "./data";

function current(): string {
  const hash = location.hash.slice(1);
  return hash.startsWith("/") ? hash : site().start;
}

function parts(): [string, string] {
  const [path, ...rest] = current().split("?");
  return [path as string, rest.join("?")];
}

function subscribe(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  addEventListener("popstate", changed);
  return () => {
    removeEventListener("hashchange", changed);
    removeEventListener("popstate", changed);
  };
}

function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, "", `#${to}`);
  else history.pushState(null, "", `#${to}`);
  dispatchEvent(new Event("hashchange"));
}

export function useHashPath(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => parts()[0]), navigate];
}

export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, () => parts()[1]);
}

export const hashLink = (href: string): string => `#${href}`;
