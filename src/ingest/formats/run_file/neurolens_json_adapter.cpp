// The run file: our own tables as one JSON document, written by people, scripts and `neurolens export`. What
// it may hold is in model/run_file.h, how it is read in ingest/formats/run_file/run_file_reader.h.

#include "ingest/formats/run_file/run_file_reader.h"

namespace nl::ingest::neurolens_json_adapter {
namespace {

Sniffed sniff(std::string_view head, std::string_view) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return {};
  return {run_file_schema_in(head).empty() ? 0 : 1.0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  RunFileReader reader(sink, info, 1);
  NL_CHECK(reader.read(source, options));
  if (reader.faults().empty()) return {};
  return Error{ErrorCode::kBadInput,
               fault_text(reader.faults()[0]),
               "{} lists all faults",
               {{"schema", R"({"what": "validate", "target": "FILE"})"}}};
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      model::kRunFileFormat, 2, "NeuroLens run file (.json)", "run", {}, sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::neurolens_json_adapter
