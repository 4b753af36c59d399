#pragma once
// DeepTool: one tool for a pass of the operation `deep`: what to start, how to judge the result, and which
// files to import. The tools of a vendor come in pairs: one traces the workload, the other counts on some of
// its kernels.

#include <memory>
#include <string>
#include <vector>

#include "capture/tools/convert_report.h"
#include "capture/tools/pass.h"
#include "capture/tools/vendor_tool.h"
#include "ops/capture/replay_choice.h"

namespace nl::ops {

/// How a pass under a tool came out.
struct Verdict {
  std::string status;  ///< done, nothing_profiled, cut_short, failed or forbidden
  std::string reason = {};
  std::string hint = {};
  bool has_records = false;  ///< there is something to read
};

class DeepTool {
 public:
  DeepTool(std::string pass, capture::VendorTool program)
      : pass_(std::move(pass)), program_(std::move(program)) {}
  virtual ~DeepTool() = default;

  /// Name of the pass and of its folder.
  const std::string& pass() const { return pass_; }
  const capture::VendorTool& program() const { return program_; }

  /// Arguments before those of the workload. Tools that trace need no choice.
  virtual std::vector<std::string> command(const std::string& folder, const ReplayChoice& choice) const = 0;
  virtual Verdict judge(const capture::PassEnd& pass, const std::string& folder) const = 0;
  /// Files to import as one; they may have to be converted first.
  virtual Result<std::vector<std::string>> records(const std::string& folder,
                                                   const capture::ConvertOptions& aside) const = 0;

 private:
  std::string pass_;
  capture::VendorTool program_;
};

struct DeepTools {
  std::unique_ptr<DeepTool> trace = {};
  std::unique_ptr<DeepTool> counters = {};  ///< none: no counters are wanted
  bool counts_some_launches = false;        ///< else all launches of the chosen kernels
};

/// Exit code and last words.
std::string how_it_ended(const capture::PassEnd& pass, const std::string& folder);

/// The verdict on a pass that traced; `what` is what the tool leaves, e.g. report.
Verdict judge_trace(const capture::PassEnd& pass, const std::string& folder, bool has_records,
                    const std::string& what);

/// The verdict on a pass that counted and was allowed to.
Verdict judge_counters(const capture::PassEnd& pass, const std::string& folder, bool has_records);

}  // namespace nl::ops
