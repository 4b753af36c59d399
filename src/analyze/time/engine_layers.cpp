#include "analyze/time/engine_layers.h"

#include <algorithm>

#include "analyze/names/layer_name.h"

namespace nl::analyze {
namespace {

constexpr char kLayers[] = R"(
  SELECT name, op_type, dur_ns, calls, try_cast(args AS JSON)->>'Metadata' FROM ops WHERE op_id IS NULL
  ORDER BY dur_ns DESC NULLS LAST, name, op_type)";

/// With the layers of the model that it came from.
OpAnswer layer_answer(std::string name, std::string type, OpClass op_class, const LayerName& parsed) {
  return {.name = std::move(name),
          .op_type = std::move(type),
          .op_class = op_class,
          .owner = Owner::kLayer,
          .fusion = std::string(layer_fusion_name(parsed.fusion)),
          .model_layers = parsed.parts};
}

std::string text_of(const store::Chunk& chunk, size_t column, size_t row) {
  return std::string(chunk.is_null(column, row) ? std::string_view() : chunk.text(column, row));
}

void add_layer(EngineLayers& layers, const store::Chunk& chunk, size_t i, const Taxonomy& taxonomy,
               int64_t top) {
  layers.count++;
  if (chunk.is_null(2, i)) return;
  const std::string name = text_of(chunk, 0, i), type = text_of(chunk, 1, i);
  const OpClass op_class = taxonomy.layer(type == name ? "" : type, name);
  const int64_t ns = chunk.int64s(2)[i], calls = chunk.is_null(3, i) ? 0 : chunk.int64s(3)[i];
  layers.timed++;
  layers.total_ns += ns;
  layers.iterations = std::max(layers.iterations, calls);
  layers.classes[std::string(op_class_name(op_class))] += ns;
  if (static_cast<int64_t>(layers.top.size()) < top) {
    OpAnswer row = layer_answer(name, type, op_class, parse_layer_name(name, text_of(chunk, 4, i)));
    row.device_ns = ns;
    row.calls = calls;
    layers.top.push_back(std::move(row));
  } else {
    layers.not_shown.rows++;
    layers.not_shown.total_ns += ns;
  }
}

}  // namespace

Result<std::optional<EngineLayers>> engine_layers(store::Connection& connection, const store::RunFiles& files,
                                                  const Taxonomy& taxonomy, int64_t top) {
  if (!files.tables.contains("layers") && !files.tables.contains("layer_times"))
    return std::optional<EngineLayers>();
  EngineLayers layers;
  NL_CHECK(connection.stream(kLayers, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) add_layer(layers, chunk, i, taxonomy, top);
    return {};
  }));
  for (OpAnswer& row : layers.top) {
    if (layers.total_ns != 0)
      row.share = static_cast<double>(*row.device_ns) / static_cast<double>(layers.total_ns);
  }
  return std::optional(std::move(layers));
}

}  // namespace nl::analyze
