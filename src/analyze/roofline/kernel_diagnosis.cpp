// Each check below looks at one kernel and makes one statement or none. Thresholds are chosen so that a
// figure must be far from harmless: a wrong statement costs more trust than a missing one.

#include "analyze/roofline/kernel_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/number_text.h"

namespace nl::analyze {
namespace {

constexpr double kPercent = 100;
constexpr size_t kMostKernels = 4;
constexpr double kMattersOfAll = 0.05;    // of the replayed time
constexpr double kMattersOfRest = 0.2;    // of the time without reference and input kernels
constexpr int64_t kLaunchFloorNs = 4000;  // an empty kernel takes 2 to 3 us under the profiler
constexpr int64_t kRampNs = 50'000;       // below, the start and end of a launch leave SMs empty in any case

/// One kernel with what its name tells.
struct Subject {
  const CountedKernel& kernel;
  KernelIdentity identity;
  const DiagnosisContext& context;

  const KernelEvidence& evidence() const { return kernel.evidence; }
  double ns() const { return static_cast<double>(kernel.replay_ns.value_or(0)); }
  double mean_ns() const { return ns() / static_cast<double>(std::max<int64_t>(1, kernel.measured)); }
  bool is_short() const { return mean_ns() < static_cast<double>(kLaunchFloorNs); }
  bool is_latency_bound() const { return kernel.bound == "latency"; }
  bool fills_device() const {
    const auto blocks = evidence().blocks, sms = evidence().multiprocessors;
    return blocks && sms && *blocks >= *sms;
  }
  double stall(const char* reason) const {
    const auto it = evidence().stall_shares.find(reason);
    return it == evidence().stall_shares.end() ? 0 : it->second;
  }
  /// How much faster the kernel could be until its busiest unit is full, as a share of its time.
  double distance_from_peak() const {
    const double busiest = std::max(kernel.sm_pct.value_or(0), kernel.memory_pct.value_or(0));
    return std::clamp(1 - busiest / kPercent, 0.0, 1.0);
  }
  int64_t cost_of(double share) const { return static_cast<int64_t>(std::llround(ns() * share)); }
};

struct Statement {
  const char* id;
  std::string text;
  std::map<std::string, double> figures = {};
  std::optional<int64_t> cost_ns = {};
};
using MaybeStatement = std::optional<Statement>;

std::string pct(double percent) {
  const int decimals = percent < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f} %", percent, decimals);
}
std::string pct_of(double share) {
  return pct(share * kPercent);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool contains_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// ---- What the name tells

bool is_reference(const Subject& subject) {
  const std::string function = lower(subject.identity.name.function);
  return contains_any(function, {"reference"}) && !contains_any(function, {"dereference"});
}

bool makes_random_numbers(const Subject& subject) {
  return contains_any(lower(subject.identity.name.function),
                      {"distribution_elementwise_grid_stride", "generate_seed_pseudo", "gen_sequenced"});
}

/// Neither the product nor what a user wants to make faster.
bool is_aside(const Subject& subject) {
  return is_reference(subject) || makes_random_numbers(subject);
}

MaybeStatement reference(const Subject& subject) {
  if (!is_reference(subject)) return {};
  return Statement{"reference",
                   "Its name says that it is a reference kernel that checks the results of others. If so, "
                   "its time says nothing about the product: look at the other kernels."};
}

MaybeStatement random_inputs(const Subject& subject) {
  if (!makes_random_numbers(subject)) return {};
  return Statement{
      "random_inputs",
      "Its name says that it makes random numbers. Usually these are inputs of the program, not its work."};
}

/// The number behind "_align" in the name of a kernel of CUTLASS or cuBLAS; nothing without one.
std::optional<int> stated_alignment(const std::string& name) {
  constexpr std::string_view kWord = "_align";
  const size_t at = name.find(kWord);
  if (at == std::string::npos) return std::nullopt;
  int elements = 0;
  const char* const begin = name.data() + at + kWord.size();
  const auto [end, failed] = std::from_chars(begin, name.data() + name.size(), elements);
  return failed == std::errc() && elements > 0 ? std::optional(elements) : std::nullopt;
}

int element_bytes(const std::string& dtype) {
  if (dtype == "fp8" || dtype == "int8") return 1;
  if (dtype == "fp16" || dtype == "bf16") return 2;
  if (dtype == "fp32" || dtype == "tf32") return 4;
  return 0;
}

constexpr int kFullAlignment = 16;  // bytes of the widest load of a thread

MaybeStatement alignment(const Subject& subject) {
  const KernelName& name = subject.identity.name;
  const auto elements = stated_alignment(name.short_name);
  const int bytes = element_bytes(name.dtype);
  if (!elements || bytes == 0 || *elements * bytes >= kFullAlignment) return {};
  return Statement{
      "alignment",
      fmt::format("Its name says align{}: it only relies on an alignment of {} for its {}-byte elements. "
                  "The library may have a faster kernel for {} bytes: try sizes and leading dimensions that "
                  "are multiples of {} "
                  "elements.",
                  *elements, counted(*elements * bytes, "byte"), bytes, kFullAlignment,
                  kFullAlignment / bytes),
      {{"alignment_bytes", *elements * bytes}}};
}

/// 75 of "sm75_xmma_gemm", "cutlass_tensorop_sm_75" or "turing_h884gemm"; 0 if the name does not tell.
int stated_architecture(const std::string& name) {
  for (const auto& [word, architecture] :
       {std::pair{"volta_", 70}, {"turing_", 75}, {"ampere_", 80}, {"maxwell_", 50}, {"pascal_", 60}}) {
    if (name.starts_with(word)) return architecture;
  }
  for (size_t at = name.find("sm"); at != std::string::npos; at = name.find("sm", at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(name[at - 1])) != 0) continue;
    const size_t digits = at + 2 + (name.substr(at + 2).starts_with('_') ? 1 : 0);
    int number = 0;
    const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (failed == std::errc() && number >= 50 && number <= 130) return number;
  }
  return 0;
}

/// 8.6 -> 86; 0 if unknown.
int architecture_of(const std::optional<std::string>& capability) {
  int major = 0, minor = 0;
  if (!capability) return 0;
  const char* const end = capability->data() + capability->size();
  const auto [dot, failed] = std::from_chars(capability->data(), end, major);
  if (failed != std::errc() || dot == end || *dot != '.') return 0;
  return std::from_chars(dot + 1, end, minor).ec == std::errc() ? 10 * major + minor : 0;
}

/// A kernel of the same generation (sm80 on sm86) is not older: libraries use it on purpose.
MaybeStatement older_architecture(const Subject& subject) {
  constexpr int kGeneration = 10, kAmpere = 80;
  const int device = architecture_of(subject.evidence().compute_capability);
  if (device == 0) return {};
  const KernelName& name = subject.identity.name;
  const int stated = stated_architecture(lower(name.short_name));
  if (stated != 0 && stated / kGeneration < device / kGeneration) {
    return Statement{"older_architecture",
                     fmt::format("Its name says that it was written for an older architecture (sm{}); the "
                                 "device is sm{}.",
                                 stated, device),
                     {{"kernel", stated}, {"device", device}}};
  }
  const bool two_stages = name.demangled.find("MmaPipelined") != std::string::npos &&
                          name.demangled.find("TensorOp") != std::string::npos;
  if (!two_stages || device < kAmpere) return {};
  return Statement{"older_architecture",
                   fmt::format("Its main loop is MmaPipelined of CUTLASS, the form with two stages that "
                               "Turing (sm75) and older need. "
                               "The device is sm{}, which can copy asynchronously: MmaMultistage does so.",
                               device),
                   {{"device", device}}};
}

// ---- How the grid fills the device

std::string shape_text(const KernelEvidence& evidence) {
  constexpr double kLeastShown = 0.005;
  if (!evidence.blocks) return "";
  std::string out = counted(*evidence.blocks, "block");
  if (evidence.multiprocessors) out += " on " + counted(*evidence.multiprocessors, "SM");
  if (evidence.waves && *evidence.waves >= kLeastShown) out += fmt::format(", {:.2f} waves", *evidence.waves);
  return out;
}

MaybeStatement time_share(const Subject& subject) {
  const CountedKernel& kernel = subject.kernel;
  if (!kernel.share) return {};
  const std::string shape = shape_text(subject.evidence());
  return Statement{
      "time",
      fmt::format(
          "{} of the replayed time: {} in {}{}", percent_text(*kernel.share),
          duration_text(*kernel.replay_ns), counted(kernel.measured, "launch", "launches"),
          shape.empty() ? "." : fmt::format(" ({}{}).", kernel.measured > 1 ? "longest: " : "", shape)),
      {{"share", *kernel.share}}};
}

MaybeStatement short_launches(const Subject& subject) {
  if (!subject.is_short()) return {};
  return Statement{"short_launches",
                   fmt::format("A launch takes {} on average, about the shortest time that any launch takes: "
                               "too short for its counters to say much.",
                               duration_text(static_cast<int64_t>(subject.mean_ns()))),
                   {{"mean_ns", subject.mean_ns()}}};
}

MaybeStatement few_sms(const Subject& subject) {
  const KernelEvidence& evidence = subject.evidence();
  const bool is_mostly_small = 2 * static_cast<double>(evidence.small_grid_ns) > subject.ns();
  if (!is_mostly_small || subject.fills_device() || subject.is_short()) return {};
  if (!evidence.blocks || !evidence.multiprocessors) return {};
  return Statement{
      "few_sms",
      fmt::format(
          "The grid is too small to fill the device: it uses at most {} of {} SMs, less than one wave. "
          "Smaller tiles or a split of the work over more blocks would use the rest.",
          *evidence.blocks, *evidence.multiprocessors),
      {{"blocks", static_cast<double>(*evidence.blocks)},
       {"multiprocessors", static_cast<double>(*evidence.multiprocessors)}},
      evidence.empty_sm_ns};
}

constexpr double kSmsRunDryPct = 85;
constexpr double kFewWaves = 10;

MaybeStatement uneven_sms(const Subject& subject) {
  const KernelEvidence& evidence = subject.evidence();
  const bool is_long = subject.mean_ns() >= static_cast<double>(kRampNs);
  if (!is_long || !subject.fills_device() || !evidence.sm_active_pct) return {};
  const double active = *evidence.sm_active_pct;
  if (active >= kSmsRunDryPct) return {};
  const bool is_few = evidence.waves && *evidence.waves < kFewWaves;
  return Statement{"uneven_sms",
                   fmt::format("SMs have work for only {} of the time: some run dry long before the others, "
                               "because of uneven blocks{}.",
                               pct(active), is_few ? " or a partly empty last wave" : ""),
                   {{"sm_active_pct", active}},
                   subject.cost_of(1 - active / kPercent)};
}

// ---- What bounds it

struct StallWords {
  const char* reason;
  const char* words;
};
constexpr std::array kStallWords = {
    StallWords{"long_scoreboard", "for loads from global or local memory"},
    StallWords{"short_scoreboard", "for shared memory or special functions"},
    StallWords{"lg_throttle", "for a free place in the queue of global and local accesses"},
    StallWords{"mio_throttle", "for a free place in the queue of shared memory"},
    StallWords{"math_pipe_throttle", "for a busy math pipe"},
    StallWords{"wait", "for the fixed latency of instructions"},
    StallWords{"drain", "for stores at the end of a warp"},
    StallWords{"imc_miss", "for constants that miss their cache"},
    StallWords{"no_instruction", "for instructions to be fetched"},
    StallWords{"membar", "at memory fences"},
    StallWords{"branch_resolving", "for branches"}};
constexpr double kLargeStall = 0.3;

bool has_stalls(const Subject& subject) {
  return !subject.evidence().stall_shares.empty() ||
         subject.context.stall_rules.contains(subject.kernel.kernel);
}

/// Barriers have a statement of their own.
std::string stall_text(const Subject& subject) {
  if (!has_stalls(subject))
    return " The file does not say what its warps wait for: record with ncu --set full and export the raw "
           "page.";
  const StallWords* largest = nullptr;
  for (const StallWords& one : kStallWords) {
    if (largest == nullptr || subject.stall(one.reason) > subject.stall(largest->reason)) largest = &one;
  }
  const double share = subject.stall(largest->reason);
  if (share < kLargeStall || subject.stall("barrier") > share) return "";
  return fmt::format(" Warps spend {} of their cycles waiting {}.", pct_of(share), largest->words);
}

std::string memory_text(const CountedKernel& kernel) {
  const std::string dram = kernel.dram_pct ? fmt::format(" (DRAM {})", pct(*kernel.dram_pct)) : "";
  return fmt::format("memory at {}{}", pct(*kernel.memory_pct), dram);
}

MaybeStatement latency(const Subject& subject) {
  const CountedKernel& kernel = subject.kernel;
  if (!subject.is_latency_bound() || subject.is_short()) return {};
  return Statement{"latency",
                   fmt::format("Latency holds it back: compute is at {} of its peak and {}.{}",
                               pct(*kernel.sm_pct), memory_text(kernel), stall_text(subject)),
                   {{"sm_pct", *kernel.sm_pct}, {"memory_pct", *kernel.memory_pct}},
                   subject.cost_of(subject.distance_from_peak())};
}

/// The pipe that makes up the throughput of the multiprocessors, if the file has it.
std::string busiest_pipe(const Subject& subject) {
  constexpr double kSame = 2;
  const std::map<std::string, std::string> words = {{"alu", "the ALU pipe, integer and logic"},
                                                    {"fma", "the FMA pipe"},
                                                    {"fp64", "the fp64 pipe"},
                                                    {"xu", "the pipe of special functions"}};
  for (const auto& [pipe, percent] : subject.evidence().pipe_pct) {
    if (std::abs(percent - *subject.kernel.sm_pct) <= kSame) return " (" + words.at(pipe) + ")";
  }
  const auto& tensor = subject.kernel.tensor_pct;
  return tensor && std::abs(*tensor - *subject.kernel.sm_pct) <= kSame ? " (the tensor pipe)" : "";
}

MaybeStatement compute(const Subject& subject) {
  const CountedKernel& kernel = subject.kernel;
  if (kernel.bound != "compute" || subject.is_short()) return {};
  return Statement{"compute",
                   fmt::format("Compute-bound: the busiest unit of its SMs{} is at {} of its peak, {}.",
                               busiest_pipe(subject), pct(*kernel.sm_pct), memory_text(kernel)),
                   {{"sm_pct", *kernel.sm_pct}, {"memory_pct", *kernel.memory_pct}},
                   subject.cost_of(subject.distance_from_peak())};
}

/// Of the parts of the memory system the one whose throughput is that of the whole.
std::string busiest_cache(const KernelEvidence& evidence, double memory_pct) {
  constexpr double kAlike = 12;  // the caches' own percentages may be of their active time
  const double l1 = evidence.l1_pct.value_or(0), l2 = evidence.l2_pct.value_or(0);
  if (std::max(l1, l2) < memory_pct - kAlike) return "a part of the memory system";
  return l1 >= l2 ? "the L1 cache" : "the L2 cache";
}

MaybeStatement dram(const Subject& subject) {
  constexpr double kSame = 5, kNearPeakPct = 80;
  const CountedKernel& kernel = subject.kernel;
  if (kernel.bound != "memory" || subject.is_short()) return {};
  if (!kernel.dram_pct || *kernel.dram_pct < *kernel.memory_pct - kSame) return {};
  return Statement{
      "dram",
      fmt::format("Bound by DRAM bandwidth: DRAM is at {} of its peak, compute at {}.{}",
                  pct(*kernel.dram_pct), pct(*kernel.sm_pct),
                  *kernel.dram_pct >= kNearPeakPct ? " Only moving fewer bytes makes it faster." : ""),
      {{"dram_pct", *kernel.dram_pct}, {"sm_pct", *kernel.sm_pct}},
      subject.cost_of(subject.distance_from_peak())};
}

MaybeStatement caches(const Subject& subject) {
  const CountedKernel& kernel = subject.kernel;
  if (kernel.bound != "memory" || subject.is_short() || dram(subject) || !kernel.dram_pct) return {};
  return Statement{
      "caches",
      fmt::format(
          "The number of its accesses holds it back, not DRAM: {} is at {} of its peak, DRAM at {}.{}",
          busiest_cache(subject.evidence(), *kernel.memory_pct), pct(*kernel.memory_pct),
          pct(*kernel.dram_pct), stall_text(subject)),
      {{"memory_pct", *kernel.memory_pct}, {"dram_pct", *kernel.dram_pct}}};
}

// ---- Why

MaybeStatement barriers(const Subject& subject) {
  const double share = subject.stall("barrier");
  if (share < kLargeStall || subject.is_short()) return {};
  return Statement{
      "barriers",
      fmt::format(
          "Warps spend {} of their cycles at barriers of their block (__syncthreads). Fewer barriers, "
          "or smaller blocks of even work, would shorten this.",
          pct_of(share)),
      {{"stall_share", share}},
      subject.cost_of(std::min(share, subject.distance_from_peak()))};
}

/// The memory system has enough to do that its accesses can matter.
bool memory_matters(const Subject& subject) {
  constexpr double kBusyMemoryPct = 20;
  return subject.kernel.memory_pct.value_or(0) >= kBusyMemoryPct ||
         subject.stall("long_scoreboard") + subject.stall("lg_throttle") >= kLargeStall;
}

MaybeStatement uncoalesced(const Subject& subject) {
  constexpr double kMuchExcess = 0.1;
  const double excess = subject.evidence().excess_sectors_share.value_or(0);
  if (excess < kMuchExcess || !memory_matters(subject) || subject.is_short()) return {};
  Statement out{
      "uncoalesced",
      fmt::format(
          "Its accesses are not coalesced: {} of the sectors of global memory that it asks for would not "
          "be needed if threads of a warp read and wrote side by side.",
          pct_of(excess)),
      {{"excess_sectors_share", excess}}};
  if (subject.kernel.bound == "memory") out.cost_ns = subject.cost_of(excess);
  return out;
}

MaybeStatement local_memory(const Subject& subject) {
  constexpr double kMuchLocal = 0.2;
  const double local = subject.evidence().local_sectors_share.value_or(0);
  if (local < kMuchLocal || !memory_matters(subject) || subject.is_short()) return {};
  const auto& registers = subject.kernel.registers;
  const std::string with = registers ? fmt::format(" (it has {:.0f} registers per thread)", *registers) : "";
  const double until_compute = 1 - subject.kernel.sm_pct.value_or(0) / kPercent;
  return Statement{"local_memory",
                   fmt::format("{} of the sectors that it accesses are local memory: registers spill{}, or a "
                               "thread has arrays that are indexed at run time.",
                               pct_of(local), with),
                   {{"local_sectors_share", local}},
                   subject.cost_of(std::clamp(until_compute, 0.0, local))};
}

MaybeStatement divergence(const Subject& subject) {
  constexpr double kDivergentPct = 80;
  constexpr int64_t kWarp = 32;
  const auto& efficiency = subject.kernel.warp_efficiency_pct;
  if (!efficiency || *efficiency >= kDivergentPct || subject.is_short()) return {};
  const double threads = *efficiency / kPercent * kWarp;
  const auto& block = subject.evidence().block_threads;
  const bool is_small_block = block && *block < kWarp;
  return Statement{
      "divergence",
      fmt::format("Only {:.0f} of 32 threads are active per instruction on average: {}.", threads,
                  is_small_block ? fmt::format("a block has {}", counted(*block, "thread"))
                                 : "threads of a warp diverge or end early"),
      {{"active_threads", threads}}};
}

std::string limit_words(const Subject& subject) {
  const auto& limits = subject.evidence().occupancy_limits;
  const auto has = [&](const char* one) {
    return std::find(limits.begin(), limits.end(), one) != limits.end();
  };
  if (has("warps") || has("blocks")) return "";  // the block size decides as well
  const std::string registers = subject.kernel.registers
                                    ? fmt::format("registers ({:.0f} per thread)", *subject.kernel.registers)
                                    : "registers";
  if (has("registers") && has("shared_mem")) return registers + " and shared memory";
  return has("registers") ? registers : has("shared_mem") ? "shared memory" : "";
}

/// Only where more warps could hide the waiting: matrix kernels have few warps by design.
MaybeStatement occupancy(const Subject& subject) {
  constexpr double kHalfPct = 60, kReached = 0.75;
  const CountedKernel& kernel = subject.kernel;
  const OpClass kind = subject.identity.op_class;
  const bool by_design = kind == OpClass::k_gemm || kind == OpClass::k_conv || kind == OpClass::k_attention ||
                         kernel.tensor_pct.value_or(0) > 1;
  if (by_design || !subject.is_latency_bound() || !subject.fills_device() || subject.is_short()) return {};
  const auto possible = kernel.theoretical_occupancy_pct, achieved = kernel.achieved_occupancy_pct;
  if (!possible || !achieved || *possible > kHalfPct || *achieved < kReached * *possible) return {};
  const std::string limit = limit_words(subject);
  if (limit.empty() || subject.stall("long_scoreboard") < kLargeStall) return {};
  return Statement{
      "occupancy",
      fmt::format("Its {} limit occupancy to {} ({} achieved), so there are few warps to hide the waiting.",
                  limit, pct(*possible), pct(*achieved)),
      {{"theoretical_occupancy_pct", *possible}, {"achieved_occupancy_pct", *achieved}}};
}

// ---- What the profiler's own rule says of stalls, if the file has no counters of them

std::string first_sentence(const std::string& text) {
  const size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

/// 0.682 of "This stall type represents about 68.2% of the total ..."; 0 if it is not there.
double stated_stall_share(const std::string& text) {
  constexpr std::string_view kBefore = "This stall type represents about ";
  const size_t at = text.find(kBefore);
  double percent = 0;
  if (at == std::string::npos) return 0;
  const char* const begin = text.data() + at + kBefore.size();
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), percent);
  return failed == std::errc() && percent <= kPercent ? percent / kPercent : 0;
}

MaybeStatement stall_rule(const Subject& subject) {
  const auto rule = subject.context.stall_rules.find(subject.kernel.kernel);
  if (rule == subject.context.stall_rules.end() || !subject.evidence().stall_shares.empty()) return {};
  const double share = stated_stall_share(rule->second);
  if (share < kLargeStall) return {};
  return Statement{
      "stall_rule",
      fmt::format("NVIDIA's rule says: \"{}\" That is {} of the cycles between two instructions.",
                  first_sentence(rule->second), pct_of(share)),
      {{"stall_share", share}},
      subject.cost_of(std::min(share, subject.distance_from_peak()))};
}

MaybeStatement fusion(const Subject& subject) {
  const auto& fused = subject.context.slower_fusion;
  if (!fused || fused->kernel != subject.kernel.kernel) return {};
  return Statement{
      "slower_fusion",
      fmt::format("{} takes longer than {}: {} against {} for {}, so fusing does not pay here.", fused->fused,
                  fused->separate, duration_text(fused->fused_ns), duration_text(fused->separate_ns),
                  counted(fused->separate_launches, "launch", "launches")),
      {},
      fused->fused_ns - fused->separate_ns};
}

/// In the order of the answer: what it is, how it fills the device, what bounds it, and why.
constexpr MaybeStatement (*kChecks[])(const Subject&) = {
    time_share, reference,  random_inputs, short_launches, few_sms,           fusion,      latency,
    compute,    dram,       caches,        stall_rule,     barriers,          uncoalesced, local_memory,
    divergence, uneven_sms, occupancy,     alignment,      older_architecture};

KernelDiagnosis answered(const CountedKernel& kernel, Statement statement) {
  return {.id = statement.id,
          .kernel = kernel.kernel,
          .label = kernel.label,
          .device = kernel.device,
          .text = std::move(statement.text),
          .figures = std::move(statement.figures),
          .cost_ns = statement.cost_ns};
}

Statement not_measured(const CountedKernel& kernel) {
  const int64_t missing = kernel.launches - kernel.measured;
  const std::string of = kernel.measured == 0 ? "" : fmt::format(" of {}", kernel.launches);
  return {"not_measured",
          fmt::format(
              "{}{} {} not measured: the report has no values of {}, so it cannot tell what holds {} back.",
              counted(missing, "launch", "launches"), of, missing == 1 ? "was" : "were",
              missing == 1 ? "it" : "them", missing == 1 ? "it" : "them"),
          {{"launches", static_cast<double>(missing)}}};
}

/// Kernels with much of the time; reference and input kernels do not hide the others.
std::vector<Subject> subjects_that_matter(const std::vector<CountedKernel>& kernels,
                                          const DiagnosisContext& context) {
  std::vector<Subject> measured;
  double rest_ns = 0;
  for (const CountedKernel& kernel : kernels) {
    if (kernel.measured == 0) continue;
    measured.push_back({kernel, context.taxonomy.kernel(kernel.kernel), context});
    if (!is_aside(measured.back())) rest_ns += measured.back().ns();
  }
  std::vector<Subject> out;
  for (const Subject& subject : measured) {
    const bool matters = subject.kernel.share.value_or(0) >= kMattersOfAll ||
                         (!is_aside(subject) && subject.ns() >= kMattersOfRest * rest_ns && rest_ns > 0);
    if (matters && out.size() < kMostKernels) out.push_back(subject);
  }
  return out;
}

}  // namespace

std::vector<KernelDiagnosis> diagnose_kernels(const std::vector<CountedKernel>& kernels,
                                              const DiagnosisContext& context) {
  std::vector<KernelDiagnosis> out;
  for (const CountedKernel& kernel : kernels) {
    if (kernel.measured < kernel.launches && out.size() < kMostKernels)
      out.push_back(answered(kernel, not_measured(kernel)));
  }
  for (const Subject& subject : subjects_that_matter(kernels, context)) {
    for (const auto check : kChecks) {
      if (MaybeStatement statement = check(subject))
        out.push_back(answered(subject.kernel, std::move(*statement)));
    }
  }
  return out;
}

}  // namespace nl::analyze
