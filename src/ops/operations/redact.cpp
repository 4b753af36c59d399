#include <fmt/core.h>

#include "base/files.h"
#include "ops/text/text.h"
#include "redact/pseudonyms.h"
#include "store/ledger.h"

namespace nl::ops::redact_operation {
namespace {

using nlohmann::json;

constexpr int64_t kMostBytes = 64 << 20;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "reveal": {"type": "string", "description": "a text with pseudonyms, such as a finding that a partner sent: say it in the names of the original"},
    "file": {"type": "string", "x-host-path": true, "description": "the same for what a file says"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["pseudonyms"],
  "properties": {
    "pseudonyms": {"type": "integer", "description": "how many the ledger has given out"},
    "text": {"type": "string", "description": "the text, in the names of the original"}
  }})";

Result<std::string> text_to_reveal(const json& parameters) {
  if (!parameters.contains("file")) return parameters.value("reveal", "");
  if (parameters.contains("reveal"))
    return Error{ErrorCode::kBadInput, "--reveal and --file exclude each other"};
  return read_small_file(parameters["file"], kMostBytes);
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const std::string shown, text_to_reveal(parameters));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto known, ledger.state().pseudonyms());
  Outcome outcome;
  outcome.data["pseudonyms"] = known.size();
  if (parameters.empty()) {
    outcome.next.push_back(
        suggested("export", {{"run", "RUN"}, {"format", "nlz"}, {"redact", ""}, {"output", "run.nlz"}}));
    outcome.next.push_back(suggested("redact", {{"reveal", "TEXT"}}));
    return outcome;
  }
  const std::string original = redact::revealed(shown, known);
  if (original == shown) outcome.warnings.emplace_back("the text has no pseudonym of this ledger");
  outcome.data["text"] = original;
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& /*style*/) {
  if (outcome.data.contains("text")) {
    const auto& said = outcome.data["text"].get_ref<const std::string&>();
    return said + (said.ends_with('\n') ? "" : "\n");
  }
  return fmt::format("{} given out; the key stays in this ledger\n",
                     counted(outcome.data["pseudonyms"], "pseudonym"));
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "redact",
      .summary = "Say a text with pseudonyms of a redacted run in the names of the original",
      .use_when = "somebody answers about a run that you sent with export --redact",
      .not_when = "you want to make a redacted run: export --redact",
      .example = R"({"reveal": "hukoyijewavuxoqi takes 40 % of the time"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = false, .mcp = false},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::redact_operation
