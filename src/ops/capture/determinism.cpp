#include "ops/capture/determinism.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "base/small_json.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr int64_t kMostReportBytes = 64 * 1024;
constexpr std::array kChecks = {"output", "python_hash_seed", "seeds", "torch_algorithms",
                                "cudnn",  "cublas_workspace", "clocks"};

struct Finding {
  const char* status = "absent";
  json value = nullptr;
  std::string reason = {};
};

Finding absent(std::string reason) {
  return {"absent", nullptr, std::move(reason)};
}

/// What Python processes said, pass by pass; what cannot be read is left out.
using Reports = std::vector<std::vector<json>>;

std::vector<json> reports_in(const std::string& folder) {
  std::vector<json> reports;
  for (const std::string& name : list_folder(folder)) {
    if (!name.starts_with("process-") || !name.ends_with(".json")) continue;
    const auto text = read_small_file(folder + "/" + name, kMostReportBytes);
    json report = text ? parse_small_json(*text) : json();
    if (report.is_object()) reports.push_back(std::move(report));
  }
  return reports;
}

class Checker {
 public:
  Checker(const Workload& workload, const DeterminismFacts& facts) : workload_(workload), facts_(facts) {
    for (const std::string& folder : facts.passes) reports_.push_back(reports_in(folder));
  }

  Finding output() const {
    if (facts_.repeats.size() < 2) return absent("there was one run without a tool: --repeats 2 or more");
    std::set<std::string> seen;
    for (const std::string& folder : facts_.repeats) {
      const auto sha256 = sha256_of_file(folder + "/stdout.txt");
      if (!sha256) return absent("the output cannot be read");
      seen.insert(*sha256);
    }
    if (seen.size() == 1) return {"fixed", *seen.begin()};
    return {"open", static_cast<int64_t>(seen.size()), "the standard output differs between the runs"};
  }

  Finding python_hash_seed() const {
    if (!is_python()) return absent("no Python process is known: none imports neurolens");
    const std::string seed = variable("PYTHONHASHSEED");
    if (!seed.empty() && seed != "random") return {"fixed", seed};
    return {"open", nullptr, "PYTHONHASHSEED is not set: sets of text have another order in each process"};
  }

  /// The seed that PyTorch began with, of each process.
  Finding seeds() const {
    return of_torch("initial_seed", [](const std::vector<json>& passes) -> Finding {
      if (std::equal(passes.begin() + 1, passes.end(), passes.begin())) return {"fixed", passes[0]};
      return {"open", nullptr, "the seed of PyTorch differs between the runs: torch.manual_seed sets it"};
    });
  }

  Finding torch_algorithms() const {
    return of_torch("deterministic_algorithms", [](const std::vector<json>& passes) -> Finding {
      if (all_are(passes, true)) return {"fixed", true};
      return {"open", false, "torch.use_deterministic_algorithms(True) is not set"};
    });
  }

  Finding cudnn() const {
    if (facts_.gpus.is_object()) return absent(no_gpu());
    return of_torch("cudnn", [](const std::vector<json>& passes) -> Finding {
      if (all_are(passes, {{"benchmark", false}, {"deterministic", true}})) return {"fixed", passes[0][0]};
      return {"open", passes[0][0], "torch.backends.cudnn wants deterministic = True and benchmark = False"};
    });
  }

  Finding cublas_workspace() const {
    if (facts_.gpus.is_object()) return absent(no_gpu());
    const std::string given = variable("CUBLAS_WORKSPACE_CONFIG");
    if (given == ":4096:8" || given == ":16:8") return {"fixed", given};
    return {"open", nullptr, "CUBLAS_WORKSPACE_CONFIG is neither :4096:8 nor :16:8"};
  }

  Finding clocks() const {
    if (facts_.gpus.is_object()) return absent(no_gpu());
    return absent(
        "nvidia-smi does not say whether clocks are locked; nvidia-smi --lock-gpu-clocks locks them");
  }

 private:
  std::string no_gpu() const { return facts_.gpus.value("absent", "no GPU of NVIDIA is known"); }

  std::string variable(const std::string& name) const {
    std::string value;
    for (const std::string& one : facts_.variables) {
      if (one.starts_with(name + "=")) value = one.substr(name.size() + 1);
    }
    return value;
  }

  bool is_python() const {
    const std::string program = workload_.command.empty() ? "" : base_name(workload_.command[0]);
    return program.starts_with("python") ||
           std::any_of(reports_.begin(), reports_.end(), [](const auto& pass) { return !pass.empty(); });
  }

  static bool all_are(const std::vector<json>& passes, const json& wanted) {
    return std::all_of(passes.begin(), passes.end(), [&](const json& pass) {
      return std::all_of(pass.begin(), pass.end(), [&](const json& value) { return value == wanted; });
    });
  }

  /// `judge` gets the values of each pass, sorted: processes end in any order.
  Finding of_torch(const char* key, const std::function<Finding(const std::vector<json>&)>& judge) const {
    std::vector<json> passes;
    for (const auto& reports : reports_) {
      std::vector<json> values;
      for (const json& report : reports) {
        const json torch = report.value("torch", json());
        if (torch.is_object() && torch.contains(key)) values.push_back(torch[key]);
      }
      std::sort(values.begin(), values.end());
      if (!values.empty()) passes.emplace_back(std::move(values));
    }
    if (!passes.empty()) return judge(passes);
    return absent("no process with PyTorch said it: those that import neurolens do when they end");
  }

  const Workload& workload_;
  const DeterminismFacts& facts_;
  Reports reports_;
};

}  // namespace

Result<void> check_allowed(const Workload& workload) {
  for (const auto& [check, reason] : workload.allow) {
    if (std::find(kChecks.begin(), kChecks.end(), check) == kChecks.end())
      return Error{ErrorCode::kBadInput, "no such check of determinism: " + check.substr(0, 64),
                   "there are output, python_hash_seed, seeds, torch_algorithms, cudnn, cublas_workspace and "
                   "clocks"};
    if (reason.empty()) return Error{ErrorCode::kBadInput, "allow." + check + " needs a reason"};
  }
  return {};
}

json check_determinism(const Workload& workload, const DeterminismFacts& facts) {
  const Checker checker(workload, facts);
  const std::array findings = {
      checker.output(), checker.python_hash_seed(), checker.seeds(), checker.torch_algorithms(),
      checker.cudnn(),  checker.cublas_workspace(), checker.clocks()};
  static_assert(findings.size() == kChecks.size());
  json checks = json::array();
  for (size_t i = 0; i < findings.size(); i++) {
    json check = {{"check", kChecks[i]}, {"status", findings[i].status}, {"value", findings[i].value}};
    if (!findings[i].reason.empty()) check["reason"] = findings[i].reason;
    const auto allowed = workload.allow.find(kChecks[i]);
    if (check["status"] == "open" && allowed != workload.allow.end()) {
      check["status"] = "allowed";
      check["reason"] = allowed->second;
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace nl::ops
