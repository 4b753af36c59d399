#include "http/api/web_pages.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/sha256.h"
#include "base/text.h"
#include "http/web_files.inc"

namespace nl::http {
namespace {

constexpr char kIndex[] = "index.html";
constexpr std::string_view kBase = "<base href=\"/\" />";
constexpr size_t kAssetTag = 32;

// Scripts and styles are files of this server. Nothing is asked elsewhere, and nothing inside of a page runs.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

const EmbeddedFile* file_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kWebFiles), std::end(kWebFiles),
                                         [&](const EmbeddedFile& f) { return f.name == name; });
  return found == std::end(kWebFiles) ? nullptr : found;
}

// As web/src/app.tsx knows them.
constexpr std::string_view kPages[] = {"/",      "/runs", "/compare", "/trend",  "/outliers", "/similar",
                                       "/flame", "/sql",  "/rules",   "/system", "/live"};

bool is_word(const std::string& step) {
  return !step.empty() && std::all_of(step.begin(), step.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

/// One of the pages above, /runs/ID, /runs/ID/TAB, /rules/ID or /live/RECORDING; the page itself says if
/// there is no such thing.
bool is_page(std::string_view path) {
  if (std::find(std::begin(kPages), std::end(kPages), path) != std::end(kPages)) return true;
  const std::vector<std::string> steps = split(path.substr(1), '/');
  const size_t most = steps[0] == "runs" ? 3 : steps[0] == "rules" || steps[0] == "live" ? 2 : 0;
  return steps.size() > 1 && steps.size() <= most && std::all_of(steps.begin(), steps.end(), is_word);
}

std::string type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  return "application/octet-stream";
}

Response index_page(const EmbeddedFile& file, const std::string& base_path) {
  Response response{.type = type_of(file.name)};
  response.body = file.text;
  if (const size_t at = response.body.find(kBase); at != std::string::npos)
    response.body.replace(at, kBase.size(), "<base href=\"" + base_path + "/\" />");
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("Referrer-Policy", "same-origin");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

/// Their names change with their content.
Response asset(const EmbeddedFile& file) {
  Response response{.type = type_of(file.name)};
  response.body = file.text;
  response.headers.emplace_back("ETag", "\"" + sha256_hex(response.body).substr(0, kAssetTag) + "\"");
  response.headers.emplace_back("Cache-Control", "private, max-age=31536000, immutable");
  return response;
}

}  // namespace

std::optional<Response> web_page(const Request& request, const std::string& base_path) {
  const EmbeddedFile* const index = file_named(kIndex);
  if (index != nullptr && is_page(request.path)) return index_page(*index, base_path);
  if (!request.path.starts_with("/assets/")) return std::nullopt;
  const EmbeddedFile* const file = file_named(std::string_view(request.path).substr(1));
  return file == nullptr ? std::nullopt : std::optional(asset(*file));
}

}  // namespace nl::http
