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

/** The whole address: in a frame that has its text from an attribute, one that begins with # would be of the page around it. */
function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const address = `${document.URL.split("#")[0] as string}#${to}`;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event("hashchange"));
}

export function useHashPath(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => parts()[0]), navigate];
}

export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, () => parts()[1]);
}

export const hashLink = (href: string): string => `#${href}`;
