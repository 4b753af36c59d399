#include <fmt/core.h>

#include "ops/text/text.h"
#include "store/access.h"
#include "store/ledger.h"
#include "store/projects.h"

namespace nl::ops::token_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "action": {"type": "string", "enum": ["list", "add", "revoke", "rotate"], "default": "list", "x-positional": 1,
               "description": "what to do"},
    "name": {"type": "string", "maxLength": 200, "x-positional": 2,
             "description": "add: who uses the token; revoke and rotate: its id"},
    "role": {"type": "string", "enum": ["read", "write", "admin"], "default": "read",
             "description": "read; write: imports, labels, notes, deletes; admin: also tokens"},
    "project": {"type": "string", "default": "main", "description": "the project that it is good for; *: all of them"},
    "days": {"type": "integer", "minimum": 1, "maximum": 3650, "default": 90, "description": "it ends after so many days"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["tokens"],
  "properties": {
    "token": {"type": "string", "description": "what the holder sends; it is shown this once and kept nowhere"},
    "tokens": {"type": "array", "items": {"type": "object",
      "required": ["id", "name", "grants", "made_at_ns", "made_by", "expires_at_ns", "revoked_at_ns", "good"],
      "properties": {"id": {"type": "string"}, "name": {"type": "string"},
        "grants": {"type": "array", "description": "what its holder may do, project by project",
                   "items": {"type": "object", "required": ["project", "role"],
                             "properties": {"project": {"type": "string"}, "role": {"type": "string"}}}},
        "made_by": {"type": "string", "description": "who made it; of somebody who signed in: the provider that vouched"},
        "good": {"type": "boolean", "description": "it can be used now"}}}}}})";

constexpr int64_t kDay = int64_t{24} * 3600 * 1'000'000'000;

json token_json(const store::Token& token, int64_t now) {
  json grants = json::array();
  for (const store::Grant& grant : token.grants)
    grants.push_back({{"project", grant.project}, {"role", store::role_name(grant.role)}});
  return {{"id", token.id},
          {"name", token.name},
          {"grants", std::move(grants)},
          {"made_at_ns", token.made_at_ns},
          {"made_by", token.made_by},
          {"expires_at_ns", token.expires_at_ns},
          {"revoked_at_ns", token.revoked_at_ns},
          {"good", token.is_good(now)}};
}

Error name_missing(const char* message) {
  return Error{ErrorCode::kBadInput,
               message,
               "{}",
               {suggested("token", {{"action", "add"}, {"name", "NAME"}, {"role", "write"}})}};
}

Result<std::string> add(Context& context, store::Access& access, const json& parameters, int64_t now) {
  const std::string project = parameters["project"];
  if (project != store::kAllProjects) {
    NL_CHECK(store::check_project_name(project));
    NL_CHECK(
        store::Ledger::open(store::project_folder(context.ledger_folder, project)));  // makes it if need be
  }
  store::Token token;
  token.name = parameters["name"];
  token.grants = {{project, *store::role_of_name(parameters["role"].get<std::string>())}};
  token.made_at_ns = now;
  token.made_by = context.principal;
  token.expires_at_ns = now + parameters["days"].get<int64_t>() * kDay;
  return access.add(token);
}

Result<void> revoke(store::Access& access, const std::string& id, int64_t now) {
  NL_TRY(const bool is_gone, access.revoke(id, now));
  if (is_gone) return {};
  return Error{ErrorCode::kNotFound,
               "there is no token of this id that could be revoked: " + id,
               "{} lists them",
               {{"token"}}};
}

/// The tokens of a server are those of the ledger that it serves, whichever project the caller is in.
Result<Outcome> run(Context& context, const json& parameters) {
  const std::string action = parameters["action"];
  if (action != "list" && parameters.value("name", "").empty())
    return name_missing(action == "add" ? "who uses the token?" : "which token? name its id");
  NL_CHECK(store::Ledger::open(context.ledger_folder));
  const bool writes = action != "list";
  NL_TRY(auto access, store::Access::open(context.ledger_folder, writes ? store::SqliteAccess::kReadWrite
                                                                        : store::SqliteAccess::kReadOnly));
  const int64_t now = store::unix_now_ns();
  Outcome outcome;
  if (action == "add") {
    NL_TRY(outcome.data["token"], add(context, access, parameters, now));
  } else if (action == "rotate") {
    NL_TRY(outcome.data["token"], access.rotate(parameters["name"]));
  } else if (action == "revoke") {
    NL_CHECK(revoke(access, parameters["name"], now));
  }
  NL_TRY(const auto tokens, access.list());
  outcome.data["tokens"] = json::array();
  for (const store::Token& token : tokens) outcome.data["tokens"].push_back(token_json(token, now));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  std::string out;
  if (data.contains("token"))
    out += data["token"].get<std::string>() + "\n" +
           dim("Keep it: it is not shown again. Programs take it from NEUROLENS_TOKEN.", style) + "\n\n";
  if (data["tokens"].empty()) return out + "There are no tokens.\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kLeft, kLeft});
  table.add({"id", "for", "may", "until", ""});
  for (const json& token : data["tokens"]) {
    const bool is_revoked = token["revoked_at_ns"] != 0;
    std::string may;
    for (const json& grant : token["grants"]) {
      const std::string project = grant["project"];
      may += (may.empty() ? "" : ", ") + grant["role"].get<std::string>() + " in " +
             (project == store::kAllProjects ? "all projects" : project);
    }
    table.add({token["id"], token["name"], may, time_text(token["expires_at_ns"]),
               is_revoked      ? "revoked"
               : token["good"] ? ""
                               : "expired"});
  }
  return out + table.text("", true, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "token",
      .summary = "Make, list and revoke the tokens that let others use this ledger over HTTP",
      .use_when = "somebody else, or a program, is to use the ledger that you serve",
      .not_when = "you only use it yourself: neurolens serve prints an address with a token of its own",
      .example = R"({"action": "add", "name": "ci", "role": "write"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kManage,
      .reach = {.cli = true, .http = true, .mcp = false},
      .cost = Cost::kLight,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::token_operation
