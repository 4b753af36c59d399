#include "ops/site/recorded_answers.h"

#include <algorithm>

#include "base/call_control.h"
#include "base/files.h"
#include "base/text.h"
#include "ops/envelope.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kNotRecorded[] = "not_recorded";  // as web/src/offline/recorded.ts knows it
constexpr size_t kMostText = 32 << 20;

/// What words of the list stand for.
using Words = std::map<std::string, std::string>;

json filled(json value, const Words& words) {
  if (value.is_string()) {
    const auto found = words.find(value.get<std::string>());
    return found == words.end() ? value : json(found->second);
  }
  if (value.is_structured()) {
    for (json& one : value) one = filled(one, words);
  }
  return value;
}

bool mentions(const json& value, std::string_view word) {
  if (value.is_string()) return value.get<std::string>() == word;
  return value.is_structured() &&
         std::any_of(value.begin(), value.end(), [&](const json& one) { return mentions(one, word); });
}

/// One that is not in the ledger is asked for by its path, and known by its id.
struct Asked {
  Words told;
  Words called;
};

class Recorder {
 public:
  Recorder(const SiteRuns& site, const AskOperation& ask, const Context& context)
      : site_(site), ask_(ask), context_(context) {}

  Result<void> record(const json& one, const Asked& words, AnswerPart& part) {
    if (mentions(one["parameters"], "WINDOW")) return for_each(one, words, "WINDOW", site_.windows, part);
    if (mentions(one["parameters"], "RULE")) return for_each(one, words, "RULE", rules_, part);
    NL_CHECK(check_cancelled());
    const std::string operation = one["operation"];
    NL_TRY(const json envelope, answer(operation, filled(one["parameters"], words.called)));
    part.add(operation, filled(one["parameters"], words.told), envelope);
    if (operation == "rules" && envelope.contains("data") && rules_.empty()) {
      for (const json& rule : envelope["data"].value("rules", json::array())) rules_.push_back(rule["id"]);
    }
    return {};
  }

 private:
  Result<void> for_each(const json& one, Asked words, const std::string& word,
                        const std::vector<std::string>& values, AnswerPart& part) {
    for (const std::string& value : values) {
      words.told[word] = words.called[word] = value;
      json filled_in = one;
      filled_in["parameters"] = filled(one["parameters"], {{word, value}});
      NL_CHECK(record(filled_in, words, part));
    }
    return {};
  }

  Result<json> answer(const std::string& operation, const json& parameters) const {
    if (operation == "document") return document_of(parameters["run"]);
    std::string bytes;
    const auto outcome = ask_(operation, parameters, bytes);
    if (!outcome) {
      if (outcome.error().code == ErrorCode::kCancelled) return outcome.error();
      return json{{"error", error_envelope(operation, outcome.error(), context_.spell)["error"]}};
    }
    if (!bytes.empty()) return text_answer(operation, parameters, bytes);
    const json envelope = envelope_of(operation, *outcome, context_.spell);
    return json{{"data", envelope["data"]},
                {"warnings", envelope.value("warnings", json::array())},
                {"next", envelope.value("next", json::array())}};
  }

  json text_answer(const std::string& operation, const json& parameters, const std::string& bytes) const {
    const std::string text = without_shared_frames(bytes);
    if (text.size() <= kMostText) return {{"data", text}};
    return {{"error",
             {{"code", kNotRecorded},
              {"message", "This is too large for the file."},
              {"hint", context_.spell({operation, parameters.dump()})}}}};
  }

  Result<json> document_of(const std::string& run) const {
    for (const NamedRun& named : site_.runs) {
      if (named.run_id != run && named.path != run) continue;
      NL_TRY(const std::string text, read_file(named.bundle + "/run.json"));
      return json{{"data", json::parse(text, nullptr, false)}};
    }
    return Error{ErrorCode::kInternal, "the run is not one of the site"};
  }

  const SiteRuns& site_;
  const AskOperation& ask_;
  const Context& context_;
  std::vector<std::string> rules_;
};

std::string called(const NamedRun& run) {
  return run.path.empty() ? run.run_id : run.path;
}

}  // namespace

void AnswerPart::add(const std::string& operation, const json& parameters, const json& envelope) {
  const std::string text = compact_json(envelope);
  const auto [place, is_new] = places_.emplace(text, envelopes_.size());
  if (is_new) envelopes_.push_back(text);
  keys_[operation + " " + compact_json(parameters)] = place->second;
}

std::string AnswerPart::text() const {
  std::string out = "{\"keys\":" + compact_json(json(keys_)) + ",\"envelopes\":[";
  for (size_t i = 0; i < envelopes_.size(); i++) out += (i == 0 ? "" : ",") + envelopes_[i];
  return out + "]}";
}

Result<SiteRuns> site_runs(Context& context, const json& names, std::vector<std::string> windows) {
  SiteRuns site;
  for (const json& name : names) {
    NL_TRY(NamedRun run, resolve_run(context, name));
    const auto is_same = [&](const NamedRun& other) { return other.run_id == run.run_id; };
    if (std::none_of(site.runs.begin(), site.runs.end(), is_same)) site.runs.push_back(std::move(run));
  }
  for (std::string& window : windows) {
    if (std::find(site.windows.begin(), site.windows.end(), window) == site.windows.end())
      site.windows.push_back(std::move(window));
  }
  return site;
}

Result<void> record_answers(
    std::string_view asks, const SiteRuns& site, const AskOperation& ask, const Context& context,
    const std::function<Result<void>(const std::string& name, std::string text)>& take) {
  const json list = json::parse(asks);
  Recorder recorder(site, ask, context);
  AnswerPart all, pairs;
  for (size_t i = 0; i < site.runs.size(); i++) {
    const NamedRun& run = site.runs[i];
    context.progress({"asking", static_cast<double>(i) / static_cast<double>(site.runs.size())});
    const Asked words{{{"RUN", run.run_id}}, {{"RUN", called(run)}}};
    AnswerPart own;
    for (const json& one : list) {
      const bool is_of_run = mentions(one["parameters"], "RUN");
      if (is_of_run) NL_CHECK(recorder.record(one, words, one["part"] == "run" ? own : all));
    }
    NL_CHECK(take(run.run_id, own.text()));
  }
  for (const json& one : list) {
    if (one["part"] == "all" && !mentions(one["parameters"], "RUN")) NL_CHECK(recorder.record(one, {}, all));
  }
  const size_t compared = site.runs.size() <= kMostCompared ? site.runs.size() : 0;
  for (size_t i = 0; i < compared; i++) {
    for (size_t k = i + 1; k < compared; k++) {
      const NamedRun &base = site.runs[i], &next = site.runs[k];
      const Asked words{{{"BASE", base.run_id}, {"NEW", next.run_id}},
                        {{"BASE", called(base)}, {"NEW", called(next)}}};
      for (const json& one : list) {
        if (one["part"] == "pairs") NL_CHECK(recorder.record(one, words, pairs));
      }
    }
  }
  NL_CHECK(take("all", all.text()));
  return take("pairs", pairs.text());
}

std::string without_shared_frames(std::string_view text) {
  std::string out;
  std::string_view before;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    size_t shared = 0, at = 0;
    for (size_t i = 0; i < std::min(line.size(), before.size()) && line[i] == before[i]; i++) {
      if (line[i] != ';') continue;
      shared++;
      at = i + 1;
    }
    out += std::to_string(shared) + " " + std::string(line.substr(at));
    if (end < text.size()) out += '\n';
    before = line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace nl::ops
