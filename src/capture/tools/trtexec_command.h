#pragma once
// trtexec, the program that times TensorRT engines: finds the installed one and builds its command line.
// Options that its own help does not list are left out, or refused if they are necessary.

#include <map>
#include <string>
#include <vector>

#include "capture/tools/vendor_tool.h"

namespace nl::capture {

/// `unavailable`, with what to do, if it is not installed or does not say its version.
Result<VendorTool> find_trtexec(const Environment& surroundings);

struct TrtexecOptions {
  std::string model = {};   ///< an engine, or an ONNX model, of which an engine is built
  std::string folder = {};  ///< gets times.json, profile.json and layers.json
  int64_t iterations = 0;   ///< 0: as many as fit into `seconds`
  int64_t seconds = 5;
  std::map<std::string, std::vector<int64_t>> shapes = {};  ///< of inputs that the model leaves open
};

/// `unsupported` if this trtexec cannot write what is read. Times are of a run without a profiler, layers of
/// one more.
Result<std::vector<std::string>> trtexec_command(const VendorTool& trtexec, const TrtexecOptions& options);

/// 8601 is 8.6.1, 100700 is 10.7.0; empty if the banner has none.
std::string tensorrt_version_in(const std::string& banner);

}  // namespace nl::capture
