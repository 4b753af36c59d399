#include "mcp/operations/prompts.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/safe_text.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

constexpr size_t kMostArgumentBytes = 500;

struct PromptArgument {
  const char* name;
  const char* description;
};

struct Prompt {
  const char* name;
  const char* description;
  std::span<const PromptArgument> arguments;
  const char* text;  ///< {name} stands for an argument
};

constexpr PromptArgument kOneRun[] = {{"run", "run id, tag or @latest"}};
constexpr PromptArgument kTwoRuns[] = {{"base", "the run before: id, tag, @latest~1 or @baseline:NAME"},
                                       {"new", "the run after: id, tag or @latest"}};

constexpr Prompt kPrompts[] = {
    {"why_is_this_run_slow", "Find out what limits a run, and what to try first", kOneRun,
     R"(Find out why the run {run} is slow.
1. Call `triage` with run={run}. If its trust is not good, say so first, with the reasons. If it is poor, stop: the run must be recorded again.
2. Call `explain` with run={run} and the finding of the first action. Check that its evidence supports it.
3. Call `suggest` with run={run}. Gains of the same device do not overlap and may be added; those of different devices or ranks may not.
4. If a figure needs a closer look, call `analyze` with run={run}, or `query` with one SELECT; `schema` lists the tables.
End with: what limits the run, how sure that is, and at most three things to try, the most promising first.)"},
    {"make_this_faster", "Improve a program step by step: measure, change one thing, compare, keep or revert",
     kOneRun,
     R"(Make what the run {run} measures faster, one change at a time.
1. Ask for the goal if none was given: a time, or a share of the time. Without a goal there is no end.
2. Call `triage` with run={run}. If its trust is poor, stop: the run must be recorded again.
3. Call `suggest` with run={run}. Take the first suggestion whose change is in your hands. If there is none, stop and say what is left.
4. Make that one change, and nothing else. Check first that the results are still right.
5. Record at least four runs before and four after the change, in turn, so that both meet the same state of the machine. Label the new ones follows=RUN and applied=RULE:N.
6. Call `compare` with base=[…] and new=[…]. Keep the change only if the verdict is improvement; else take it back. Inconclusive is no improvement: record more runs, or take it back.
7. If the goal is reached, stop. Else go on with the newest run from step 2.
End with: each change, its verdict and interval, what was kept, and whether `findings` with score=true says that the promises held.)"},
    {"what_changed", "Find out what changed between two runs", kTwoRuns,
     R"(Find out what changed from the run {base} to the run {new}.
1. Call `compare` with runs=[{base}, {new}]. Say first whether the two runs can be compared at all.
2. Give the difference in total, and the changes that make up most of it: which kernels, layers or idle causes.
3. Call `show` with run={base} and with run={new}, and name differences of hardware, software and labels that may be the reason.
End with one sentence: what changed, by how much, and the most likely reason.)"},
    {"is_this_regression_real", "Tell a regression from noise", kTwoRuns,
     R"(Find out whether the run {new} is really slower than {base}.
1. Call `compare` with runs=[{base}, {new}]. If it has one run on each side, it cannot tell noise: say so.
2. Call `runs` to look for repeats of either side (the same labels), and call `compare` again with base=[…] and new=[…] if there are any.
3. Call `trend` for the metric that got worse: is {new} the first run at the new level, or has the level moved before?
4. Call `outliers` to see whether one of the runs is unlike its peers.
End with: real, noise or not decidable, the evidence for it, and which runs to record next if it is not decidable.)"},
};

std::string replaced(std::string text, const std::string& mark, const std::string& value) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

json prompt_json(const Prompt& prompt) {
  json arguments = json::array();
  for (const PromptArgument& one : prompt.arguments)
    arguments.push_back({{"name", one.name}, {"description", one.description}, {"required", true}});
  return {{"name", prompt.name}, {"description", prompt.description}, {"arguments", std::move(arguments)}};
}

Fault wrong_argument(const char* name) {
  return {kInvalidParams, std::string("this argument must be a short text: ") + name};
}

}  // namespace

json prompts() {
  json list = json::array();
  for (const Prompt& prompt : kPrompts) list.push_back(prompt_json(prompt));
  return list;
}

Reply filled_prompt(const std::string& name, const json& arguments) {
  const auto* const prompt = std::find_if(std::begin(kPrompts), std::end(kPrompts),
                                          [&](const Prompt& one) { return one.name == name; });
  if (prompt == std::end(kPrompts)) return Fault{kInvalidParams, "there is no such prompt"};
  std::string text = prompt->text;
  for (const PromptArgument& one : prompt->arguments) {
    const std::string value = text_of(arguments, one.name);
    if (value.empty() || value.size() > kMostArgumentBytes) return wrong_argument(one.name);
    text = replaced(std::move(text), std::string("{") + one.name + "}", text_for_people(value, false));
  }
  const json content = {{"type", "text"}, {"text", text}};
  return json{{"description", prompt->description},
              {"messages", json::array({json{{"role", "user"}, {"content", content}}})}};
}

}  // namespace nl::mcp
