#include "capture/document.h"

#include "base/files.h"
#include "base/redact.h"
#include "base/sha256.h"
#include "capture/capabilities.h"
#include "capture/run/host.h"

namespace nl::capture {

nlohmann::json describe_capture(const Environment& surroundings, const std::string& command,
                                const std::string& folder) {
  nlohmann::json document = {{"tool_version", NEUROLENS_VERSION},
                             {"command", command},
                             {"folder", folder},
                             {"environment", describe_environment(surroundings.variables())},
                             {"host", describe_host()},
                             {"gpus", describe_gpus(surroundings)},
                             {"capabilities", capabilities_json(capabilities(surroundings))}};
  if (auto checkout = describe_checkout(surroundings, folder); !checkout.is_null())
    document["checkout"] = std::move(checkout);
  return document;
}

nlohmann::json clock_pair_json(const wire::ClockPair& pair) {
  return {{"monotonic_ns", pair.monotonic_ns},
          {"unix_ns", pair.unix_ns},
          {"bound_ns", pair.bound_ns},
          {"boot_id", boot_id()}};
}

Result<nlohmann::json> file_json(const std::string& path) {
  NL_TRY(const int64_t bytes, file_size(path));
  NL_TRY(const std::string sha256, sha256_of_file(path));
  return nlohmann::json{{"path", path}, {"bytes", bytes}, {"sha256", sha256}};
}

std::string document_text(const nlohmann::json& document) {
  const std::string text =
      without_secrets(document).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  return "{\n \"schema\": \"neurolens.capture/1\"," + text.substr(1) + "\n";
}

}  // namespace nl::capture
