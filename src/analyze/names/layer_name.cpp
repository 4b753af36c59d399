#include "analyze/names/layer_name.h"

#include <algorithm>
#include <array>

namespace nl::analyze {
namespace {

constexpr std::string_view kRangeStart = "{ForeignNode[";
constexpr std::string_view kRangeEnd = "]}";
constexpr std::string_view kPointwiseStart = "PWN(";

/// Walks the name once. Brackets that belong to a name ("(Unnamed Layer* 1) [Shuffle]") hide separators,
/// those of PWN(...) do not.
class LayerReader {
 public:
  explicit LayerReader(std::string_view text) : text_(text) {}

  LayerName read() {
    while (at_ < text_.size()) step();
    end_part();
    out_.fusion = fusion();
    return std::move(out_);
  }

 private:
  bool starts(std::string_view mark) const { return text_.substr(at_).starts_with(mark); }

  void step() {
    if (hidden_ == 0 && part_.empty() && starts(kPointwiseStart)) return open_pointwise();
    if (hidden_ == 0 && starts(" + ")) return separate(3, saw_plus_);
    if (hidden_ == 0 && starts(" || ")) return separate(4, saw_bars_);
    if (hidden_ == 0 && open_ > 0 && starts(", ")) return separate(2, saw_pointwise_);
    character(text_[at_]);
  }

  void open_pointwise() {
    if (open_++ == 0) saw_pointwise_ = true;
    at_ += kPointwiseStart.size();
  }

  void separate(size_t bytes, bool& seen) {
    if (open_ == 0) seen = true;
    end_part();
    at_ += bytes;
  }

  void character(char c) {
    at_++;
    if (c == ')' && hidden_ == 0 && open_ > 0) return close_pointwise();
    if (c == '(' || c == '[') hidden_++;
    if ((c == ')' || c == ']') && hidden_ > 0) hidden_--;
    part_ += c;
  }

  void close_pointwise() {
    open_--;
    end_part();
  }

  void end_part() {
    if (!part_.empty()) out_.parts.push_back(std::move(part_));
    part_.clear();
  }

  LayerFusion fusion() const {
    if (saw_bars_) return LayerFusion::kHorizontal;
    if (saw_plus_) return LayerFusion::kVertical;
    return saw_pointwise_ ? LayerFusion::kPointwise : LayerFusion::kNone;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t open_ = 0;    ///< PWN( around the place
  size_t hidden_ = 0;  ///< brackets inside of a name
  std::string part_;
  bool saw_plus_ = false;
  bool saw_bars_ = false;
  bool saw_pointwise_ = false;
  LayerName out_;
};

/// "{ForeignNode[a...b]}"; a single layer may stand without dots.
LayerName read_range(std::string_view text) {
  text.remove_prefix(kRangeStart.size());
  text.remove_suffix(kRangeEnd.size());
  const size_t dots = text.find("...");
  if (dots == std::string_view::npos) return {LayerFusion::kRange, {std::string(text)}};
  return {LayerFusion::kRange, {std::string(text.substr(0, dots)), std::string(text.substr(dots + 3))}};
}

constexpr std::string_view kReformatStart = "Reformatting CopyNode for ";

/// "Input Tensor 0 to X", "Network Input x": X, or nothing.
std::string_view reformat_target(std::string_view name) {
  const size_t to = name.find(" to ");
  return to == std::string_view::npos ? std::string_view() : name.substr(to + 4);
}

bool is_range(std::string_view name) {
  return name.size() >= kRangeStart.size() + kRangeEnd.size() && name.starts_with(kRangeStart) &&
         name.ends_with(kRangeEnd);
}

/// [trainStation1], [signal 3], [HostToDeviceCopy 0].
bool is_engine(std::string_view name) {
  return name.size() > 2 && name.front() == '[' && name.find(']') == name.size() - 1;
}

LayerName read_own_name(std::string_view name) {
  if (is_range(name)) return read_range(name);
  if (is_engine(name)) return {LayerFusion::kEngine, {}};
  return LayerReader(name).read();
}

LayerName read_name(std::string_view name) {
  if (!name.starts_with(kReformatStart)) return read_own_name(name);
  while (name.starts_with(kReformatStart)) name = reformat_target(name);
  return {LayerFusion::kReformat, read_own_name(name).parts};
}

/// "[ONNX Layer: a]\x1E[ONNX Layer: b]"; other entries are not layers.
std::vector<std::string> metadata_layers(std::string_view metadata) {
  constexpr std::string_view kStart = "[ONNX Layer: ";
  std::vector<std::string> layers;
  while (!metadata.empty()) {
    const size_t end = std::min(metadata.find('\x1E'), metadata.size());
    const std::string_view entry = metadata.substr(0, end);
    if (entry.starts_with(kStart) && entry.ends_with(']') && entry.size() > kStart.size() + 1) {
      layers.emplace_back(entry.substr(kStart.size(), entry.size() - kStart.size() - 1));
    }
    metadata.remove_prefix(std::min(end + 1, metadata.size()));
  }
  return layers;
}

}  // namespace

std::string_view layer_fusion_name(LayerFusion fusion) {
  static constexpr std::array<std::string_view, 7> kNames = {"none",  "vertical", "horizontal", "pointwise",
                                                             "range", "reformat", "engine"};
  return kNames[static_cast<size_t>(fusion)];
}

LayerName parse_layer_name(std::string_view name, std::string_view metadata) {
  LayerName out = read_name(name);
  if (auto layers = metadata_layers(metadata); !layers.empty()) out.parts = std::move(layers);
  return out;
}

}  // namespace nl::analyze
