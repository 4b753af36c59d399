#pragma once
// Sidecar: neurolens.yaml beside a profile, or <profile>.neurolens.yaml for one profile. The input is
// untrusted: at most 64 KiB, no anchors, aliases or type tags, and no nesting beyond what the known keys
// need.
// Others may write to the folder of a profile, such as /tmp: only a file of the caller or of root is taken.
//
//   labels: {model: llama-3-8b, batch: 8}
//   tags: [nightly]
//   note: text, or notes: [text, text]

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace nl::ops {

struct Sidecar {
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> tags = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> files = {};        ///< that were taken
  std::vector<std::string> passed_over = {};  ///< of other users

  bool found() const { return !files.empty(); }
};

/// `name` stands in messages, with the line.
Result<Sidecar> parse_sidecar(const std::string& text, const std::string& name);

/// What lies beside the profile. What is said for the one file counts before what is said for its folder.
Result<Sidecar> read_sidecars(const std::string& profile);

}  // namespace nl::ops
