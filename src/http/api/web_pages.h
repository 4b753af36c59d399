#pragma once
// The pages of the web UI, which the build has put into the binary. They are drawn by script, which asks the
// same operations as everybody else; so all pages are one document.

#include <optional>
#include <string>

#include "http/message.h"

namespace nl::http {

/// Nothing if the path is no page and no file of the UI, or if the build has none.
std::optional<Response> web_page(const Request& request, const std::string& base_path);

}  // namespace nl::http
