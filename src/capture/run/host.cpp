#include "capture/run/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>

#include "base/decimal.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/process.h"
#include "base/redact.h"
#include "base/text.h"

namespace nl::capture {
namespace {

using nlohmann::json;

constexpr int64_t kMostBytes = 4 << 20;  // /proc/cpuinfo of a large machine

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// `name = value` with any of the separators around.
std::optional<std::string> value_in(const std::string& text, std::string_view name, char separator) {
  for (const std::string& line : lines_of(text)) {
    const size_t at = line.find(separator);
    if (at != std::string::npos && trimmed(std::string_view(line).substr(0, at)) == name)
      return std::string(trimmed(std::string_view(line).substr(at + 1)));
  }
  return std::nullopt;
}

/// One description in the making: a value, or the reason why there is none.
class Description {
 public:
  explicit Description(std::string root) : root_(std::move(root)) {}

  std::optional<std::string> text(const std::string& path) const {
    auto read = read_small_file(root_ + path, kMostBytes);
    if (!read) return std::nullopt;
    return std::string(trimmed(*read));
  }
  std::optional<int64_t> number(const std::string& path) const {
    const auto found = text(path);
    int64_t value = 0;
    if (!found || !parse_int64(*found, value)) return std::nullopt;
    return value;
  }
  std::vector<std::string> folder(const std::string& path) const { return list_folder(root_ + path); }

  template <class T>
  void add(const char* name, const std::optional<T>& value, const std::string& reason) {
    if (value) {
      json_[name] = *value;
    } else {
      json_["absent"][name] = reason;
    }
  }
  void add(const char* name, json value) { json_[name] = std::move(value); }
  json take() { return std::move(json_); }

 private:
  std::string root_;
  json json_ = json::object();
};

/// The fields of each processor of /proc/cpuinfo.
int64_t distinct(const std::string& cpuinfo, const std::vector<std::string_view>& names) {
  std::set<std::string> seen;
  std::string key;
  for (const std::string& line : lines_of(cpuinfo + "\n\n")) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) {
      if (!key.empty()) seen.insert(key);
      key.clear();
      continue;
    }
    const std::string_view name = trimmed(std::string_view(line).substr(0, colon));
    if (std::find(names.begin(), names.end(), name) != names.end())
      key.append(trimmed(std::string_view(line).substr(colon + 1))).append("/");
  }
  return static_cast<int64_t>(seen.size());
}

/// Vector and matrix units, as the kernel names them.
json units_of(const std::string& cpuinfo) {
  constexpr std::string_view kUnits[] = {"avx2",        "fma",      "avx512f",  "avx512_vnni",
                                         "avx512_bf16", "avx_vnni", "amx_tile", "asimd",
                                         "sve",         "sve2",     "bf16",     "i8mm"};
  const std::string flags =
      " " + value_in(cpuinfo, "flags", ':').value_or(value_in(cpuinfo, "Features", ':').value_or("")) + " ";
  json units = json::array();
  for (const std::string_view unit : kUnits) {
    if (has_part(flags, " " + std::string(unit) + " ")) units.push_back(unit);
  }
  return units;
}

std::optional<int64_t> positive(int64_t n) {
  return n > 0 ? std::optional(n) : std::nullopt;
}

json describe_processors(const std::string& root) {
  Description cpu(root);
  const std::string cpuinfo = cpu.text("/proc/cpuinfo").value_or("");
  cpu.add("model", value_in(cpuinfo, "model name", ':'), "/proc/cpuinfo names none");
  cpu.add("threads", positive(distinct(cpuinfo, {"processor"})), "/proc/cpuinfo lists none");
  cpu.add("cores", positive(distinct(cpuinfo, {"physical id", "core id"})), "/proc/cpuinfo has no core ids");
  cpu.add("sockets", positive(distinct(cpuinfo, {"physical id"})), "/proc/cpuinfo has no socket ids");
  int64_t nodes = 0;
  for (const std::string& name : cpu.folder("/sys/devices/system/node"))
    nodes += name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos ? 1 : 0;
  cpu.add("numa_nodes", positive(nodes), "no nodes in /sys/devices/system/node");
  const std::string frequency = "/sys/devices/system/cpu/cpu0/cpufreq/";
  const std::string reason = "no cpufreq in /sys: this system can neither see nor choose the frequency";
  cpu.add("governor", cpu.text(frequency + "scaling_governor"), reason);
  cpu.add("max_khz", cpu.number(frequency + "cpuinfo_max_freq"), reason);
  cpu.add("current_khz", cpu.number(frequency + "scaling_cur_freq"), reason);
  cpu.add("units", units_of(cpuinfo));
  return cpu.take();
}

/// "MemTotal:  123 kB".
std::optional<int64_t> memory_line(const std::string& meminfo, std::string_view name) {
  const auto text = value_in(meminfo, name, ':');
  int64_t kilobytes = 0;
  if (!text || !parse_int64(text->substr(0, text->find(' ')), kilobytes)) return std::nullopt;
  return kilobytes * 1024;
}

json describe_memory(const std::string& root) {
  Description memory(root);
  const std::string meminfo = memory.text("/proc/meminfo").value_or("");
  for (const auto& [name, line] :
       {std::pair{"total_bytes", "MemTotal"}, std::pair{"available_bytes", "MemAvailable"},
        std::pair{"swap_bytes", "SwapTotal"}})
    memory.add(name, memory_line(meminfo, line), std::string("/proc/meminfo has no ") + line);
  memory.add("huge_pages", memory.text("/sys/kernel/mm/transparent_hugepage/enabled"),
             "no transparent_hugepage in /sys");
  return memory.take();
}

/// The folder of this process in the version 2 hierarchy, or of one controller in version 1.
std::string control_group(const Description& files, std::string_view controller) {
  for (const std::string& line : lines_of(files.text("/proc/self/cgroup").value_or(""))) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return "/";
}

/// What a container may use, by control groups of either version.
json describe_limits(const std::string& root) {
  Description limits(root);
  const std::string unified = "/sys/fs/cgroup" + control_group(limits, "");
  std::optional<double> processors;
  const auto quota = limits.text(unified + "/cpu.max");
  if (quota && !quota->starts_with("max")) {
    double most = 0, period = 0;
    if (std::istringstream(*quota) >> most >> period && period > 0) processors = most / period;
  }
  const auto old_quota =
      limits.number("/sys/fs/cgroup/cpu" + control_group(limits, "cpu") + "/cpu.cfs_quota_us");
  const auto old_period =
      limits.number("/sys/fs/cgroup/cpu" + control_group(limits, "cpu") + "/cpu.cfs_period_us");
  if (old_quota && old_period && *old_quota > 0 && *old_period > 0)
    processors = static_cast<double>(*old_quota) / static_cast<double>(*old_period);
  limits.add("processors", processors, "no control group limits them");
  auto memory = limits.number(unified + "/memory.max");
  if (!memory)
    memory =
        limits.number("/sys/fs/cgroup/memory" + control_group(limits, "memory") + "/memory.limit_in_bytes");
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 says a number near 2^63
  if (memory && *memory >= kNoLimit) memory.reset();
  limits.add("memory_bytes", memory, "no control group limits it");
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (root.empty() && ::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    limits.add("allowed_threads", CPU_COUNT(&allowed));
  return limits.take();
}

std::optional<std::string> virtualisation(const Description& files) {
  const auto product = files.text("/sys/class/dmi/id/product_name");
  const auto vendor = files.text("/sys/class/dmi/id/sys_vendor");
  const auto hypervisor = files.text("/sys/hypervisor/type");
  const bool guest =
      has_part(" " + value_in(files.text("/proc/cpuinfo").value_or(""), "flags", ':').value_or("") + " ",
               " hypervisor ");
  if (hypervisor) return *hypervisor;
  if (!guest) return std::nullopt;
  const std::string name(trimmed(vendor.value_or("") + " " + product.value_or("")));
  return name.empty() ? "virtual machine" : name;
}

bool in_container(const Description& files) {
  const std::string groups = files.text("/proc/self/cgroup").value_or("");
  return files.text("/.dockerenv").has_value() || files.text("/run/.containerenv").has_value() ||
         has_part(groups, "docker") || has_part(groups, "kubepods");
}

std::string unquoted_value(std::string text) {
  std::erase(text, '"');
  return text;
}

constexpr std::array kPrefixes = {
    "OMP_",    "GOMP_",   "KMP_",       "MKL_",      "OPENBLAS_", "BLIS_",   "DNNL_",         "ONEDNN_",
    "CUDA_",   "CUDNN_",  "CUBLAS_",    "NVIDIA_",   "NCCL_",     "ORT_",    "TORCH",         "PYTORCH_",
    "TRITON_", "TF_NUM_", "TF_ENABLE_", "TF_XLA_",   "TF_GPU_",   "TF_CPP_", "XLA_",          "JAX_",
    "HIP_",    "ROCR_",   "HSA_",       "MIOPEN_",   "RCCL_",     "VLLM_",   "SGLANG_",       "SGL_",
    "TRT_",    "TRTLLM_", "OV_",        "OPENVINO_", "MALLOC_",   "GLIBC_",  "TRANSFORMERS_", "NEUROLENS_"};
constexpr std::array kNames = {"LD_PRELOAD", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "RANK",
                               "LOCAL_RANK", "WORLD_SIZE",     "SLURM_JOB_ID",   "SLURM_NTASKS",
                               "TZ",         "LANG",           "SLURM_PROCID",   "CONDA_DEFAULT_ENV"};
constexpr std::array kWithheldWords = {"KEY", "TOKEN",  "SECRET",    "PASS",  "CREDENTIAL", "AUTH",
                                       "PWD", "COOKIE", "SIGNATURE", "LOGIN", "USER"};
constexpr size_t kMostValueBytes = 256;

bool is_listed(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](const char* prefix) { return name.starts_with(prefix); });
}

bool speaks_of_a_secret(std::string_view name) {
  return std::any_of(kWithheldWords.begin(), kWithheldWords.end(),
                     [name](const char* word) { return has_part(name, word); });
}

/// A setting is short and holds neither a place of the machine nor one of the network.
bool is_setting(std::string_view value) {
  return value.size() <= kMostValueBytes && !has_part(value, "/") && !has_part(value, "@");
}

/// What git says of a folder, without touching it.
std::optional<std::string> said_by_git(const Environment& surroundings, const std::string& folder,
                                       std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"-C", folder});
  return output_of(surroundings, "git", std::move(arguments), {"GIT_OPTIONAL_LOCKS=0"});
}

}  // namespace

json describe_host(const std::string& root) {
  Description host(root);
  host.add("name", host.text("/proc/sys/kernel/hostname"), "/proc does not say");
  host.add("kernel", host.text("/proc/sys/kernel/osrelease"), "/proc does not say");
  const auto system = value_in(host.text("/etc/os-release").value_or(""), "PRETTY_NAME", '=');
  host.add("system", system ? std::optional(unquoted_value(*system)) : std::nullopt, "no /etc/os-release");
  host.add("virtualisation", virtualisation(host), "the processor does not report a hypervisor");
  host.add("container", in_container(host));
  host.add("processors", describe_processors(root));
  host.add("memory", describe_memory(root));
  host.add("limits", describe_limits(root));
  return host.take();
}

std::string boot_id() {
  return Description("").text("/proc/sys/kernel/random/boot_id").value_or("");
}

json describe_gpus(const Environment& surroundings) {
  const std::vector<std::string> fields = {
      "index",     "name",        "driver_version", "memory.total",     "compute_cap",     "clocks.max.sm",
      "clocks.sm", "power.limit", "pstate",         "persistence_mode", "mig.mode.current"};
  std::string query;
  for (const std::string& field : fields) query += (query.empty() ? "" : ",") + field;
  if (find_in_path(surroundings, "nvidia-smi").empty())
    return {{"absent", "no nvidia-smi: no NVIDIA driver is installed"}};
  const auto said =
      output_of(surroundings, "nvidia-smi", {"--query-gpu=" + query, "--format=csv,noheader,nounits"});
  if (!said) return {{"absent", "nvidia-smi failed: the driver is not loaded, or no GPU is visible"}};
  json gpus = json::array();
  for (const std::string& line : lines_of(*said)) {
    json gpu = json::object();
    std::istringstream cells(line);
    std::string cell;
    for (size_t i = 0; i < fields.size() && std::getline(cells, cell, ','); i++)
      gpu[fields[i]] = trimmed(cell);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

json describe_checkout(const Environment& surroundings, const std::string& folder) {
  const auto commit = said_by_git(surroundings, folder, {"rev-parse", "HEAD"});
  if (!commit) return nullptr;
  json checkout = {{"commit", *commit}};
  const auto branch = said_by_git(surroundings, folder, {"rev-parse", "--abbrev-ref", "HEAD"});
  if (branch && *branch != "HEAD") checkout["branch"] = *branch;
  const auto changes = said_by_git(surroundings, folder, {"status", "--porcelain", "--untracked-files=no"});
  if (changes) checkout["changed_files"] = lines_of(*changes).size();
  return checkout;
}

json describe_environment(const std::vector<std::string>& variables) {
  json kept = json::object();
  int64_t withheld = 0;
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (equals == std::string::npos || !is_listed(name)) continue;
    std::string value = variable.substr(equals + 1);
    if (name == "LD_PRELOAD") value = base_name(value);
    if (speaks_of_a_secret(name) || !is_setting(value)) {
      withheld++;
    } else {
      kept[name] = without_secrets(std::string_view(value));
    }
  }
  return {{"variables", kept}, {"withheld", withheld}};
}

}  // namespace nl::capture
