// Why a record is not in a recording, for people. The names are those of src/wire/record.h.

export const LOSS_REASONS: Readonly<Record<string, string>> = {
  ring_full: "the recorder did not keep up",
  no_ring: "more threads than the memory limit allows",
  names_full: "more different names than are kept",
  too_large: "attributes that are too long",
  reentered: "set inside of a signal handler",
  begin_lost: "ends of scopes whose begin was lost",
  foreign_end: "ends of scopes that another thread began",
  scope_reused: "scopes that were entered while they were open",
  disk_limit: "the recording is as large as it may become",
  overwritten: "older than the flight recorder keeps",
  damaged_ring: "memory that the program overwrote",
  sample_ring_full: "stack samples that came faster than they were read",
  too_many_stacks: "stack samples: more different stacks than are kept",
  unsupported: "calls of NVTX that are not known",
  too_deep: "scopes nested too deep",
  gpu_dropped: "the GPU's profiler had no buffer",
  gpu_buffer: "a buffer of the GPU's profiler that could not be read",
};

/** A reason that is not known here is said as it is named. */
export function lossReason(name: string): string {
  return LOSS_REASONS[name] ?? name.replaceAll("_", " ");
}
