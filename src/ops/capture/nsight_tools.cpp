#include "ops/capture/nsight_tools.h"

#include "base/files.h"
#include "base/text.h"
#include "capture/tools/ncu_command.h"
#include "capture/tools/nsys_command.h"

namespace nl::ops {
namespace {

std::string start_of(const std::string& path, size_t bytes) {
  std::string text(bytes, '\0');
  auto file = File::open_to_read(path);
  const auto read = file ? file->read(text.data(), bytes) : Result<size_t>(size_t{0});
  text.resize(read ? *read : 0);
  return text;
}

class Nsys final : public DeepTool {
 public:
  Nsys(capture::VendorTool program, const NsightOptions& options)
      : DeepTool("nsys", std::move(program)), trace_(options.trace), range_(options.range) {}

  std::vector<std::string> command(const std::string& folder, const ReplayChoice&) const override {
    capture::NsysOptions options;
    options.report = folder + "/report";
    options.trace = trace_;
    options.range = range_;
    return capture::nsys_command(program(), options);
  }

  Verdict judge(const capture::PassEnd& pass, const std::string& folder) const override {
    Verdict verdict = judge_trace(pass, folder, !report_in(folder).empty(), "report");
    if (verdict.status == "nothing_profiled" && range_)
      verdict.hint = "did the program enter the range at all? Write it as DOMAIN@RANGE";
    return verdict;
  }

  Result<std::vector<std::string>> records(const std::string& folder,
                                           const capture::ConvertOptions& aside) const override {
    const std::string report = report_in(folder), target = folder + "/nsys.sqlite";
    const auto* const kind = capture::report_kind(start_of(report, 64));
    if (kind == nullptr) return Error{ErrorCode::kBadInput, "what nsys wrote is not a report: " + report};
    NL_TRY(const auto converted, capture::convert_report(*kind, report, aside));
    NL_TRY(const bool moved, rename_to_new(converted.path, target));
    if (!moved) return Error{ErrorCode::kInternal, "the export exists already: " + target};
    return std::vector<std::string>{target};
  }

 private:
  /// The report, under any of the names it has had; empty if there is none.
  static std::string report_in(const std::string& folder) {
    for (const std::string& name : list_folder(folder)) {
      if (name.ends_with(".nsys-rep") || name.ends_with(".qdrep")) return folder + "/" + name;
    }
    return {};
  }

  std::string trace_;
  std::optional<capture::NvtxRange> range_;
};

class Ncu final : public DeepTool {
 public:
  Ncu(capture::VendorTool program, const NsightOptions& options)
      : DeepTool("ncu", std::move(program)), preset_(options.preset), range_(options.range) {}

  std::vector<std::string> command(const std::string& folder, const ReplayChoice& choice) const override {
    capture::NcuOptions options;
    options.preset = preset_;
    options.log = log_in(folder);
    for (const auto& kernel : choice.replayed) options.functions.push_back(kernel.function);
    options.skip = choice.skip;
    options.count = choice.count.value_or(1);
    options.range = range_;
    return capture::ncu_command(program(), options);
  }

  Verdict judge(const capture::PassEnd& pass, const std::string& folder) const override {
    constexpr size_t kLook = 1 << 20;
    const std::string said = start_of(log_in(folder), kLook) + start_of(folder + "/stdout.txt", kLook) +
                             start_of(folder + "/stderr.txt", kLook);
    const bool has_rows = has_part(said, "\"Kernel Name\"");
    if (const auto allowed = capture::check_counter_permission(said); !allowed)
      return {"forbidden", allowed.error().message, allowed.error().hint, has_rows};
    if (!pass.end.process.cut_short && !has_rows && has_part(said, "No kernels were profiled"))
      return {"nothing_profiled", "nothing was profiled: the tool saw none of the chosen kernels"};
    return judge_counters(pass, folder, has_rows);
  }

  Result<std::vector<std::string>> records(const std::string& folder,
                                           const capture::ConvertOptions&) const override {
    return std::vector<std::string>{log_in(folder)};
  }

 private:
  static std::string log_in(const std::string& folder) { return folder + "/counters.csv"; }

  capture::NcuPreset preset_;
  std::optional<capture::NvtxRange> range_;
};

}  // namespace

Result<DeepTools> nsight_tools(const Environment& surroundings, const NsightOptions& options) {
  DeepTools tools;
  tools.counts_some_launches = true;
  NL_TRY(auto nsys, capture::find_nsys(surroundings));
  tools.trace = std::make_unique<Nsys>(std::move(nsys), options);
  if (!options.counters) return tools;
  NL_TRY(auto ncu, capture::find_ncu(surroundings));
  tools.counters = std::make_unique<Ncu>(std::move(ncu), options);
  return tools;
}

}  // namespace nl::ops
