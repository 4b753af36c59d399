#include "stress/example_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "ops/door.h"

namespace nl::stress {
namespace {

using nlohmann::json;

constexpr char kByName[] =
    "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM kernels GROUP BY name ORDER BY name";

/// Changes with other runs of the ledger or with the machine, not with the run that was asked for.
void leave_out_surroundings(const std::string& operation, json& data) {
  if (operation == "runs") data.erase("total");
  if (operation == "similar") {
    data.erase("not_comparable");
    data.erase("searched");
  }
  if (operation != "doctor") return;
  json checks = json::array();
  for (const json& check : data["checks"]) {
    if (check["check"] != "disk" && check["check"] != "ledger" && check["check"] != "staging")
      checks.push_back(check);
  }
  data["checks"] = std::move(checks);
}

bool has_surroundings(const std::string& operation) {
  return operation == "runs" || operation == "similar" || operation == "doctor";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// Every file below the folder with its bytes; the folder is empty afterwards.
std::string taken_files(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.insert(entry.path().string());
  }
  std::string text;
  for (const std::string& path : paths) text += path + "\n" + read_file(path).value() + "\n";
  for (const std::string& name : list_folder(folder)) remove_tree(folder + "/" + name);
  return text;
}

}  // namespace

std::string call_text(const Call& call) {
  return call.operation + " " + call.parameters.dump();
}

std::vector<Call> reading_calls(const Examples& e) {
  return {
      {"show", {{"run", e.one}}},
      {"show", {{"run", e.two}, {"top", 3}}},
      {"analyze", {{"run", e.one}}},
      {"analyze", {{"run", e.two}, {"window", "step:1"}}},
      {"analyze", {{"run", e.two}, {"budget", 1500}}},
      {"findings", {{"run", e.one}}},
      {"compare", {{"runs", {e.one, e.two}}}},
      {"compare", {{"runs", {e.one, e.two}}, {"window", "whole"}, {"gate", true}}},
      {"compare",
       {{"runs", {e.one, e.two}}, {"html", e.output + "/page.html"}, {"junit", e.output + "/page.xml"}}},
      {"report", {{"run", e.one}, {"output", e.output}}},
      {"lint", {{"run", e.one}}},
      {"triage", {{"run", e.one}}},
      {"suggest", {{"run", e.one}, {"top", 2}}},
      {"explain", {{"run", e.one}, {"metric", "idle_time"}}},
      {"explain", {{"run", e.one}, {"kernel", "gemm"}}},
      {"explain", {{"run", e.two}, {"span", "kernels:1"}}},
      {"fingerprint", {{"run", e.one}}},
      {"similar", {{"run", e.one}, {"top", 1}}},
      {"timeline", {{"run", e.one}, {"what", "area"}}},
      {"outliers", {{"where", {"set=fixed"}}, {"metric", "total_time"}}},
      {"trend", {{"where", {"set=fixed"}}, {"metric", "total_time"}}},
      {"runs", {{"where", {"set=fixed"}}}},
      {"runs", {{"where", {"set=fixed"}}, {"group", "format"}}},
      {"verify", {{"run", e.one}}},
      {"query", {{"run", e.one}, {"sql", kByName}}},
      {"query", {{"run", e.two}, {"sql", kByName}, {"format", "csv"}}},
      {"query", {{"run", e.two}, {"sql", "SELECT * FROM spans ORDER BY span_id"}, {"format", "json"}}},
      {"export", {{"run", e.one}}},
      {"export", {{"run", e.two}, {"output", e.output + "/run.json"}}},
      {"label", {{"run", e.one}}},
      {"live", json::object()},
      {"system", json::object()},
      {"tag", {{"run", e.one}}},
      {"note", {{"run", e.one}}},
      {"baseline", json::object()},
      {"metrics", json::object()},
      {"rules", json::object()},
      {"rules", {{"action", "show"}, {"targets", {"launch_bound"}}}},
      {"schema", json::object()},
      {"schema", {{"what", "operations"}}},
      {"schema", {{"what", "validate"}, {"target", e.run_file}}},
      {"doctor", json::object()},
  };
}

std::vector<Call> writing_calls(const Examples& e) {
  return {
      {"import", {{"paths", {e.trace}}}},
      {"import", {{"paths", {e.trace}}, {"refresh", true}, {"threads", 2}}},
      {"import", {{"paths", {e.run_file}}, {"set", {"set=other"}}}},
      {"label", {{"run", e.two}, {"labels", {"set=fixed"}}}},
      {"tag", {{"run", e.two}, {"names", {"example"}}}},
      {"note", {{"run", e.two}, {"text", "an example"}}},
      {"baseline", {{"name", "example"}, {"run", e.two}}},
      {"redact", {{"reveal", "hukoyijewavuxoqi"}}},
      {"slice", {{"run", e.two}, {"window", "whole"}}},
      {"state", {{"action", "export"}}},
      {"gc", json::object()},
      {"gc", {{"reindex", true}}},
      {"gc", {{"drop_on_the_way", true}}},
      {"demo", {{"output", e.output + "/demo"}}},
  };
}

std::vector<std::string> left_out() {
  constexpr const char* kNames[] = {"bench", "deep",   "delete", "profile", "pull", "push",
                                    "queue", "record", "token",  "view"};  // delete: others ask for the runs
  return {std::begin(kNames), std::end(kNames)};
}

std::vector<std::string> forgotten_operations() {
  std::set<std::string> reached;
  for (const std::string& name : left_out()) reached.insert(name);
  for (const Call& call : reading_calls({})) reached.insert(call.operation);
  for (const Call& call : writing_calls({})) reached.insert(call.operation);
  std::vector<std::string> forgotten;
  for (const ops::Operation* operation : ops::all_operations()) {
    if (!reached.contains(std::string(operation->name))) forgotten.emplace_back(operation->name);
  }
  return forgotten;
}

Result<std::string> answer_of(const Call& call, ops::Context context, const std::string& output) {
  const ops::Operation& operation = *ops::find_operation(call.operation);
  std::string bytes;
  if (operation.stream != ops::Stream::kNone) {
    context.bytes = [&](std::string_view more) -> Result<void> {
      bytes += more;
      return {};
    };
  }
  NL_TRY(auto outcome, ops::call(call.operation, call.parameters, context));
  if (!has_surroundings(call.operation)) bytes += operation.text(outcome, {});
  leave_out_surroundings(call.operation, outcome.data);
  std::string answer = outcome.data.dump(1) + "\n";
  for (const std::string& warning : outcome.warnings) answer += warning + "\n";
  answer += bytes;
  if (!output.empty()) answer += taken_files(output);
  return output.empty() ? answer : replaced(std::move(answer), output, "<output>");
}

std::string example_trace(int events, int slowness) {
  constexpr int kPerStep = 400, kPerOp = 4;
  std::string text =
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Example GPU",)"
      R"( "totalGlobalMem": 85899345920, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],)"
      R"( "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [)"
      R"({"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}})";
  const int step_us = kPerStep / kPerOp * 20;
  for (int event = 0, correlation = 1; event < events; event += kPerOp, correlation++) {
    const int at = event / kPerOp * 20 + 100;
    if (event % kPerStep == 0) {
      fmt::format_to(
          std::back_inserter(text),
          R"(,{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":100,"tid":100,"ts":{}.500,"dur":{}}})",
          event / kPerStep, at - 1, step_us - 1);
    }
    fmt::format_to(
        std::back_inserter(text),
        R"(,{{"ph":"X","cat":"cpu_op","name":"aten::op{0}","pid":100,"tid":100,"ts":{1},"dur":15,"args":{{"External id":{2},"Input Dims":[[64,64],[64,{3}]]}}}})"
        R"(,{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":{1}.250,"dur":4,"args":{{"correlation":{2},"External id":{2}}}}})"
        R"(,{{"ph":"s","cat":"ac2g","name":"ac2g","id":{2},"pid":100,"tid":100,"ts":{1}.250}})"
        R"(,{{"ph":"X","cat":"kernel","name":"kernel_{0}_gemm","pid":0,"tid":7,"ts":{4},"dur":{5}.125,"args":{{"device":0,"context":1,"stream":7,"correlation":{2},"External id":{2},"grid":[8,8,1],"block":[256,1,1]}}}})",
        correlation % 13, at, correlation, 64 + correlation % 13, at + 6, 4 + correlation % 5 + slowness);
  }
  return text + "]}\n";
}

}  // namespace nl::stress
