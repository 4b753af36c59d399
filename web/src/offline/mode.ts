// Are these the pages that need no server? Their answers were recorded when they were written (src/ops/site).

export const OFFLINE = import.meta.env.MODE === "offline";
