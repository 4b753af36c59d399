#include "analyze/rules/range_lint.h"

#include <re2/re2.h>
#include <re2/set.h>

#include "analyze/load/intervals.h"
#include "analyze/load/timeline.h"
#include "analyze/range_files.inc"
#include "base/files.h"
#include "base/yaml.h"
#include "store/open_run.h"
#include "store/run_summary.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr int64_t kMaxListBytes = 64 * 1024;
constexpr char kRangeHint[] = "names: is a list of regular expressions, each for a whole name";

/// Names that are agreed upon.
class NameList {
 public:
  static Result<NameList> read(const std::string& text, const std::string& file) {
    NL_TRY(const YamlNode root, parse_yaml(text, file));
    const YamlNode* names = root.is_map() ? root.find("names") : nullptr;
    if (names == nullptr || !names->is_list())
      return yaml_error(file, root.line, "names is missing", kRangeHint);
    NameList list;
    for (const YamlNode& name : names->items) {
      std::string fault = "a name must be a text";
      if (!name.is_text() || list.set_->Add(name.text, &fault) < 0)
        return yaml_error(file, name.line, fault, kRangeHint);
    }
    if (names->items.empty() || !list.set_->Compile())
      return yaml_error(file, names->line, "there are no names", kRangeHint);
    return list;
  }
  bool has(std::string_view name) const {
    return set_->Match(re2::StringPiece(name.data(), name.size()), nullptr);
  }

 private:
  NameList() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(8 << 20);
    set_ = std::make_unique<RE2::Set>(options, RE2::ANCHOR_BOTH);
  }
  std::unique_ptr<RE2::Set> set_;
};

Result<NameList> name_list(const std::string& file) {
  if (file.empty()) return NameList::read(std::string(kRangeFiles[0].text), std::string(kRangeFiles[0].name));
  NL_TRY(const std::string text, read_small_file(file, kMaxListBytes));
  return NameList::read(text, file);
}

/// One kind of fault with some of its rows.
struct Fault {
  std::string name;
  std::string meaning;
  int64_t count = 0;
  json examples = json::array();

  void add(int64_t span, std::string_view range, int64_t start, int64_t top) {
    count++;
    if (static_cast<int64_t>(examples.size()) < top)
      examples.push_back(
          {{"span_id", span}, {"name", std::string(range.substr(0, 200))}, {"start_ns", start}});
  }
  json to_json() const {
    return {{"fault", name}, {"meaning", meaning}, {"count", count}, {"examples", examples}};
  }
};

constexpr char kRanges[] = R"(
  SELECT span_id, name, start_ns, dur_ns, track_id FROM spans
  WHERE kind = 'annotation' ORDER BY track_id, start_ns, dur_ns DESC NULLS LAST, span_id)";

/// Ends that the reader found no begin for; they are in no table.
int64_t lost_ends(const json& document) {
  return document["capture"]["counts"]["dropped"].value("end_without_begin", int64_t{0});
}

class RangeLint {
 public:
  RangeLint(const NameList& names, const LintOptions& options) : names_(names), options_(options) {}

  void add(const store::Chunk& chunk, size_t i) {
    const int64_t span = chunk.int64s(0)[i], start = chunk.is_null(2, i) ? 0 : chunk.int64s(2)[i];
    const std::string name(chunk.is_null(1, i) ? std::string_view() : chunk.text(1, i));
    ranges_++;
    if (name.find_first_not_of(" \t") == std::string::npos) {
      unnamed_.add(span, name, start, options_.top);
    } else if (!names_.has(name)) {
      unknown_[name]++;
    }
    known_[name]++;
    if (chunk.is_null(3, i)) return unclosed_.add(span, name, start, options_.top);
    const Interval range{start, start + chunk.int64s(3)[i]};
    if (crosses(chunk.is_null(4, i) ? -1 : chunk.int32s(4)[i], range))
      crossing_.add(span, name, start, options_.top);
    covered_.push_back(range);
  }

  json result(int64_t window, int64_t lost) {
    unclosed_.count += lost;
    Fault foreign{"name_not_in_list", "the name is not in the list that was given"};
    json unknown = json::array();
    for (const auto& [name, count] : unknown_) {
      foreign.count += options_.names_file.empty() ? 0 : count;
      if (static_cast<int64_t>(unknown.size()) < options_.top)
        unknown.push_back({{"name", name.substr(0, 200)}, {"count", count}});
    }
    json faults = json::array();
    for (const Fault* fault : {&unclosed_, &unnamed_, &crossing_, &foreign}) {
      if (fault->count > 0) faults.push_back(fault->to_json());
    }
    const int64_t covered = total_length(union_of(std::move(covered_)));
    return {{"ranges", ranges_},
            {"names", known_.size()},
            {"coverage",
             {{"window_ns", window},
              {"covered_ns", covered},
              {"share", window == 0 ? json(nullptr)
                                    : json(static_cast<double>(covered) / static_cast<double>(window))}}},
            {"faults", faults},
            {"unknown_names", unknown},
            {"unknown_name_count", unknown_.size()},
            {"ends_without_begin", lost},
            {"faulty", !faults.empty()}};
  }

 private:
  /// Ranges of a track come by start, the longest first; one that ends behind an open one cuts it.
  bool crosses(int32_t track, Interval range) {
    if (track != track_) open_.clear();
    track_ = track;
    while (!open_.empty() && open_.back() <= range.begin) open_.pop_back();
    const bool cuts = !open_.empty() && open_.back() < range.end;
    open_.push_back(cuts ? open_.back() : range.end);
    return cuts;
  }

  const NameList& names_;
  const LintOptions& options_;
  std::vector<int64_t> open_;  // ends of the ranges around
  int32_t track_ = -1;
  int64_t ranges_ = 0;
  std::map<std::string, int64_t> known_, unknown_;
  PagedVector<Interval> covered_;
  Fault unclosed_{"unbalanced", "begun but not ended, or ended but not begun"};
  Fault unnamed_{"unnamed", "the name is empty"};
  Fault crossing_{"crossing", "ends after the range around it, so that the two do not nest"};
};

}  // namespace

Result<json> lint_ranges(store::OpenRun& run, const LintOptions& options) {
  NL_TRY(const NameList names, name_list(options.names_file));
  NL_TRY(store::Connection * asked, run.ask({"spans", "kernels", "copies"}));
  store::Connection& connection = *asked;
  RangeLint lint(names, options);
  NL_CHECK(connection.stream(kRanges, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) lint.add(chunk, i);
    return {};
  }));
  int64_t window_ns = 0;
  NL_CHECK(connection.stream(store::kCaptureWindow, [&](const store::Chunk& chunk) -> Result<void> {
    if (!chunk.is_null(1, 0)) window_ns = chunk.int64s(1)[0];
    return {};
  }));
  return lint.result(window_ns, lost_ends(run.document()));
}

}  // namespace nl::analyze
