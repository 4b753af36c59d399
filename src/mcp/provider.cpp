#include "mcp/provider.h"

namespace nl::mcp {
namespace {

Fault not_here() {
  return {kMethodNotFound, "this server does not have that"};
}

constexpr int64_t kListsStayMs = 300'000;

}  // namespace

TaskSupport Provider::task_support(const std::string&, const Call&) const {
  return TaskSupport::kNone;
}

Reply Provider::read_resource(const std::string&, Call&) {
  return not_here();
}

Reply Provider::get_prompt(const std::string&, const nlohmann::json&, Call&) {
  return not_here();
}

Reply Provider::complete(const nlohmann::json&, const nlohmann::json&, Call&) {
  return not_here();
}

Reply Provider::subscribe(const std::string&, bool, Call&) {
  return not_here();
}

int64_t Provider::fresh_ms(std::string_view method) const {
  const bool changes = method == "resources/list" || method == "resources/read";
  return changes ? 0 : kListsStayMs;
}

}  // namespace nl::mcp
