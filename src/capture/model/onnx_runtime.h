#pragma once
// ONNX Runtime, version 1.15 or later, loaded at run time through its C API. A model becomes a session that
// runs on tensors. A session may be used by one thread at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

struct OrtApi;

namespace nl::capture {

/// Elements by the names of numpy, e.g. float32, int64, bool; string for text.
struct Tensor {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  std::string bytes = {};  ///< little endian, rows first; empty for text, whose elements are all empty
};

/// What a model wants: -1 for a size that the model leaves open, `symbols` with its name or empty.
struct InputSpec {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;
};

struct SessionOptions {
  std::string model = {};  ///< path
  std::string provider = "CPU";
  std::optional<int> threads = {};        ///< within a node; unset: as the library chooses
  std::optional<int> inter_threads = {};  ///< of nodes side by side; set: such nodes run at the same time
  std::string optimize = "all";           ///< none, basic, extended or all
  std::string profile_prefix = {};        ///< of the profile's path; empty: none is written
};

class OnnxSession {
 public:
  OnnxSession(OnnxSession&&) noexcept;
  ~OnnxSession();
  const std::vector<InputSpec>& inputs() const;
  /// Makes the tensors that the next runs take.
  Result<void> set_inputs(const std::vector<Tensor>& tensors);
  Result<void> run();
  /// Path of the profile, which is complete then.
  Result<std::string> end_profiling();

 private:
  friend class OnnxRuntime;
  struct State;
  explicit OnnxSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class OnnxRuntime {
 public:
  /// `unavailable` if the library cannot be loaded or is too old.
  static Result<OnnxRuntime> load(const std::string& library);
  const std::string& version() const { return version_; }
  /// Names without "ExecutionProvider".
  Result<std::vector<std::string>> providers() const;
  Result<OnnxSession> open(const SessionOptions& options) const;

 private:
  OnnxRuntime(const OrtApi* api, std::string version) : api_(api), version_(std::move(version)) {}
  const OrtApi* api_;
  std::string version_;
};

/// Where the library is: as given, by the variable NEUROLENS_ONNXRUNTIME, where the system's loader or the
/// python3 of PATH has it. `unavailable` if nowhere.
Result<std::string> find_onnx_runtime(const Environment& surroundings, const std::string& given);

/// Bytes of an element; 0 if the type is not known or is text.
size_t element_bytes(const std::string& type);

}  // namespace nl::capture
