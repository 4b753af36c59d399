#pragma once
// LanguageModel: what one pass of a decoder must read and compute, from the sizes of its layers. So a step of
// an engine can be held against the memory bandwidth even where every kernel hides in a graph. The sizes come
// from a Hugging Face config.json, or from the number of parameters alone. Where they leave something open,
// such as which experts the tokens choose, a figure is a range.

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/known.h"
#include "base/result.h"

namespace nl::analyze {

/// The least and the most that a figure can be.
struct Bounds {
  double low = 0;
  double high = 0;
};

inline Bounds operator+(Bounds a, Bounds b) {
  return {a.low + b.low, a.high + b.high};
}
inline Bounds operator*(Bounds a, double factor) {
  return {a.low * factor, a.high * factor};
}

struct LanguageModel {
  std::string type = {};         ///< llama, qwen3 and so on; empty if only the parameters are known
  double parameters = 0;         ///< all weights
  Bounds always_read = {};       ///< weights that each pass reads whatever its tokens are
  double output_parameters = 0;  ///< of those, the matrix that makes the scores of the vocabulary
  double expert_parameters = 0;  ///< of one expert of one layer; 0 without experts
  double expert_layers = 0;
  double experts = 0;            ///< of a layer that has such
  double experts_per_token = 0;  ///< that a token chooses in a layer
  std::string weight_type = {};  ///< data type of the weights in memory
  Bounds bytes_per_weight = {};  ///< with the scales of a quantised type
  Known<double> cache_bytes_per_token = Absent{"the layers are not known"};  ///< keys and values
  double attention_flops = 0;                   ///< of one token for each token that it attends to
  std::optional<double> attention_window = {};  ///< the most tokens that some layers attend to

  /// Bytes of weights that a pass with so many tokens reads: of each layer at least the experts of one token,
  /// at most those of all tokens.
  Bounds weights_read(double tokens) const;

  /// Bytes of keys and values for a sum of contexts over so many requests.
  Known<Bounds> cache_read(double context, double requests) const;

  /// Weights that take part for one token.
  Bounds active_parameters() const;
};

/// From config.json. Refused if the kind of its layers is not known: a wrong size is worse than none.
Result<LanguageModel> language_model(const nlohmann::json& config);

/// From the number of parameters, such as 8.03e9, 8.03B or 350M, and the data type of the weights.
Result<LanguageModel> language_model(const std::string& parameters, const std::string& precision);

}  // namespace nl::analyze
