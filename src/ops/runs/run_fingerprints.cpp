#include "ops/runs/run_fingerprints.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/files.h"
#include "base/permissions.h"
#include "base/private_folder.h"
#include "ops/runs/run_measures.h"

namespace nl::ops {
namespace {

using fingerprint::Mask;
using fingerprint::NewRow;
using fingerprint::PivotIndex;
using fingerprint::RowBlock;
using fingerprint::RowKey;
using fingerprint::SearchedBlock;

constexpr size_t kRunsAtOnce = 256;
constexpr size_t kRowsWorthAnIndex = 200'000;
constexpr size_t kDeadWorthWriting = 1000;
constexpr char kRowsEnd[] = ".rows";

/// The first digits of the hash of run.json: another one, and the run was imported again.
uint64_t stamp_of(const std::string& document_sha256) {
  return std::strtoull(document_sha256.substr(0, 16).c_str(), nullptr, 16);
}

std::string version_folder() {
  return "v" + std::to_string(fingerprint::kVersion) + "-" + measures_version();
}

struct IdHash {
  size_t operator()(const std::array<uint8_t, 32>& id) const {
    size_t hash;
    static_assert(sizeof(hash) <= 32);
    std::copy_n(id.begin(), sizeof(hash), reinterpret_cast<uint8_t*>(&hash));
    return hash;
  }
};

/// What the ledger says of its runs, against what the rows say.
class Wanted {
 public:
  static Result<Wanted> of(store::Ledger& ledger) {
    Wanted out;
    NL_TRY(const auto ids, ledger.index().all_ids());
    NL_TRY(const auto documents, ledger.state().documents());
    for (const std::string& id : ids) {
      const auto document = documents.find(id);
      const auto key = fingerprint::row_key(id, document == documents.end() ? 0 : stamp_of(document->second));
      if (key) out.runs_.emplace(key->run_id, Run{key->stamp, false});
    }
    return out;
  }

  /// True once for each run, if the row is of what the ledger holds now.
  bool take(const RowKey& key) {
    const auto it = runs_.find(key.run_id);
    if (it == runs_.end() || it->second.stamp != key.stamp || it->second.found) return false;
    it->second.found = true;
    found_++;
    return true;
  }

  /// Those without a row, sorted.
  std::vector<RowKey> missing() const {
    std::vector<RowKey> keys;
    for (const auto& [id, run] : runs_) {
      if (!run.found) keys.push_back({id, run.stamp});
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  int64_t found() const { return found_; }

  void start_over() {
    for (auto& [id, run] : runs_) run.found = false;
    found_ = 0;
  }

 private:
  struct Run {
    uint64_t stamp;
    bool found;
  };
  std::unordered_map<std::array<uint8_t, 32>, Run, IdHash> runs_;
  int64_t found_ = 0;
};

void mark_dead(SearchedBlock& block, Wanted& wanted) {
  block.dead.assign(block.rows.size(), false);
  for (size_t row = 0; row < block.rows.size(); row++) block.dead[row] = !wanted.take(block.rows.key(row));
}

bool is_worth_writing_anew(const SearchedBlock& block) {
  const auto dead = static_cast<size_t>(std::count(block.dead.begin(), block.dead.end(), true));
  return dead > kDeadWorthWriting && dead * 4 > block.rows.size();
}

/// Writes the file without the rows that do not count any more. If that fails, they stay dead.
void drop_dead(SearchedBlock& block, const std::string& path) {
  std::vector<size_t> kept;
  for (size_t row = 0; row < block.rows.size(); row++) {
    if (!block.dead[row]) kept.push_back(row);
  }
  const RowBlock& rows = block.rows;
  const auto written = fingerprint::write_rows(path, rows.mask(), kept.size(), [&](size_t i) {
    const float* from = rows.vector(kept[i]);
    return NewRow{rows.key(kept[i]), std::vector<float>(from, from + rows.columns())};
  });
  if (!written) return;
  auto again = RowBlock::open(path);
  if (again && again->size() == kept.size()) block = SearchedBlock{std::move(again).value()};
}

std::optional<PivotIndex> index_of(const RowBlock& rows, const std::string& path) {
  auto index = PivotIndex::open(rows, path);
  return index ? std::optional<PivotIndex>(std::move(index).value()) : std::nullopt;
}

/// Large blocks get an index once most of their rows have none.
Result<SearchedBlock> open_block(Context& context, const std::string& path, bool may_write) {
  NL_TRY(RowBlock rows, RowBlock::open(path));
  auto index = index_of(rows, path);
  const size_t indexed = index ? index->size() : 0;
  if (may_write && rows.size() >= kRowsWorthAnIndex && indexed * 2 < rows.size()) {
    context.progress({"sorting fingerprints", 0});
    if (PivotIndex::build(rows, path)) {
      NL_TRY(rows, RowBlock::open(path));
      index = index_of(rows, path);
    }
  }
  return SearchedBlock{std::move(rows), std::move(index)};
}

class Filling {
 public:
  Filling(Context& context, store::Ledger& ledger)
      : context_(context),
        ledger_(ledger),
        folder_(ledger.folder() + "/fingerprints/" + version_folder()),
        may_write_(ledger.may_write().has_value()) {}

  Result<LedgerFingerprints> run() {
    if (may_write_) {
      may_write_ = make_shared_folders(folder_).has_value();
      drop_other_versions();
    }
    NL_TRY(Wanted wanted, Wanted::of(ledger_));
    open_blocks(folder_, wanted);
    const auto missing = wanted.missing();
    if (!missing.empty()) {
      out_.blocks.clear();
      if (!may_write_) NL_CHECK(make_temporary());
      NL_CHECK(add_missing(missing));
      wanted.start_over();
      open_blocks(folder_, wanted);
      if (temporary_) open_blocks(temporary_->path(), wanted);
    }
    out_.runs = wanted.found();
    return std::move(out_);
  }

 private:
  void drop_other_versions() const {
    const std::string all = ledger_.folder() + "/fingerprints";
    for (const auto& name : list_folder(all)) {
      if (name != version_folder()) remove_tree(fmt::format("{}/{}", all, name));
    }
  }

  void open_blocks(const std::string& folder, Wanted& wanted) {
    for (const auto& name : list_folder(folder)) {
      if (!name.ends_with(kRowsEnd)) continue;
      const std::string path = fmt::format("{}/{}", folder, name);
      auto block = open_block(context_, path, may_write_);
      if (block) {
        mark_dead(*block, wanted);
        if (may_write_ && is_worth_writing_anew(*block)) drop_dead(*block, path);
        out_.blocks.push_back(std::move(block).value());
      } else if (may_write_ && block.error().code == ErrorCode::kBadInput) {
        ::unlink(path.c_str());  // its runs are missing now and come again
      }
    }
  }

  /// For rows that cannot be kept, because the ledger is only read or its disk is full.
  Result<void> make_temporary() {
    NL_TRY(auto made, make_private_folder(*context_.environment, PrivateUse::kFiles));
    temporary_.emplace(std::move(made));
    return {};
  }

  Result<void> add_missing(const std::vector<RowKey>& missing) {
    for (size_t i = 0; i < missing.size(); i++) {
      if (context_.cancelled()) return cancelled_error();
      context_.progress({"fingerprints", static_cast<double>(i) / static_cast<double>(missing.size())});
      add(missing[i]);
      if (i % kRunsAtOnce == kRunsAtOnce - 1 || i + 1 == missing.size()) NL_CHECK(write());
    }
    return {};
  }

  void add(const RowKey& key) {
    const std::string id = run_id_text(key);
    const auto print = run_fingerprint(listed_run(context_, ledger_, id));
    if (!print) {
      if (ledger_.has(id)) out_.unreadable.push_back(id);  // else it was dropped meanwhile
      return;
    }
    rows_[print->present].push_back({key, packed(*print, print->present)});
    out_.computed++;
  }

  Result<void> write() {
    for (const auto& entry : rows_) {
      const auto append = [&] {
        const auto& [mask, rows] = entry;
        const std::string& folder = temporary_ ? temporary_->path() : folder_;
        return fingerprint::append_rows(fmt::format("{}/{:08x}{}", folder, mask, kRowsEnd), mask, rows);
      };
      auto appended = append();
      if (!appended && appended.error().code == ErrorCode::kIo && !temporary_) {
        NL_CHECK(make_temporary());
        appended = append();
      }
      NL_CHECK(appended);
    }
    rows_.clear();
    return {};
  }

  Context& context_;
  store::Ledger& ledger_;
  std::string folder_;
  bool may_write_;
  std::optional<FolderAside> temporary_ = {};
  LedgerFingerprints out_;
  std::map<Mask, std::vector<NewRow>> rows_;
};

}  // namespace

Result<fingerprint::Fingerprint> run_fingerprint(const NamedRun& run) {
  NL_TRY(const auto measures, run_measures(run));
  return fingerprint::fingerprint_of(measures);
}

Result<LedgerFingerprints> ledger_fingerprints(Context& context, store::Ledger& ledger) {
  return Filling(context, ledger).run();
}

}  // namespace nl::ops
