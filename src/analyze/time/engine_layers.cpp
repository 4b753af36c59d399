#include "analyze/time/engine_layers.h"

#include <map>

#include "analyze/names/layer_name.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr char kLayers[] = R"(
  SELECT name, op_type, dur_ns, calls, try_cast(args AS JSON)->>'Metadata' FROM ops WHERE op_id IS NULL
  ORDER BY dur_ns DESC NULLS LAST, name, op_type)";

struct Sums {
  int64_t layers = 0, timed = 0, total_ns = 0, iterations = 0, left = 0, left_ns = 0;
  std::map<std::string, int64_t> classes;
};

/// With the layers of the model that it came from.
json layer_json(const std::string& name, const std::string& type, int64_t ns, int64_t calls, OpClass op_class,
                const LayerName& parsed) {
  return {{"name", name},
          {"op_type", type},
          {"class", std::string(op_class_name(op_class))},
          {"owner", "layer"},
          {"fusion", layer_fusion_name(parsed.fusion)},
          {"model_layers", parsed.parts},
          {"device_ns", ns},
          {"calls", calls}};
}

}  // namespace

Result<json> engine_layers(store::Connection& connection, const store::RunFiles& files,
                           const Taxonomy& taxonomy, int64_t top) {
  if (!files.tables.contains("layers") && !files.tables.contains("layer_times")) return json(nullptr);
  Sums sums;
  json rows = json::array();
  NL_CHECK(connection.stream(kLayers, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      sums.layers++;
      if (chunk.is_null(2, i)) continue;
      const std::string name(chunk.is_null(0, i) ? std::string_view() : chunk.text(0, i));
      const std::string type(chunk.is_null(1, i) ? std::string_view() : chunk.text(1, i));
      const OpClass op_class = taxonomy.layer(type == name ? "" : type, name);
      const int64_t ns = chunk.int64s(2)[i], calls = chunk.is_null(3, i) ? 0 : chunk.int64s(3)[i];
      sums.timed++;
      sums.total_ns += ns;
      sums.iterations = std::max(sums.iterations, calls);
      sums.classes[std::string(op_class_name(op_class))] += ns;
      if (static_cast<int64_t>(rows.size()) < top) {
        const std::string_view metadata = chunk.is_null(4, i) ? std::string_view() : chunk.text(4, i);
        rows.push_back(layer_json(name, type, ns, calls, op_class, parse_layer_name(name, metadata)));
      } else {
        sums.left++;
        sums.left_ns += ns;
      }
    }
    return {};
  }));
  for (json& row : rows) {
    row["share"] =
        sums.total_ns == 0
            ? json(nullptr)
            : json(static_cast<double>(row["device_ns"].get<int64_t>()) / static_cast<double>(sums.total_ns));
  }
  return json{{"count", sums.layers},
              {"timed", sums.timed},
              {"total_ns", sums.total_ns},
              {"iterations", sums.iterations},
              {"classes", sums.classes},
              {"top", rows},
              {"not_shown", {{"rows", sums.left}, {"total_ns", sums.left_ns}}}};
}

}  // namespace nl::analyze
