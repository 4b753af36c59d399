#include <fmt/core.h>
#include <sys/utsname.h>

#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "capture/run/python_packages.h"
#include "ops/text/text.h"

namespace nl::ops::system_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({"type": "object", "additionalProperties": false, "properties": {}})";

constexpr char kResult[] = R"({
  "definitions": {
    "known": {"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
              "properties": {"value": {"type": "string"}, "absent_reason": {"type": "string"}}},
    "list": {"type": "object", "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
             "properties": {"value": {"type": "array", "items": {"type": "string"}}, "absent_reason": {"type": "string"}}}},
  "type": "object", "required": ["software", "dependencies"],
  "properties": {
    "software": {"type": "object", "description": "each a version, or why it is not known",
                 "additionalProperties": {"$ref": "#/definitions/known"},
                 "required": ["neurolens_version", "python_version", "pytorch_version", "cuda_version", "triton_version", "driver"]},
    "dependencies": {"type": "object", "required": ["issues", "warnings", "missing", "outdated", "checked", "not_checked"],
      "properties": {
        "issues": {"$ref": "#/definitions/list"}, "warnings": {"$ref": "#/definitions/list"},
        "missing": {"$ref": "#/definitions/list"}, "outdated": {"$ref": "#/definitions/list"},
        "checked": {"type": "integer", "description": "requirements of installed packages that were held against what is installed"},
        "not_checked": {"type": "integer", "description": "requirements with conditions, or of a form that is not known"}}}}})";

constexpr Cut kCuts[] = {{"/software", kKeepAll}};

struct WantedPackage {
  const char* key;
  const char* package;
};
constexpr WantedPackage kPackages[] = {{"pytorch_version", "torch"},
                                       {"triton_version", "triton"},
                                       {"vllm_version", "vllm"},
                                       {"tensorrt_version", "tensorrt"},
                                       {"jax_version", "jax"},
                                       {"transformers_version", "transformers"},
                                       {"onnxruntime_version", "onnxruntime"}};

json known(std::string value) {
  return {{"value", std::move(value)}};
}
json absent(std::string reason) {
  return {{"absent_reason", std::move(reason)}};
}

json first_line(const char* path, const char* reason) {
  const auto text = read_file(path);
  if (!text || trimmed(*text).empty()) return absent(reason);
  return known(std::string(trimmed(split(*text, '\n').front())));
}

/// That which PyTorch was built for; else the toolkit of this machine.
json cuda_version(const capture::PythonInstallation& python) {
  if (const auto* torch = python.find("torch")) {
    const size_t at = torch->version.find("+cu");
    const std::string digits = at == std::string::npos ? "" : torch->version.substr(at + 3);
    if (digits.size() >= 3) return known(digits.substr(0, digits.size() - 1) + "." + digits.back());
  }
  for (const char* package : {"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12",
                              "nvidia-cuda-runtime-cu11"}) {
    if (const auto* runtime = python.find(package)) return known(runtime->version);
  }
  if (const auto text = read_file("/usr/local/cuda/version.json")) {
    const json toolkit = json::parse(*text, nullptr, false);
    if (toolkit.is_object() && toolkit.contains("cuda") && toolkit["cuda"].is_object() &&
        toolkit["cuda"].contains("version"))
      return known(toolkit["cuda"]["version"].is_string() ? toolkit["cuda"]["version"].get<std::string>()
                                                          : toolkit["cuda"]["version"].dump());
  }
  return absent("neither PyTorch, a package of the CUDA runtime nor /usr/local/cuda names one");
}

json driver() {
  if (const json nvidia = first_line("/sys/module/nvidia/version", ""); nvidia.contains("value"))
    return known("nvidia " + nvidia["value"].get<std::string>());
  if (const json amd = first_line("/sys/module/amdgpu/version", ""); amd.contains("value"))
    return known("amdgpu " + amd["value"].get<std::string>());
  return absent("no driver of NVIDIA or AMD is loaded");
}

json software_of(const capture::PythonInstallation& python) {
  json software = {{"neurolens_version", known(NEUROLENS_VERSION)}};
  software["python_version"] = python.version.empty() ? absent(python.why_none) : known(python.version);
  for (const auto& [key, package] : kPackages) {
    const auto* found = python.find(package);
    software[key] = found != nullptr ? known(found->version)
                    : python.version.empty()
                        ? absent(python.why_none)
                        : absent(std::string(package) + " is not installed for this Python");
  }
  software["cuda_version"] = cuda_version(python);
  software["rocm_version"] = first_line("/opt/rocm/.info/version", "there is no /opt/rocm");
  software["driver"] = driver();
  utsname system{};
  software["kernel_version"] = ::uname(&system) == 0
                                   ? known(std::string(system.sysname) + " " + system.release)
                                   : absent("the system does not say");
  return software;
}

struct Found {
  json issues = json::array(), warnings = json::array(), missing = json::array();
  int64_t checked = 0, not_checked = 0;
};

void check_needs(const capture::PythonInstallation& python, const capture::PythonPackage& package,
                 Found& found) {
  for (const capture::Requirement& need : package.needs) {
    if (need.has_marker) {
      found.not_checked++;
      continue;
    }
    const auto* installed = python.find(need.package);
    const auto fits =
        installed == nullptr ? std::optional(true) : capture::fulfils(installed->version, need.versions);
    (fits ? found.checked : found.not_checked)++;
    if (installed == nullptr)
      found.missing.push_back(
          fmt::format("{} {} needs {}{}", package.name, package.version, need.package, need.versions));
    else if (fits && !*fits)
      found.issues.push_back(fmt::format("{} {} needs {}{}, but {} is installed", package.name,
                                         package.version, need.package, need.versions, installed->version));
  }
}

/// The oldest drivers that run programs of a major version of CUDA without a package for compatibility.
constexpr std::pair<int, int> kLeastDriver[] = {{11, 450}, {12, 525}, {13, 580}};

void check_driver(const json& software, Found& found) {
  if (!software["driver"].contains("value") || !software["cuda_version"].contains("value")) return;
  const std::string driver = software["driver"]["value"], cuda = software["cuda_version"]["value"];
  if (!driver.starts_with("nvidia ")) return;
  int driver_major = 0, cuda_major = 0;
  std::from_chars(driver.data() + 7, driver.data() + driver.size(), driver_major);
  std::from_chars(cuda.data(), cuda.data() + cuda.size(), cuda_major);
  for (const auto& [major, least] : kLeastDriver) {
    if (major == cuda_major && driver_major < least)
      found.issues.push_back(fmt::format("CUDA {} needs a driver of version {} or later, but {} is loaded",
                                         cuda, least, driver.substr(7)));
  }
}

json dependencies_of(const capture::PythonInstallation& python, const json& software) {
  Found found;
  for (size_t i = 0; i < python.packages.size(); i++) {
    const auto& package = python.packages[i];
    if (i > 0 && python.packages[i - 1].name == package.name) {
      found.warnings.push_back(fmt::format("{} is installed twice: {} and {}", package.name,
                                           python.packages[i - 1].version, package.version));
      continue;
    }
    check_needs(python, package, found);
  }
  check_driver(software, found);
  const auto listed = [&](json& list) {
    return python.version.empty() && list.empty() ? absent(python.why_none)
                                                  : json{{"value", std::move(list)}};
  };
  return {{"issues", listed(found.issues)},
          {"warnings", listed(found.warnings)},
          {"missing", listed(found.missing)},
          {"outdated", absent("the list of packages on the network is not asked")},
          {"checked", found.checked},
          {"not_checked", found.not_checked}};
}

Result<Outcome> run(Context& context, const json&) {
  const auto python = capture::python_installation(*context.environment);
  Outcome outcome;
  outcome.data["software"] = software_of(python);
  outcome.data["dependencies"] = dependencies_of(python, outcome.data["software"]);
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft});
  for (const auto& [name, one] : outcome.data["software"].items())
    table.add({name, one.contains("value") ? one["value"].get<std::string>()
                                           : "not known: " + one["absent_reason"].get<std::string>()});
  std::string out = table.text("", false, style) + "\n";
  const json& dependencies = outcome.data["dependencies"];
  for (const char* kind : {"issues", "missing", "warnings", "outdated"}) {
    const json& list = dependencies[kind];
    if (!list.contains("value")) {
      out += fmt::format("{}: not checked, since {}\n", kind, list["absent_reason"].get<std::string>());
      continue;
    }
    out += fmt::format("{}: {}\n", kind,
                       list["value"].empty() ? "none found" : std::to_string(list["value"].size()));
    for (const json& line : list["value"]) out += "  " + line.get<std::string>() + "\n";
  }
  return out + dim(fmt::format("{} of installed packages checked, {} not: they hold only under conditions\n",
                               counted(dependencies["checked"], "requirement"),
                               grouped(dependencies["not_checked"])),
                   style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "system",
      .summary =
          "Versions on this machine: driver, CUDA, PyTorch, Python, Triton, GPU, and whether they fit "
          "together",
      .use_when =
          "you ask what software stack or libraries are installed on this host, or whether driver and "
          "toolkit are compatible, outdated or mismatch",
      .not_when = "you ask about neurolens itself: doctor",
      .example = "{}",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::system_operation
