// What the browser keeps for the next time. A page in a closed frame may keep nothing: it works without.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Next time all is as at first.
  }
}
