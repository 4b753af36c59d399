#pragma once
// Adds a run to a StackTree, as a performance engineer asks for it:
//   device 0; <ops and ranges around the launch>; kernel    device time, by the stack that launched it
//   thread NAME; span; span                                 host time that no inner span has (self time)
//   samples of thread NAME; frame; frame                    weights of stack samples
//   layers of the engine; layer                             time of the layers of a compiled engine
// So the sum below a device is the sum of the durations of its work, and the sum below a thread is the time
// in which any of its spans was open. Memory: the tree, and four bytes for each span that launched something.

#include <cstddef>

#include "base/result.h"
#include "exports/exporter.h"
#include "exports/stacks/stacks.h"

namespace nl::exports {

/// Which sum of a node takes what; kNowhere: none.
struct StackSums {
  static constexpr size_t kNowhere = SIZE_MAX;
  size_t device = 0;
  size_t host = 0;
  size_t samples = 0;
  size_t count = kNowhere;  ///< rows
};

struct StackOptions {
  StackSums sums = {};
  /// Threads of the same name are one, whatever their numbers, so that two runs can be compared.
  bool across_runs = false;
  /// Device, stream and shapes become a last frame (see is_labels) below the stacks that have them.
  bool with_labels = false;
};

/// `report` gets the rows that were written and what is lost.
Result<void> add_stacks(StackTree& tree, const ExportCall& call, const StackOptions& options,
                        ExportReport& report);
/// Counts what had no room in the tree, once all runs are in it.
void count_merged(const StackTree& tree, ExportReport& report);

/// Labels of a stack in the place of a frame: key, value, key, value …, each behind a kLabelSign, which no
/// name holds.
inline constexpr char kLabelSign = '\x1f';
inline bool is_labels(std::string_view frame) {
  return !frame.empty() && frame[0] == kLabelSign;
}

/// A frame of a folded line: without the semicolons and line ends that separate frames and lines.
std::string folded_frame(std::string_view name);

}  // namespace nl::exports
