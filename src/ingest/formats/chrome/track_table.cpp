#include "ingest/formats/chrome/track_table.h"

#include "base/decimal.h"
#include "base/json.h"
#include "base/small_json.h"
#include "ingest/formats/chrome/trace_event.h"

namespace nl::ingest {
namespace {

using model::TableId;
namespace columns = model::tracks;

Error too_many() {
  return Error{ErrorCode::kLimit,
               "the trace names more than " + std::to_string(TrackTable::kMaxTracks) + " tracks"};
}

Error too_much_text(size_t bytes) {
  return Error{ErrorCode::kLimit,
               "the names of processes and threads take more than " + std::to_string(bytes >> 20) + " MB"};
}

bool is_about_process(const std::string& what) {
  return what.starts_with("process_");
}

/// Puts a member of the metadata args into a column; false if it is not of the expected type.
bool set_column(model::Batch& batch, size_t row, int column, const nlohmann::json& args, const char* member) {
  if (!args.is_object() || !args.contains(member) || args.size() != 1) return false;
  const auto& value = args[member];
  if (value.is_string()) {
    batch.set_text(TableId::tracks, row, column, value.get<std::string>());
  } else if (value.is_number_integer() && value <= INT64_MAX && column != columns::process_name &&
             column != columns::thread_name) {
    batch.set(TableId::tracks, row, column, value.get<int64_t>());
  } else {
    return false;
  }
  return true;
}

struct KnownName {
  const char* what;
  const char* member;
  int column;
  bool is_text;
};
constexpr KnownName kKnownNames[] = {
    {"process_name", "name", columns::process_name, true},
    {"process_labels", "labels", columns::process_labels, true},
    {"process_sort_index", "sort_index", columns::process_sort_index, false},
    {"thread_name", "name", columns::thread_name, true},
    {"thread_sort_index", "sort_index", columns::thread_sort_index, false},
};

void set_names(model::Batch& batch, size_t row, const std::map<std::string, std::string>& args,
               nlohmann::json& rest) {
  constexpr size_t kMaxParsedBytes = 1 << 20;
  for (const auto& [what, raw] : args) {
    const auto parsed = raw.size() > kMaxParsedBytes ? nlohmann::json(nlohmann::json::value_t::discarded)
                                                     : parse_small_json(raw);
    bool known = false;
    for (const KnownName& name : kKnownNames) {
      const bool fits = what == name.what && parsed.is_object() && parsed.contains(name.member) &&
                        parsed[name.member].is_string() == name.is_text;
      known = known || (fits && set_column(batch, row, name.column, parsed, name.member));
    }
    if (!known) rest[what] = parsed.is_discarded() ? nlohmann::json(raw) : parsed;
  }
}

}  // namespace

SourceId SourceId::of_token(std::string_view token) {
  std::string_view text = unquoted(token);
  int64_t number = 0;
  if (parse_int64(text, number)) return {number, {}};
  constexpr std::string_view kStream = "stream ";
  if (text.starts_with(kStream) && parse_int64(text.substr(kStream.size()), number)) return {number, {}};
  return {std::nullopt, std::string(text)};
}

Result<int32_t> TrackTable::id_of(const TrackKey& key) {
  const auto [it, is_new] = ids_.try_emplace(key, static_cast<int32_t>(keys_.size()));
  if (is_new) {
    if (keys_.size() >= kMaxTracks) return too_many();
    NL_CHECK(gather(key.process.text.size() + key.thread.text.size()));
    keys_.push_back(key);
  }
  return it->second;
}

Result<void> TrackTable::add_metadata(const TrackMetadata& metadata) {
  auto& names = is_about_process(metadata.what) ? processes_[metadata.process]
                                                : threads_[{metadata.process, metadata.thread}];
  const size_t bytes = metadata.what.size() + metadata.args.size();
  NL_CHECK(gather(bytes));  // what is said again counts again: bounded work as well as memory
  names.bytes += bytes;
  if (names.args.insert_or_assign(metadata.what, metadata.args).second && ++names_ > kMaxTracks)
    return too_many();
  return {};
}

Result<void> TrackTable::gather(size_t bytes) {
  text_bytes_ += bytes;
  if (text_bytes_ > kMaxTextBytes) return too_much_text(kMaxTextBytes);
  return {};
}

Result<void> TrackTable::write_row(model::Batch& batch, const TrackKey& key, bool named_only,
                                   std::optional<int32_t> rank) {
  constexpr auto kTable = TableId::tracks;
  const size_t row = batch.add_row(kTable);
  const bool device = key.domain == TrackDomain::kDevice;
  const bool numbered = key.process.number && (key.thread.number || named_only);
  const char* kind = named_only ? "process" : device ? "stream" : numbered ? "thread" : "other";
  batch.set_text(kTable, row, columns::kind, kind);
  const auto set_id = [&](const SourceId& id, int number_column, int text_column) {
    if (id.number) {
      batch.set(kTable, row, number_column, *id.number);
    } else {
      batch.set_text(kTable, row, text_column, id.text);
    }
  };
  set_id(key.process, columns::process_id, columns::source_process);
  if (!named_only) set_id(key.thread, columns::thread_id, columns::source_thread);
  // Some sources write -1 for a device that they do not know.
  if (device && key.process.number && *key.process.number >= 0 && *key.process.number <= INT32_MAX) {
    batch.set(kTable, row, columns::device, *key.process.number);
  }
  if (device && key.thread.number) batch.set(kTable, row, columns::stream, *key.thread.number);
  if (rank) batch.set(kTable, row, columns::rank, *rank);
  batch.set(kTable, row, columns::clock_id, 0);

  nlohmann::json rest = nlohmann::json::object();
  const auto name = [&](const Names& names) -> Result<void> {
    written_bytes_ += names.bytes;
    if (written_bytes_ > kMaxWrittenBytes) return too_much_text(kMaxWrittenBytes);
    set_names(batch, row, names.args, rest);
    return {};
  };
  if (const auto it = processes_.find(key.process); it != processes_.end()) NL_CHECK(name(it->second));
  if (const auto it = threads_.find({key.process, key.thread}); !named_only && it != threads_.end()) {
    NL_CHECK(name(it->second));
  }
  if (!rest.empty()) {
    batch.set_text(kTable, row, columns::args,
                   rest.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return {};
}

Result<std::shared_ptr<model::Batch>> TrackTable::write(std::optional<int32_t> rank) {
  // Names of threads without events become tracks, so that nothing the source said is lost.
  std::map<std::pair<SourceId, SourceId>, bool> has_track;
  std::map<SourceId, bool> has_process;
  for (const TrackKey& key : keys_) has_track[{key.process, key.thread}] = has_process[key.process] = true;
  for (const auto& [ids, names] : threads_) {
    if (has_track.contains(ids)) continue;
    NL_CHECK(id_of({TrackDomain::kHost, ids.first, ids.second}));
    has_process[ids.first] = true;
  }
  auto batch = std::make_shared<model::Batch>();
  for (const TrackKey& key : keys_) NL_CHECK(write_row(*batch, key, false, rank));
  for (const auto& [process, names] : processes_) {
    if (has_process.contains(process)) continue;
    NL_CHECK(write_row(*batch, {TrackDomain::kHost, process, {}}, true, rank));
  }
  return batch;
}

}  // namespace nl::ingest
