// For the tests: an answer of a recording that runs.

import type { Live } from "./live_data";

export const TOLD: Live = {
  recording: "1-a", command: "neurolens record", state: "running", why: "", run_id: null, started_at_ns: 1n, now_ns: 5e9, newest_ns: 4.9e9, keep_ns: 30e9,
  totals: { recorded: 10, followed: 5, kept: 3, left: 2, open: 1, skipped: 0 }, lost: {}, behind_bytes: 0, missed_segments: 0, rate_per_s: 2, names_ns: 10e9,
  names: [], tracks: [], rows: [],
};
