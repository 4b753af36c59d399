#pragma once
// Adapter: one profiler format. Each src/ingest/adapters/<format>.cpp defines adapter_<format>(); the build
// lists them.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/byte_source.h"
#include "model/run_info.h"
#include "model/run_sink.h"

namespace nl::ingest {

struct ReadOptions {
  int threads = 1;                ///< parser threads; never changes the rows
  size_t window_bytes = 1 << 20;  ///< text parsed at once; never changes the rows
  std::function<void(const ByteSource&)> progress = [](const ByteSource&) {};
  std::function<bool()> cancelled = [] { return false; };
};

struct Adapter {
  std::string_view format;       ///< name in run.json and for --format
  int version;                   ///< raised when the same bytes give other rows
  std::string_view description;  ///< one line for people
  std::string_view role;         ///< role of the file in a run, part of the run id
  /// How sure this adapter is that the input is its own: 0 (no) to 1. `head` are the first decompressed
  /// bytes.
  double (*sniff)(std::string_view head, std::string_view file_name);
  Result<void> (*read)(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                       model::RunInfo& info);
};

/// All adapters, in the order of their names.
std::vector<const Adapter*> all_adapters();

/// The adapter for the input; `format` overrules sniffing. A tie or no match is an error that lists the
/// candidates.
Result<const Adapter*> choose_adapter(std::string_view head, std::string_view file_name,
                                      std::string_view format);

}  // namespace nl::ingest
