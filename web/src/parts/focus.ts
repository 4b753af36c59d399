/** Gives the focus to the first of these places once the page is drawn anew, if what had it is gone by then. */
export function focusAfter(...selectors: (string | null)[]): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      for (const one of selectors) {
        const place = one === null ? null : document.querySelector<HTMLElement>(one);
        if (place) return place.focus();
      }
    }),
  );
}
