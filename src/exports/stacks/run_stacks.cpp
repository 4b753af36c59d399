#include "exports/stacks/run_stacks.h"

#include <bit>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "exports/stacks/span_sweep.h"
#include "exports/stacks/stack_rows.h"
#include "exports/window_cut.h"

namespace nl::exports {
namespace {

using Node = StackTree::Node;

/// Where the spans that launched device work stand in the tree. A bit a span says which are wanted; their
/// places lie side by side, so that the other spans cost nothing more.
class LaunchPlaces {
 public:
  struct Place {
    Node node = StackTree::kRoot;
    uint32_t labels = 0;  ///< name of a frame of labels; 0: none
  };

  explicit LaunchPlaces(bool with_labels) : with_labels_(with_labels) {}

  Result<void> find_wanted(store::OpenRun& run) {
    for (const auto& [table, links] :
         {std::pair{"kernels", "kernel_links"}, std::pair{"copies", "copy_links"}}) {
      if (!run.has(table)) continue;
      NL_TRY(store::Connection * connection, run.ask({links}));
      NL_CHECK(connection->stream(std::string("SELECT coalesce(launch_span_id, op_id, -1) FROM ") + links,
                                  [&](const store::Chunk& chunk) -> Result<void> {
                                    for (size_t row = 0; row < chunk.size(); row++)
                                      want(chunk.int64s(0)[row]);
                                    return {};
                                  }));
    }
    number_wanted();
    return {};
  }

  bool wants(int64_t span) const {
    const auto word = static_cast<size_t>(span) / 64;
    return span >= 0 && word < wanted_.size() && (wanted_[word] >> (span % 64) & 1) != 0;
  }
  void set(int64_t span, Place place) {
    nodes_[index_of(span)] = place.node;
    if (with_labels_) labels_[index_of(span)] = place.labels;
  }
  /// Nothing if the span is none of the run's, or has no duration.
  std::optional<Place> find(int64_t span) const {
    if (!wants(span)) return std::nullopt;
    const size_t index = index_of(span);
    if (nodes_[index] == StackTree::kRoot) return std::nullopt;
    return Place{nodes_[index], with_labels_ ? labels_[index] : 0};
  }

 private:
  void want(int64_t span) {
    if (span < 0) return;
    const auto word = static_cast<size_t>(span) / 64;
    if (word >= wanted_.size()) wanted_.resize(word + 1);
    wanted_[word] |= uint64_t{1} << (span % 64);
  }

  void number_wanted() {
    uint32_t count = 0;
    for (const uint64_t word : wanted_) {
      before_.push_back(count);
      count += static_cast<uint32_t>(std::popcount(word));
    }
    nodes_.resize(count, StackTree::kRoot);
    if (with_labels_) labels_.resize(count);
  }

  size_t index_of(int64_t span) const {
    const auto word = static_cast<size_t>(span) / 64;
    const uint64_t lower = wanted_[word] & ((uint64_t{1} << (span % 64)) - 1);
    return before_[word] + static_cast<size_t>(std::popcount(lower));
  }

  std::vector<uint64_t> wanted_;
  std::vector<uint32_t> before_;  // wanted spans before each word
  std::vector<Node> nodes_;
  std::vector<uint32_t> labels_;
  const bool with_labels_;
};

/// Step numbers would give each step a flame of its own: "ProfilerStep#12" is one frame with the other steps.
std::string_view without_step_number(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) end--;
  return end > 1 && end < name.size() && name[end - 1] == '#' ? name.substr(0, end) : name;
}

void append_label(std::string& labels, std::string_view key, std::string_view value) {
  labels.append(1, kLabelSign).append(key).append(1, kLabelSign).append(value);
}

/// What a stack of one thread looks like at the moment, and who gets the time that passes.
class OpenFrames {
 public:
  OpenFrames(StackTree& tree, const WindowCut& window, size_t sum)
      : tree_(tree), window_(window), sum_(sum) {}

  void begin(Node root) { root_ = root; }

  void open(const SweptSpan& span, int64_t at, bool) {
    pass_to(at);
    const Node above = frames_.empty() ? root_ : frames_.back().node;
    const Node node = tree_.child(above, span.name);
    const uint32_t labels = span.tag >> 1;
    frames_.push_back({node, labels == 0 ? node : tree_.child(node, labels), labels, (span.tag & 1) != 0});
  }
  void close(const SweptSpan&, int64_t at) {
    pass_to(at);
    frames_.pop_back();
  }

  /// Who gets the time of the innermost span.
  Node innermost() const { return frames_.back().pays; }

  /// The innermost frame that is no call of the runtime: the launch itself says nothing about the device.
  LaunchPlaces::Place place() const {
    size_t i = frames_.size();
    while (i > 0 && frames_[i - 1].is_runtime) i--;
    if (i == 0) return {root_, 0};
    size_t with_labels = i;
    while (with_labels > 0 && frames_[with_labels - 1].labels == 0) with_labels--;
    return {frames_[i - 1].node, with_labels == 0 ? 0 : frames_[with_labels - 1].labels};
  }

 private:
  struct Open {
    Node node;
    Node pays;  ///< the node that its self time is added to
    uint32_t labels;
    bool is_runtime;
  };

  void pass_to(int64_t at) {
    if (!frames_.empty() && at > since_) tree_.sum(frames_.back().pays, sum_) += window_.inside(since_, at);
    since_ = at;
  }

  StackTree& tree_;
  const WindowCut& window_;
  const size_t sum_;
  Node root_ = StackTree::kRoot;
  std::vector<Open> frames_;
  int64_t since_ = 0;
};

class StackBuilder {
 public:
  StackBuilder(StackTree& tree, const ExportCall& call, const StackOptions& options, ExportReport& report)
      : tree_(tree),
        call_(call),
        options_(options),
        report_(report),
        window_(call.window),
        launches_(options.with_labels) {}

  Result<void> add_all() {
    NL_TRY(tracks_, TrackNames::read(call_.run));
    NL_CHECK(launches_.find_wanted(call_.run));
    // The spans of the host come first and must leave room for the stacks of the device, which matter most.
    tree_.use_share(0.6);
    NL_CHECK(add_host_spans());
    tree_.use_all();
    for (const char* table : {"kernels", "copies"}) NL_CHECK(add_device_work(table));
    NL_CHECK(add_samples());
    return add_layers();
  }

 private:
  std::string root_of(int32_t track) const {
    return options_.across_runs ? tracks_.kind_of_track(track) : tracks_.track(track);
  }

  void count(Node node, int64_t rows = 1) {
    if (options_.sums.count != StackSums::kNowhere) tree_.sum(node, options_.sums.count) += rows;
  }

  Result<void> add_host_spans() {
    OpenFrames frames(tree_, window_, options_.sums.host);
    SpanSweep<OpenFrames> sweep(frames, FrameNames::kOthers);
    int32_t track = -2;
    int64_t written = 0;
    NL_CHECK(for_host_spans(
        call_, options_.with_labels,
        [&](const HostSpan& span) -> Result<void> {
          if (span.track_id != track) {
            sweep.finish();
            track = span.track_id;
            frames.begin(tree_.root(root_of(track)));
          }
          sweep.add({span.start_ns, span.end_ns, frame_of(span), tag_of(span)});
          if (launches_.wants(span.span_id)) launches_.set(span.span_id, frames.place());
          if (!window_.touches(span.start_ns, span.end_ns)) return {};
          written++;
          count(frames.innermost());
          return {};
        },
        report_));
    sweep.finish();
    if (written > 0) report_.written["spans"] = written;
    count_lost(report_, "spans nested too deep, merged into (others)", sweep.too_deep());
    return {};
  }

  uint32_t frame_of(const HostSpan& span) {
    return tree_.names.number(span.is_annotation ? without_step_number(span.name) : span.name);
  }

  uint32_t tag_of(const HostSpan& span) {
    uint32_t labels = 0;
    if (options_.with_labels && span.is_op && !span.shapes.empty()) {
      labels_.clear();
      append_label(labels_, "shapes", is_plain_line(span.shapes) ? span.shapes : safe_line(span.shapes));
      labels = tree_.names.number_as_is(labels_);
    }
    return labels << 1 | (span.is_runtime ? 1 : 0);
  }

  Result<void> add_device_work(const std::string& table) {
    int64_t written = 0;
    NL_CHECK(for_device_work(
        call_, table,
        [&](const DeviceWork& work) -> Result<void> {
          if (!window_.touches(work.start_ns, work.end_ns)) return {};
          const auto launch = launches_.find(work.launched_by);
          Node node = tree_.child(stack_of(device_root(work), launch), work.name);
          if (options_.with_labels) node = labelled(node, work, launch);
          tree_.sum(node, options_.sums.device) += window_.inside(work.start_ns, work.end_ns);
          count(node);
          written++;
          return {};
        },
        report_));
    if (written > 0) report_.written[table] = written;
    return {};
  }

  Node device_root(const DeviceWork& work) {
    const auto [it, is_new] = devices_.try_emplace({work.track_id, work.device.value_or(-1)});
    if (is_new) it->second = tree_.root(tracks_.device(work.track_id, work.device));
    return it->second;
  }

  /// The stack of the launch, below the device instead of the thread.
  Node stack_of(Node device, const std::optional<LaunchPlaces::Place>& launch) {
    if (!launch) return tree_.child(device, "(launch not captured)");
    const uint64_t key = uint64_t{device} << 32 | launch->node;
    if (const auto known = moved_.find(key); known != moved_.end()) return known->second;
    Node node = device;
    tree_.path(launch->node, path_);
    for (size_t i = 1; i < path_.size(); i++) node = tree_.child(node, tree_.name_number(path_[i]));
    if (moved_.size() >= kMaxMoved) moved_.clear();
    moved_.emplace(key, node);
    return node;
  }

  Node labelled(Node node, const DeviceWork& work, const std::optional<LaunchPlaces::Place>& launch) {
    labels_.clear();
    if (work.device) append_label(labels_, "device", std::to_string(*work.device));
    if (work.stream) append_label(labels_, "stream", std::to_string(*work.stream));
    if (const auto rank = tracks_.rank(work.track_id)) append_label(labels_, "rank", std::to_string(*rank));
    if (launch && launch->labels != 0) labels_ += tree_.names[launch->labels];
    return labels_.empty() ? node : tree_.child(node, tree_.names.number_as_is(labels_));
  }

  Result<void> add_samples() {
    int32_t track = -2;
    Node root = StackTree::kRoot;
    int64_t written = 0;
    NL_CHECK(for_samples(
        call_,
        [&](const StackSample& sample) -> Result<void> {
          if (sample.track_id != track) root = tree_.root("samples of " + root_of(sample.track_id));
          track = sample.track_id;
          Node node = root;
          for_frames(sample.stack, [&](std::string_view frame) { node = tree_.child(node, frame); });
          tree_.sum(node, options_.sums.samples) += sample.weight;
          count(node);
          written++;
          return {};
        },
        report_));
    if (written > 0) report_.written["samples"] = written;
    return {};
  }

  /// They have no place in time, so none inside of a window.
  Result<void> add_layers() {
    if (!window_.is_all()) return {};
    int64_t written = 0;
    NL_CHECK(for_layers(
        call_,
        [&](const LayerTime& layer) {
          const Node node = tree_.child(tree_.root("layers of the engine"), layer.name);
          tree_.sum(node, options_.sums.device) += layer.total_ns;
          count(node, layer.calls);
          written++;
        },
        report_));
    if (written > 0) report_.written["layer_times"] = written;
    return {};
  }

  static constexpr size_t kMaxMoved = 200'000;

  StackTree& tree_;
  const ExportCall& call_;
  const StackOptions& options_;
  ExportReport& report_;
  const WindowCut window_;
  TrackNames tracks_;
  LaunchPlaces launches_;
  std::map<std::pair<int32_t, int32_t>, Node> devices_;  // by track and device
  std::unordered_map<uint64_t, Node> moved_;             // by device and place of the launch
  std::vector<Node> path_;
  std::string labels_;
};

}  // namespace

Result<void> add_stacks(StackTree& tree, const ExportCall& call, const StackOptions& options,
                        ExportReport& report) {
  NL_CHECK(StackBuilder(tree, call, options, report).add_all());
  std::vector<std::string> written = {"spans", "kernels", "copies", "samples"};
  if (call.window.empty()) written.emplace_back("layer_times");
  return count_tables_left_out(call, written, report);
}

void count_merged(const StackTree& tree, ExportReport& report) {
  count_lost(report, "frames merged into (others)", tree.merged());
}

std::string folded_frame(std::string_view name) {
  if (name.find_first_of(";\r\n") == std::string_view::npos) return std::string(name);
  std::string frame;
  for (const char c : name) {
    if (c == ';') {
      frame += "\\x3b";
    } else if (c == '\n' || c == '\r') {
      frame += "\\n";
    } else {
      frame += c;
    }
  }
  return frame;
}

}  // namespace nl::exports
