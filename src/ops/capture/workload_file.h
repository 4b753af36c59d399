#pragma once
// A workload as a YAML file: what to run, where, and what it is, so that a new model needs no code. The file
// is untrusted until it is run: at most 64 KiB, no anchors, aliases or type tags, and only the known keys.
//
//   command: [python3, generate.py, --batch, "{batch}"]
//   folder: ..                        # to work in, relative to the file; its own folder if not said
//   environment: {OMP_NUM_THREADS: 4}
//   values: {batch: 8}                # for {batch}; batch=16 on the command line replaces it
//   labels: {model: llama-3-8b, batch: "{batch}"}
//   range: LLM@decode                 # only this NVTX range is profiled, DOMAIN@RANGE or RANGE
//   phases: {prefill: LLM@prefill}    # NVTX ranges of prefill, decode and decode_step, for the reports
//   inputs: [prompts.json]            # files it reads, relative to the file; their hashes are kept
//   mode: light                       # what the options of `deep` of these names say, unless they are given
//   top: 3
//   nsys: host                        # a preset of data/presets, for ncu too
//   metrics: [dram__bytes.sum]        # counters besides those of the preset
//   allow: {seeds: the sampler draws from the device}   # not checked, and why (ops/capture/determinism.h)
//
// The values `iterations` and `warm_up` are how often the program does its work, and how often before that:
// --iterations and --warm-up replace them, and the program finds them as NEUROLENS_ITERATIONS and
// NEUROLENS_WARM_UP in its environment.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "capture/tools/nvtx_range.h"

namespace nl::ops {

struct Workload {
  std::vector<std::string> command = {};
  std::string folder = {};                         ///< empty: ours
  std::vector<std::string> environment = {};       ///< NAME=value
  std::map<std::string, std::string> values = {};  ///< as used
  std::map<std::string, std::string> labels = {};
  std::optional<capture::NvtxRange> range = {};
  std::vector<std::string> phases = {};  ///< prefill=LLM@prefill
  std::vector<std::string> inputs = {};  ///< paths
  // What the options of `deep` replace; empty: not said.
  std::string mode = {};
  std::optional<int64_t> top = {};
  std::string nsys = {}, ncu = {};
  std::vector<std::string> metrics = {};
  std::map<std::string, std::string> allow = {};  ///< checks of determinism that do not count, with reasons
};

/// The value of `iterations` or `warm_up` becomes a variable of the program, too.
Result<void> pass_turns_on(Workload& workload);

/// `overrides` are key=value: a key of `values` gets another value, any other is passed on to the command as
/// its last argument. `set` are key=value, too: values whether the file has them or not. `name` stands in
/// messages, with the line.
Result<Workload> parse_workload(const std::string& text, const std::string& name,
                                const std::vector<std::string>& overrides,
                                const std::vector<std::string>& set = {});

/// The same for a file, with paths relative to it made whole.
Result<Workload> read_workload(const Environment& surroundings, const std::string& path,
                               const std::vector<std::string>& overrides,
                               const std::vector<std::string>& set = {});

/// Is it the name of such a file, rather than of a program?
bool names_workload_file(const std::string& word);

}  // namespace nl::ops
