#include "http/api/home_page.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/path_text.h"
#include "base/random.h"
#include "base/sha256.h"
#include "http/answers.h"
#include "ops/door.h"
#include "ops/text/text.h"
#include "report/escape.h"
#include "store/ledger.h"
#include "store/projects.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr int kRunsShown = 100;

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } p { max-width: 45rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
td { overflow-wrap: anywhere; } td:first-child, td:last-child { white-space: nowrap; }
code { font-family: ui-monospace, monospace; }
)";

std::string row_of(const json& run) {
  const std::string id = run["run_id"];
  return fmt::format(
      "<tr><td><a href=\"api/v1/report?run={}&amp;format=html\"><code>{}</code></a></td>"
      "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
      id, id.substr(0, 12), report::html(base_name(run.value("file_names", ""))),
      report::html(run.value("format", "")),
      report::html(ops::time_text(run.value("imported_at_ns", int64_t{0}))));
}

/// Who is here, and the way out.
std::string person_text(const Shop& shop, const Caller& caller) {
  if (!shop.has_sign_in) return "";
  return "<form method=\"post\" action=\"sign-out\"><p>You are " + report::html_name(caller.name) +
         ", in the project " + report::html(caller.project) + ". <button>Sign out</button></p></form>\n";
}

std::string page(const std::string& nonce, const std::string& lead, const std::string& rows) {
  const std::string table = rows.empty() ? ""
                                         : "<table><thead><tr><th>run</th><th>from</th><th>format</"
                                           "th><th>imported</th></tr></thead><tbody>\n" +
                                               rows + "</tbody></table>\n";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">"
      "<title>NeuroLens</title><style "
      "nonce=\"{}\">{}</style></head>\n<body><main><h1>NeuroLens</h1>\n<p>{}</p>\n{}"
      "<p>Programs ask at <code>api/v1/&lt;operation&gt;</code>: <a "
      "href=\"api/v1/openapi.json\">openapi.json</a> describes all of it.</p>"
      "</main></body></html>\n",
      nonce, kStyle, lead, table);
}

}  // namespace

Response home_page(const Shop& shop, const Caller& caller, const Request& request) {
  ops::Context context;
  context.ledger_folder = store::project_folder(shop.ledger_folder, caller.project);
  context.principal = caller.name;
  context.cancelled = request.is_gone;
  const auto listed = ops::call("runs", {{"limit", kRunsShown}}, context);
  if (!listed) return failed("runs", listed.error());
  std::string rows;
  for (const json& run : listed->data["runs"]) rows += row_of(run);
  const std::string nonce = hex_of(random_bytes(16));
  Response response{.type = "text/html; charset=utf-8"};
  response.headers.emplace_back("Content-Security-Policy",
                                fmt::format("default-src 'none'; style-src 'nonce-{}'; base-uri 'none'; "
                                            "form-action 'self'; frame-ancestors 'none'",
                                            nonce));
  response.headers.emplace_back("Referrer-Policy", "same-origin");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body =
      page(nonce,
           rows.empty() ? "The ledger is empty. <code>neurolens push FILE --to …</code> sends a profile."
                        : "The newest runs of the ledger.",
           rows);
  response.body.insert(response.body.find("<p>"), person_text(shop, caller));
  return response;
}

Response ready(const Shop& shop) {
  const bool is_there = path_exists(shop.ledger_folder + "/runs");
  const auto ledger = is_there ? store::Ledger::open(shop.ledger_folder, false)
                               : Result<store::Ledger>(Error{ErrorCode::kUnavailable, "the ledger is gone"});
  if (!ledger) {
    Response response = failed("ready", ledger.error());
    response.status = 503;
    return response;
  }
  return json_answer({{"ok", true}});
}

}  // namespace nl::http
