// profile.proto, which `go tool pprof` and others read, not compressed: they read that as well. The stacks
// are those of exports/run_stacks.h, with their sums as sample types: device_time, host_self_time,
// sample_weight if there are stack samples, and count. Device, stream, rank and the shapes of the op are
// labels. Fields may come in any order, so that names are written last, once they are all known.

#include <string>
#include <vector>

#include "exports/exporter.h"
#include "exports/protobuf.h"
#include "exports/stacks/run_stacks.h"
#include "exports/stacks/stack_rows.h"

namespace nl::exports::pprof_exporter {
namespace {

constexpr size_t kPprofPiece = 1 << 16;

/// Fields of profile.proto, by message.
namespace pprof {
constexpr uint32_t kSampleType = 1, kSample = 2, kLocation = 4, kFunction = 5, kString = 6;
constexpr uint32_t kTimeNanos = 9, kDurationNanos = 10, kDefaultSampleType = 14;
namespace value_type {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample {
constexpr uint32_t kLocations = 1, kValues = 2, kLabel = 3;
}
namespace label {
constexpr uint32_t kKey = 1, kText = 2;
}
namespace location {
constexpr uint32_t kId = 1, kLine = 4;
}
namespace line {
constexpr uint32_t kFunction = 1;
}
namespace function {
constexpr uint32_t kId = 1, kName = 2;
}
}  // namespace pprof

// The sums of a node, in the order of the sample types.
enum PprofSum : size_t { kDeviceTime, kHostSelfTime, kPprofCount, kSampleWeight, kPprofSums };

/// The strings of the file: first those of ours, then the names of frames, then values of labels.
class PprofStrings {
 public:
  explicit PprofStrings(const FrameNames& names) : names_(names) {}

  uint64_t ours(std::string_view text) {
    for (size_t i = 0; i < ours_.size(); i++) {
      if (ours_[i] == text) return i;
    }
    return 0;
  }
  uint64_t of_name(uint32_t name) const { return ours_.size() + name; }
  uint64_t of_value(std::string_view text) {
    return ours_.size() + names_.size() + values_.number_as_is(text);
  }

  template <class Each>
  Result<void> for_all(Each&& each) const {
    for (const auto& text : ours_) NL_CHECK(each(text));
    for (uint32_t i = 0; i < names_.size(); i++) NL_CHECK(each(is_labels(names_[i]) ? "" : names_[i]));
    for (uint32_t i = 0; i < values_.size(); i++) NL_CHECK(each(values_[i]));
    return {};
  }

 private:
  const FrameNames& names_;
  FrameNames values_;
  const std::vector<std::string_view> ours_ = {"",       "device_time", "host_self_time", "sample_weight",
                                               "count",  "nanoseconds", "cycles",         "device",
                                               "stream", "rank",        "shapes"};
};

class PprofFile {
 public:
  PprofFile(const ExportCall& call, const StackTree& tree) : call_(call), tree_(tree), strings_(tree.names) {}

  Result<void> write(bool has_samples) {
    has_samples_ = has_samples;
    NL_CHECK(write_head());
    for (const StackTree::Node node : tree_.in_order()) {
      add_sample(node);
      NL_CHECK(hand_out(kPprofPiece));
    }
    NL_CHECK(write_frames());
    NL_CHECK(strings_.for_all([&](std::string_view text) {
      out_.text(pprof::kString, text);
      return hand_out(kPprofPiece);
    }));
    return hand_out(1);
  }

 private:
  Result<void> hand_out(size_t at_least) {
    if (out_.size() < at_least) return {};
    NL_CHECK(call_.write(out_.view()));
    out_.clear();
    return {};
  }

  void sample_type(std::string_view type, std::string_view unit) {
    out_.message(pprof::kSampleType, [&] {
      out_.varint(pprof::value_type::kType, strings_.ours(type));
      out_.varint(pprof::value_type::kUnit, strings_.ours(unit));
    });
  }

  /// What pprof shows if it is not told: the first kind of time that there is.
  std::string_view default_type() const {
    int64_t device = 0, host = 0;
    for (StackTree::Node node = 1; node < tree_.size(); node++) {
      device |= tree_.sum(node, kDeviceTime);
      host |= tree_.sum(node, kHostSelfTime);
    }
    if (device != 0) return "device_time";
    return host != 0 || !has_samples_ ? "host_self_time" : "sample_weight";
  }

  Result<void> write_head() {
    sample_type("device_time", "nanoseconds");
    sample_type("host_self_time", "nanoseconds");
    sample_type("count", "count");
    const bool in_ns = !call_.run.files().formats.contains("nsys");
    if (has_samples_) sample_type("sample_weight", in_ns ? "nanoseconds" : "cycles");
    out_.varint(pprof::kDefaultSampleType, strings_.ours(default_type()));
    NL_TRY(const auto range, time_range(call_));
    if (!range) return {};
    if (is_unix_time(call_.run)) out_.signed_varint(pprof::kTimeNanos, range->begin_ns);
    out_.signed_varint(pprof::kDurationNanos, range->end_ns - range->begin_ns);
    return {};
  }

  void add_sample(StackTree::Node node) {
    values_.clear();
    int64_t any = 0;
    for (size_t sum = 0; sum < (has_samples_ ? kPprofSums : kSampleWeight); sum++) {
      values_.push_back(tree_.sum(node, sum));
      any |= values_.back();
    }
    if (any == 0) return;
    out_.message(pprof::kSample, [&] {
      const bool labelled = is_labels(tree_.name(node));
      locations_.clear();
      for (auto frame = labelled ? tree_.parent(node) : node; frame != StackTree::kRoot;
           frame = tree_.parent(frame))
        locations_.push_back(location_of(tree_.name_number(frame)));
      out_.packed<uint64_t>(pprof::sample::kLocations, locations_);
      out_.packed<int64_t>(pprof::sample::kValues, values_);
      if (labelled) add_labels(tree_.name(node));
    });
  }

  /// Key, value, key, value …, each behind a sign. All are texts: as a number, device 0 would be no label.
  void add_labels(std::string_view labels) {
    const auto next = [&] {
      labels.remove_prefix(1);
      const std::string_view part = labels.substr(0, labels.find(kLabelSign));
      labels.remove_prefix(part.size());
      return part;
    };
    while (!labels.empty()) {
      const std::string_view key = next();
      const std::string_view value = next();
      out_.message(pprof::sample::kLabel, [&] {
        out_.varint(pprof::label::kKey, strings_.ours(key));
        out_.varint(pprof::label::kText, strings_.of_value(value));
      });
    }
  }

  /// A frame has no address: its name is its function and its place.
  static uint64_t location_of(uint32_t name) { return uint64_t{name} + 1; }

  Result<void> write_frames() {
    for (uint32_t name = 0; name < tree_.names.size(); name++) {
      if (is_labels(tree_.names[name])) continue;
      out_.message(pprof::kFunction, [&] {
        out_.varint(pprof::function::kId, location_of(name));
        out_.varint(pprof::function::kName, strings_.of_name(name));
      });
      out_.message(pprof::kLocation, [&] {
        out_.varint(pprof::location::kId, location_of(name));
        out_.message(pprof::location::kLine, [&] { out_.varint(pprof::line::kFunction, location_of(name)); });
      });
      NL_CHECK(hand_out(kPprofPiece));
    }
    return {};
  }

  const ExportCall& call_;
  const StackTree& tree_;
  PprofStrings strings_;
  ProtoWriter out_;
  std::vector<int64_t> values_;
  std::vector<uint64_t> locations_;
  bool has_samples_ = false;
};

Result<ExportReport> write_pprof(const ExportCall& call) {
  ExportReport report;
  StackTree tree(kPprofSums);
  const StackOptions options{.sums = {kDeviceTime, kHostSelfTime, kSampleWeight, kPprofCount},
                             .with_labels = true};
  NL_CHECK(add_stacks(tree, call, options, report));
  count_merged(tree, report);
  NL_CHECK(PprofFile(call, tree).write(report.written.contains("samples")));
  return report;
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kPprof{"pprof", "go tool pprof -http=: FILE", write_pprof};
  return kPprof;
}

}  // namespace nl::exports::pprof_exporter
