#include "ops/operation.h"

namespace nl::ops {
namespace {

using nlohmann::json;

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

SuggestedCall suggested(std::string operation, std::initializer_list<SuggestedParameter> parameters) {
  std::string text;
  for (const SuggestedParameter& one : parameters) {
    text += (text.empty() ? "{" : ",") + json_text(one.name) + ":" + json_text(one.value);
  }
  return {std::move(operation), text.empty() ? "{}" : text + "}"};
}

}  // namespace nl::ops
