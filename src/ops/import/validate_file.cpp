#include "ops/import/validate_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/json.h"
#include "base/small_json.h"
#include "ingest/formats/run_file/run_file_reader.h"
#include "store/bundle_check.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 256;

class NoSink final : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch>) override { return {}; }
};

/// Faults of the text itself are part of the answer; what keeps us from reading it is an error.
Result<void> take_error(Error error, std::vector<JsonFault>& faults) {
  const bool of_text = error.code == ErrorCode::kBadInput || error.code == ErrorCode::kLimit;
  if (!of_text) return error;
  faults.push_back({"", std::move(error.message)});
  return {};
}

Result<std::vector<JsonFault>> run_file_faults(Context& context, ingest::ByteSource& source) {
  NoSink sink;
  model::RunInfo info;
  ingest::ReadOptions options;
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.temp_folder = context.environment->temp_folder();
  options.cancelled = context.cancelled;
  ingest::RunFileReader reader(sink, info, kMaxShownFaults);
  Result<void> read = reader.read(source, options);
  if (read) read = source.drain();
  std::vector<JsonFault> faults = reader.faults();
  if (!read) NL_CHECK(take_error(std::move(read.error()), faults));
  if (faults.size() > kMaxShownFaults) faults.resize(kMaxShownFaults);
  return faults;
}

Result<std::string> whole_text(ingest::ByteSource& source) {
  std::string text;
  std::string piece(1 << 16, '\0');
  for (;;) {
    NL_TRY(const size_t n, source.read(piece.data(), piece.size()));
    if (n == 0) return text;
    text.append(piece, 0, n);
    if (std::cmp_greater(text.size(), store::kMaxRunDocument))
      return Error{ErrorCode::kLimit, "too large for a run.json"};
  }
}

Result<std::vector<JsonFault>> run_faults(ingest::ByteSource& source) {
  NL_TRY(const std::string text, whole_text(source));
  json document = parse_small_json(text, kMaxDepth);
  if (document.is_discarded()) return std::vector<JsonFault>{{"", "the JSON is not valid"}};
  return store::run_document_faults(std::move(document), kMaxShownFaults);
}

/// Ours begin with the capture, whatever their size.
bool looks_like_run_document(std::string_view head) {
  if (!ingest::run_file_schema_in(head).empty()) return false;
  return head.starts_with("{\"capture\"") || head.find("\"neurolens.run/") != std::string_view::npos;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<Validation> validate_path(Context& context, const std::string& path) {
  if (is_folder(path)) {
    NL_TRY(auto faults, store::bundle_faults(path, kMaxShownFaults));
    return Validation{"bundle", std::move(faults)};
  }
  NL_TRY(auto source, ingest::open_file(path));
  const bool is_run = looks_like_run_document(source->head());
  NL_TRY(auto faults, is_run ? run_faults(*source) : run_file_faults(context, *source));
  return Validation{is_run ? "run" : "run-file", std::move(faults)};
}

}  // namespace nl::ops
