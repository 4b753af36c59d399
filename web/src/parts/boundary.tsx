// A fault while a page is drawn ends that page, not all of them: it says what happened, and the next address is tried again.

import { Component, type ErrorInfo, type ReactNode } from "react";
import { AskError } from "../api/ask";
import { Failure } from "./state";

interface Props {
  path: string;
  children: ReactNode;
}

interface State {
  path: string;
  error: unknown;
  hasFailed: boolean;
}

export class Boundary extends Component<Props, State> {
  override state: State = { path: this.props.path, error: null, hasFailed: false };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error, hasFailed: true };
  }

  /** Not by a key of React: that would also make pages anew that are fine, and a tab that was clicked would lose the focus. */
  static getDerivedStateFromProps(props: Props, state: State): State | null {
    return props.path === state.path ? null : { path: props.path, error: null, hasFailed: false };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    console.error(error, info.componentStack);
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <main id="main" data-ready="true">
        <h1>This page cannot be shown</h1>
        <Failure error={failureOf(this.state.error)} retry={() => location.reload()} retryWords="Reload" />
      </main>
    );
  }
}

/** A part of the pages that is not there any more: the tab is older than the server. */
export function failureOf(error: unknown): unknown {
  const text = error instanceof Error ? error.message : String(error);
  if (!/dynamically imported module|module script|preload CSS/i.test(text)) return error;
  return new AskError("unavailable", "A part of this page could not be loaded.", "The server may have been updated or ended since this tab was opened. Reload the page.", 0);
}
