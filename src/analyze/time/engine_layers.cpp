#include "analyze/time/engine_layers.h"

#include <algorithm>
#include <map>

#include "analyze/names/layer_name.h"
#include "analyze/time/engine_remarks.h"
#include "analyze/time/model_layers.h"
#include "base/small_json.h"

namespace nl::analyze {
namespace {

constexpr char kLayers[] = R"(
  SELECT name, op_type, dur_ns, calls, try_cast(args AS JSON)->>'Metadata' FROM ops WHERE op_id IS NULL
  ORDER BY dur_ns DESC NULLS LAST, name, op_type)";
constexpr char kOrder[] = "SELECT name, min(layer_time_id)::BIGINT FROM layer_times GROUP BY name";
constexpr char kFormats[] = "SELECT name, dtypes, output_dtypes, tactic FROM layers ORDER BY layer_id";

/// What the tables of layers say of one name; of several layers of one name, the first.
struct LayerFacts {
  int64_t order = 0;
  std::string input = {}, output = {}, tactic = {};
};
using FactsByName = std::map<std::string, LayerFacts>;

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

/// The first text of a JSON array of texts; empty if there is none.
std::string first_of(const std::string& list) {
  const nlohmann::json parsed = parse_small_json(list);
  const bool known = parsed.is_array() && !parsed.empty() && parsed[0].is_string();
  return known ? parsed[0].get<std::string>() : "";
}

Result<FactsByName> layer_facts(store::Connection& connection, const store::RunFiles& files) {
  FactsByName facts;
  if (files.tables.contains("layers")) {
    NL_CHECK(connection.stream(kFormats, [&](const store::Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size(); i++)
        facts.try_emplace(text_of(chunk, 0, i),
                          LayerFacts{0, first_of(text_of(chunk, 1, i)), first_of(text_of(chunk, 2, i)),
                                     text_of(chunk, 3, i)});
      return {};
    }));
  }
  if (files.tables.contains("layer_times")) {
    NL_CHECK(connection.stream(kOrder, [&](const store::Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size(); i++) facts[text_of(chunk, 0, i)].order = chunk.int64s(1)[i];
      return {};
    }));
  }
  return facts;
}

TimedLayer timed_layer(const store::Chunk& chunk, size_t i, const Taxonomy& taxonomy,
                       const FactsByName& facts) {
  TimedLayer layer{.name = text_of(chunk, 0, i), .type = text_of(chunk, 1, i)};
  layer.origin = parse_layer_name(layer.name, text_of(chunk, 4, i));
  layer.op_class = taxonomy.layer(layer.type == layer.name ? "" : layer.type, layer.name);
  layer.ns = chunk.int64s(2)[i];
  layer.calls = chunk.is_null(3, i) ? 0 : chunk.int64s(3)[i];
  if (const auto it = facts.find(layer.name); it != facts.end()) {
    layer.order = it->second.order;
    layer.input = it->second.input;
    layer.output = it->second.output;
    layer.tactic = it->second.tactic;
  }
  return layer;
}

void add_layer(EngineLayers& layers, const TimedLayer& layer, int64_t top) {
  layers.timed++;
  layers.total_ns += layer.ns;
  layers.iterations = std::max(layers.iterations, layer.calls);
  layers.classes[std::string(op_class_name(layer.op_class))] += layer.ns;
  if (static_cast<int64_t>(layers.top.size()) < top) {
    OpAnswer row = layer_answer(layer.name, layer.type, layer.op_class, layer.origin);
    row.device_ns = layer.ns;
    row.calls = layer.calls;
    layers.top.push_back(std::move(row));
  } else {
    layers.not_shown.rows++;
    layers.not_shown.total_ns += layer.ns;
  }
}

}  // namespace

Result<std::optional<EngineAnswer>> engine_layers(store::OpenRun& open, const Taxonomy& taxonomy,
                                                  int64_t top) {
  if (!open.has("layers") && !open.has("layer_times")) return std::optional<EngineAnswer>();
  NL_TRY(store::Connection * connection, open.ask({"ops", "layers", "layer_times"}));
  EngineLayers layers;
  NL_TRY(const FactsByName facts, layer_facts(*connection, open.files()));
  std::vector<TimedLayer> timed;
  NL_CHECK(connection->stream(kLayers, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      layers.count++;
      if (chunk.is_null(2, i)) continue;
      timed.push_back(timed_layer(chunk, i, taxonomy, facts));
      add_layer(layers, timed.back(), top);
    }
    return {};
  }));
  for (OpAnswer& row : layers.top) {
    if (layers.total_ns != 0)
      row.share = static_cast<double>(*row.device_ns) / static_cast<double>(layers.total_ns);
  }
  add_remarks(layers, timed);
  return std::optional(EngineAnswer{std::move(layers), model_layers_of_engine(timed)});
}

std::vector<LimiterAnswer> engine_limiters(const EngineLayers& layers) {
  if (layers.total_ns == 0) return {};
  return {{.what = "compute", .time_ns = layers.total_ns, .share = 1, .words = layers_words(layers)}};
}

}  // namespace nl::analyze
