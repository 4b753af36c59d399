#pragma once
// Adapter: reads one profiler format. Each src/ingest/formats/<folder>/<name>_adapter.cpp defines
// adapter_<name>(); the build generates the list of them.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/process_tracks.h"
#include "ingest/source/byte_source.h"
#include "model/run_info.h"
#include "model/run_sink.h"

namespace nl::ingest {

struct ReadOptions {
  int threads = 1;                   ///< parser threads; never changes the rows
  size_t window_bytes = 1 << 20;     ///< text parsed at once; never changes the rows
  std::string_view role = {};        ///< what the file is, as its adapter sniffed it
  std::string temp_folder = "/tmp";  ///< for copies of inputs that must be read here and there
  ProcessTracks* tracks = nullptr;   ///< of the files of the same process, where the adapter shares them
  std::function<void(const ByteSource&)> progress = [](const ByteSource&) {};
  std::function<bool()> cancelled = [] { return false; };
};

/// How sure an adapter is that an input is its own: 0 (no) to 1, and which of the files of a run it is.
struct Sniffed {
  double sure = 0;
  std::string_view role = {};  ///< empty: the adapter's usual one
};

struct Adapter {
  std::string_view format;       ///< name in run.json and for --format
  int version;                   ///< raised when the same bytes give other rows
  std::string_view description;  ///< one line for people
  std::string_view role;         ///< usual role of a file in a run, part of the run id
  /// Words in file names that tell the files of one run apart, e.g. profile and layer; empty if a run is one
  /// file.
  std::span<const std::string_view> part_words;
  /// `head` are the first decompressed bytes.
  Sniffed (*sniff)(std::string_view head, std::string_view file_name);
  /// May be called for several files of one run, each with an info of its own.
  Result<void> (*read)(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                       model::RunInfo& info);
  /// The files of a run are of one process: they have their clock, correlation ids and tracks in common.
  bool shares_process = false;
};

/// All adapters, in the order of their names.
std::vector<const Adapter*> all_adapters();

struct ChosenAdapter {
  const Adapter* adapter;
  std::string_view role;
};

/// The adapter for the input; `format` overrules sniffing. A tie or no match is an error that lists the
/// candidates.
Result<ChosenAdapter> choose_adapter(std::string_view head, std::string_view file_name,
                                     std::string_view format);

}  // namespace nl::ingest
