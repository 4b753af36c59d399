#include "ops/capture/record_samples.h"

#include <fmt/core.h>

#include <optional>

#include "base/files.h"
#include "capture/record/recorder.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

std::string path_in(const std::string& folder) {
  return folder + "/samples.nlr";
}

}  // namespace

Result<capture::SamplingEnd> run_sampled(const json& parameters, const std::string& folder,
                                         const std::function<Result<void>()>& run) {
  capture::SamplerOptions options{path_in(folder)};
  options.frequency_hz = parameters["hz"];
  options.with_python = parameters.value("python", false);
  options.with_waits = parameters.value("off_cpu", false);
  if (options.frequency_hz == 0) {
    NL_CHECK(run());
    return capture::SamplingEnd{"switched off by --hz 0"};
  }
  std::optional<Result<void>> ran;
  auto sampled = capture::sample_around(options, [&] { return *(ran = run()); });
  if (ran && !*ran) return ran->error();
  if (!sampled && ran) return capture::SamplingEnd{"no samples: " + sampled.error().message};
  return sampled;
}

capture::SamplingEnd recovered_samples(const std::string& folder) {
  if (!path_exists(path_in(folder))) return {"no samples were taken"};
  auto end = capture::recover_samples(path_in(folder));
  return end ? std::move(*end) : capture::SamplingEnd{"no samples: " + end.error().message};
}

json samples_json(const capture::SamplingEnd& end) {
  json samples = {{"recorded", end.recorded},
                  {"lost", capture::losses_json(end.lost)},
                  {"with_kernel", end.with_kernel && end.absent_reason.empty()}};
  if (end.python + end.torn > 0) samples["python"] = {{"recorded", end.python}, {"torn", end.torn}};
  if (end.waits > 0) samples["waits"] = end.waits;
  if (!end.no_python_reason.empty()) samples["no_python_reason"] = end.no_python_reason;
  if (!end.absent_reason.empty()) samples["absent_reason"] = end.absent_reason;
  if (!end.unnamed_reason.empty()) samples["unnamed_reason"] = end.unnamed_reason;
  return samples;
}

void warn_of_samples(const json& samples, std::vector<std::string>& warnings) {
  for (const auto& [reason, n] : samples["lost"].items())
    warnings.push_back(fmt::format("{} lost: {}", counted(n, "sample"), reason));
  if (samples.contains("no_python_reason"))
    warnings.push_back("no Python functions: " + samples["no_python_reason"].get<std::string>());
  if (samples.contains("unnamed_reason"))
    warnings.push_back("the functions of samples have no names: " +
                       samples["unnamed_reason"].get<std::string>());
}

std::string tally_text(const json& counts) {
  int64_t lost = 0;
  for (const auto& [reason, n] : counts["lost"].items()) lost += n.get<int64_t>();
  return fmt::format("{} recorded, {} lost", grouped(counts["recorded"]), grouped(lost));
}

std::string samples_text(const json& samples, const TextStyle& style) {
  const std::string label = dim("samples ", style);
  if (samples.contains("absent_reason"))
    return fmt::format("  {}  {}\n", label, samples["absent_reason"].get<std::string>());
  return fmt::format("  {}  {}{}\n", label, tally_text(samples),
                     samples["with_kernel"] == true ? "" : "; they do not include time inside the kernel");
}

}  // namespace nl::ops
