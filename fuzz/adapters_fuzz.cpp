// Fuzz harness over every adapter. The first two bytes of the input are options (see Options), the rest is
// the file. NEUROLENS_FUZZ_ADAPTER in the environment gives every file to one adapter. Each file is read
// twice, with other window sizes and threads: both reads must keep the promises of the tables, close the
// accounting law and give the same rows. A broken promise is printed and traps.

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ingest/adapter.h"
#include "ingest/source/byte_source.h"
#include "model/batch.h"
#include "model/run_file.h"
#include "model/run_info.h"
#include "model/run_sink.h"
#include "model/tables.h"
#include "wire/recording.h"

namespace nl {
namespace {

using model::kNull;
using model::TableId;
using model::Type;

[[noreturn]] void fail(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  __builtin_trap();
}

void require(bool kept, const char* promise, const model::Table& table, const model::Column& column) {
  if (!kept) fail(std::string(promise) + ": " + std::string(table.name) + "." + std::string(column.name));
}

// ---- Options

/// Bits of byte 0: 0-1 window of the first read, 2 its threads, 3 adapter forced instead of sniffed, 4-6
/// spread. Bits of byte 1: 0-3 number of the forced adapter, in the order of their names, 4-7 forced role.
struct Options {
  static constexpr size_t kBytes = 2;
  /// What a file may be besides what it looks like; empty: as sniffed.
  static constexpr std::string_view kRoles[] = {"", "device", "layers", "profile", "summary", "times"};
  static constexpr size_t kWindows[] = {64 << 10, 128 << 10, 256 << 10, 1 << 20};

  explicit Options(const uint8_t* bytes)
      : window(bytes[0] & 3),
        threads((bytes[0] & 4) != 0 ? 2 : 1),
        forced((bytes[0] & 8) != 0),
        spread(static_cast<size_t>(bytes[0] >> 4 & 7) * (10 << 10)),
        adapter(bytes[1] & 15),
        role(kRoles[static_cast<size_t>(bytes[1] >> 4) % std::size(kRoles)]) {}

  /// Both reads differ in the window and in the number of threads.
  ingest::ReadOptions read_options(bool second) const {
    ingest::ReadOptions options;
    options.window_bytes = kWindows[second ? 3 - window : window];
    options.threads = second ? 3 - threads : threads;
    return options;
  }

  size_t window;
  int threads;
  bool forced;
  size_t spread;  ///< blanks put behind each line break
  size_t adapter;
  std::string_view role;
};

/// Windows are at least 64 KB, so small inputs never meet a border. Blanks behind line breaks, where JSON
/// allows them, move borders between the lines.
std::string spread_lines(std::string_view text, size_t blanks) {
  constexpr size_t kMaxBytes = 400 << 10;
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n' && out.size() + blanks < kMaxBytes) out.append(blanks, ' ');
  }
  return out;
}

// ---- The promises of the tables

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if ((length == 4 && (lead < 0xF0 || lead > 0xF4)) || i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t k = 1; k < length; k++) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3F);
    }
    const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (too_long || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    i += length;
  }
  return true;
}

/// Numbers beyond the range of double are JSON all the same.
bool is_json(std::string_view text) {
  if (nlohmann::json::accept(text)) return true;
  try {
    return !nlohmann::json::parse(text).is_discarded();
  } catch (const nlohmann::json::out_of_range&) {
    return true;
  } catch (const nlohmann::json::parse_error&) {
    return false;
  }
}

uint64_t mix(uint64_t hash, uint64_t value) {
  return std::rotl((hash ^ value) * 0x9E3779B97F4A7C15u, 29);
}

uint64_t mix(uint64_t hash, std::string_view text) {
  hash = mix(hash, text.size());
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

/// Rows of one table: their number and a hash that does not depend on the borders of batches.
struct Digest {
  uint64_t rows = 0;
  uint64_t hash = 0;
  bool operator==(const Digest&) const = default;
};

/// Checks every cell that passes.
class CheckingSink final : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    if (!batch) fail("batch is there");
    check_strings(*batch);
    for (size_t t = 0; t < model::kTableCount; t++) check_rows(static_cast<TableId>(t), *batch);
    return {};
  }

  /// After a successful read.
  void check_tracks() const {
    const auto tracks = static_cast<int64_t>(digest(TableId::tracks).rows);
    if (max_track_ >= tracks) fail("track_id has a row in tracks: " + std::to_string(max_track_));
  }

  const Digest& digest(TableId id) const { return digests_[static_cast<size_t>(id)]; }

 private:
  void check_strings(const model::Batch& batch) {
    hashes_.clear();
    for (const std::string_view text : batch.strings) {
      if (!is_utf8(text)) fail("strings are UTF-8");
      hashes_.push_back(mix(1, text));
    }
    json_checked_.assign(batch.strings.size(), false);
  }

  void check_rows(TableId id, const model::Batch& batch) {
    const model::Table& table = model::table(id);
    const model::Rows& rows = batch.rows(id);
    Digest& digest = digests_[static_cast<size_t>(id)];
    digest.rows += rows.size();
    for (size_t row = 0; row < rows.size(); row++) {
      for (size_t c = 0; c < table.columns.size(); c++) {
        const int64_t cell = rows.cell(row, static_cast<int>(c));
        digest.hash = mix(digest.hash, cell == kNull ? 0 : check_cell(batch, table, table.columns[c], cell));
      }
    }
  }

  /// What the cell means, as a number that other batches share.
  uint64_t check_cell(const model::Batch& batch, const model::Table& table, const model::Column& column,
                      int64_t cell) {
    switch (column.type) {
      case Type::dict:
      case Type::json:
        return check_text(batch, table, column, cell);
      case Type::track:
        require(cell >= 0 && static_cast<size_t>(cell) < batch.track_ids.size(), "track cell in range", table,
                column);
        return check_track(batch.track_ids[static_cast<size_t>(cell)]);
      case Type::span_kind:
        require(cell >= 0 && static_cast<size_t>(cell) < std::size(model::kSpanKinds), "span kind in range",
                table, column);
        break;
      case Type::i32:
        require(cell == static_cast<int32_t>(cell), "i32 cell fits", table, column);
        break;
      case Type::row_id:
      case Type::i64:
      case Type::f64:
        break;
    }
    if (column.name == "dur_ns") require(cell >= 0, "duration is not negative", table, column);
    return mix(2, static_cast<uint64_t>(cell));
  }

  uint64_t check_text(const model::Batch& batch, const model::Table& table, const model::Column& column,
                      int64_t cell) {
    require(cell >= 0 && static_cast<size_t>(cell) < batch.strings.size(), "string cell in range", table,
            column);
    const auto number = static_cast<size_t>(cell);
    if (model::holds_json(column) && !json_checked_[number]) {
      require(is_json(batch.strings[number]), "cell is JSON", table, column);
      json_checked_[number] = true;
    }
    return hashes_[number];
  }

  uint64_t check_track(int32_t track) {
    if (track < 0) fail("track_id is not negative");
    max_track_ = std::max<int64_t>(max_track_, track);
    return mix(3, static_cast<uint64_t>(track));
  }

  std::array<Digest, model::kTableCount> digests_;
  std::vector<uint64_t> hashes_;  // of the batch's strings
  std::vector<bool> json_checked_;
  int64_t max_track_ = -1;
};

// ---- Two reads

struct Outcome {
  bool opened = false;
  bool read = false;
  CheckingSink sink;
  model::RunInfo info;
};

/// The adapter that the environment asks for; empty if it asks for none.
std::string_view only_adapter() {
  const char* const name = std::getenv("NEUROLENS_FUZZ_ADAPTER");
  return name == nullptr ? "" : name;
}

Result<ingest::ChosenAdapter> adapter_for(const Options& options, std::string_view head) {
  const auto all = ingest::all_adapters();
  std::string_view format = only_adapter();
  if (format.empty() && options.forced) format = all[options.adapter % all.size()]->format;
  auto chosen = ingest::choose_adapter(head, "trace.json", format);
  if (chosen && !format.empty() && !options.role.empty()) chosen->role = options.role;
  return chosen;
}

/// What the run document is made from must be text that JSON can hold, and unknown is never below zero.
void check_info(const model::RunInfo& info) {
  const nlohmann::json texts = {info.extensions, info.versions, info.hosts, info.records_by_category};
  if (texts.dump().empty()) fail("the document has text");
  for (const model::Device& device : info.devices) {
    if (device.memory_bytes.value_or(0) < 0) fail("memory of a device is not negative");
    if (device.multiprocessors.value_or(0) < 0) fail("multiprocessors of a device are not negative");
    if (nlohmann::json(device.name).dump().empty()) fail("the device has a name that JSON can hold");
  }
  for (const model::Window& window : info.windows) {
    if (window.dur_ns < 0) fail("duration of a window is not negative");
  }
}

Outcome read_once(const Options& options, bool second, std::string_view bytes) {
  Outcome outcome;
  auto source = ingest::open_memory(bytes);
  if (!source) return outcome;
  const auto chosen = adapter_for(options, (*source)->head());
  if (!chosen) return outcome;
  outcome.opened = true;
  ingest::ReadOptions read = options.read_options(second);
  read.role = chosen->role;
  outcome.read = chosen->adapter->read(**source, read, outcome.sink, outcome.info).has_value() &&
                 (*source)->drain().has_value();
  if (!outcome.read) return outcome;
  if (!outcome.info.counts.closes()) fail("seen = stored + folded + dropped");
  outcome.sink.check_tracks();
  check_info(outcome.info);
  return outcome;
}

void compare_counts(const model::RunInfo& a, const model::RunInfo& b) {
  const auto same = [](bool equal, const char* what) {
    if (!equal) fail(std::string("windows and threads do not change ") + what);
  };
  same(a.counts.seen == b.counts.seen, "counts.seen");
  same(a.counts.stored == b.counts.stored, "counts.stored");
  same(a.counts.folded == b.counts.folded, "counts.folded");
  same(a.counts.dropped == b.counts.dropped, "counts.dropped");
  same(a.records_by_phase == b.records_by_phase, "records_by_phase");
  same(a.records_by_category == b.records_by_category, "records_by_category");
  same(a.health == b.health, "health");
  same(a.windows_seen == b.windows_seen, "windows_seen");
  same(a.devices.size() == b.devices.size(), "devices");
  same(a.extensions == b.extensions, "extensions");
}

void compare(const Outcome& a, const Outcome& b) {
  if (a.read != b.read) fail("windows and threads do not change whether the file can be read");
  if (!a.read) return;
  for (size_t t = 0; t < model::kTableCount; t++) {
    const auto id = static_cast<TableId>(t);
    if (a.sink.digest(id) == b.sink.digest(id)) continue;
    fail("windows and threads do not change the rows of " + std::string(model::table(id).name));
  }
  compare_counts(a.info, b.info);
}

}  // namespace
}  // namespace nl

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  nl::wire::checks_sums = false;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < nl::Options::kBytes) return -1;
  const nl::Options options(data);
  const std::string_view file(reinterpret_cast<const char*>(data) + nl::Options::kBytes,
                              size - nl::Options::kBytes);
  const std::string bytes = nl::spread_lines(file, options.spread);
  const nl::Outcome first = nl::read_once(options, false, bytes);
  if (first.opened) nl::compare(first, nl::read_once(options, true, bytes));
  return 0;
}
