#include "capture/model/onnx_runtime.h"

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace nl::capture {
namespace {

constexpr uint32_t kOldestApi =
    15;  // all functions that are called here are in it; the table only ever grows

struct ElementType {
  const char* name;
  ONNXTensorElementDataType type;
  size_t bytes;
};
constexpr ElementType kElementTypes[] = {
    {"float32", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4},
    {"uint8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1},
    {"int8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 1},
    {"uint16", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 2},
    {"int16", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 2},
    {"int32", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4},
    {"int64", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8},
    {"string", ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, 0},
    {"bool", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 1},
    {"float16", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 2},
    {"float64", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 8},
    {"uint32", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 4},
    {"uint64", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 8},
    {"bfloat16", ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 2},
    {"float8_e4m3fn", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, 1},
    {"float8_e5m2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, 1},
};

const ElementType* find_type(const std::string& name) {
  for (const ElementType& type : kElementTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

const ElementType* find_type(ONNXTensorElementDataType number) {
  for (const ElementType& type : kElementTypes) {
    if (number == type.type) return &type;
  }
  return nullptr;
}

/// A status as a Result; the library's words in the message.
Result<void> checked(const OrtApi& api, OrtStatus* status, const std::string& what) {
  if (status == nullptr) return {};
  Error error{ErrorCode::kBadInput, what + ": " + api.GetErrorMessage(status)};
  api.ReleaseStatus(status);
  return error;
}

/// What the library makes is released by its own function.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

Result<GraphOptimizationLevel> optimization(const std::string& name) {
  if (name == "none") return ORT_DISABLE_ALL;
  if (name == "basic") return ORT_ENABLE_BASIC;
  if (name == "extended") return ORT_ENABLE_EXTENDED;
  if (name == "all") return ORT_ENABLE_ALL;
  return Error{ErrorCode::kBadInput, "there is no such optimisation level: " + name,
               "none, basic, extended or all"};
}

Result<void> append_provider(const OrtApi& api, OrtSessionOptions* options, const std::string& name) {
  const std::string what = "the provider " + name + " cannot be used";
  if (name == "CPU") return {};
  if (name == "CUDA") {
    OrtCUDAProviderOptionsV2* cuda = nullptr;
    NL_CHECK(checked(api, api.CreateCUDAProviderOptions(&cuda), what));
    const Owned<OrtCUDAProviderOptionsV2> owned(cuda, api.ReleaseCUDAProviderOptions);
    return checked(api, api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda), what);
  }
  if (name == "Tensorrt" || name == "TensorRT") {
    OrtTensorRTProviderOptionsV2* tensorrt = nullptr;
    NL_CHECK(checked(api, api.CreateTensorRTProviderOptions(&tensorrt), what));
    const Owned<OrtTensorRTProviderOptionsV2> owned(tensorrt, api.ReleaseTensorRTProviderOptions);
    return checked(api, api.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt), what);
  }
  return checked(api, api.SessionOptionsAppendExecutionProvider(options, name.c_str(), nullptr, nullptr, 0),
                 what);
}

Result<void> apply(const OrtApi& api, OrtSessionOptions* target, const SessionOptions& options) {
  NL_TRY(const auto level, optimization(options.optimize));
  NL_CHECK(checked(api, api.SetSessionGraphOptimizationLevel(target, level), "cannot set the optimisation"));
  if (options.threads)
    NL_CHECK(checked(api, api.SetIntraOpNumThreads(target, *options.threads), "cannot set the threads"));
  if (options.inter_threads) {
    NL_CHECK(
        checked(api, api.SetInterOpNumThreads(target, *options.inter_threads), "cannot set the threads"));
    NL_CHECK(
        checked(api, api.SetSessionExecutionMode(target, ORT_PARALLEL), "cannot set the execution mode"));
  }
  if (!options.profile_prefix.empty())
    NL_CHECK(checked(api, api.EnableProfiling(target, options.profile_prefix.c_str()), "cannot profile"));
  return append_provider(api, target, options.provider);
}

/// What the python3 of PATH would import.
std::string library_of_python(const Environment& surroundings) {
  const auto package = output_of(surroundings, "python3",
                                 {"-c",
                                  "import importlib.util as u; s = u.find_spec('onnxruntime'); "
                                  "print(s.submodule_search_locations[0] if s else '')"});
  if (!package || package->empty()) return {};
  const std::string folder = *package + "/capi";
  for (const std::string& name : list_folder(folder)) {
    if (name.starts_with("libonnxruntime.so")) return folder + "/" + name;
  }
  return {};
}

}  // namespace

struct OnnxSession::State {
  explicit State(const OrtApi& library) : api(library) {}
  const OrtApi& api;
  Owned<OrtEnv> env = {nullptr, nullptr};
  Owned<OrtSession> session = {nullptr, nullptr};
  OrtAllocator* allocator = nullptr;
  std::vector<InputSpec> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Owned<OrtValue>> values = {};
  std::vector<std::string> value_names = {};

  Result<std::string> taken(OrtStatus* status, char* text, const std::string& what) const {
    NL_CHECK(checked(api, status, what));
    std::string copy = text;
    NL_CHECK(checked(api, api.AllocatorFree(allocator, text), what));
    return copy;
  }

  Result<void> read_outputs() {
    size_t count = 0;
    NL_CHECK(checked(api, api.SessionGetOutputCount(session.get(), &count), "cannot list the outputs"));
    for (size_t i = 0; i < count; i++) {
      char* name = nullptr;
      OrtStatus* const status = api.SessionGetOutputName(session.get(), i, allocator, &name);
      NL_TRY(std::string output, taken(status, name, "cannot name an output"));
      outputs.push_back(std::move(output));
    }
    return {};
  }

  Result<void> read_inputs() {
    size_t count = 0;
    NL_CHECK(checked(api, api.SessionGetInputCount(session.get(), &count), "cannot list the inputs"));
    for (size_t i = 0; i < count; i++) {
      NL_TRY(InputSpec input, read_input(i));
      inputs.push_back(std::move(input));
    }
    return {};
  }

  Result<InputSpec> read_input(size_t index) const {
    char* text = nullptr;
    OrtStatus* const status = api.SessionGetInputName(session.get(), index, allocator, &text);
    InputSpec input;
    NL_TRY(input.name, taken(status, text, "cannot name an input"));
    const std::string what = "cannot read the type of input " + input.name;
    OrtTypeInfo* info = nullptr;
    NL_CHECK(checked(api, api.SessionGetInputTypeInfo(session.get(), index, &info), what));
    const Owned<OrtTypeInfo> owned(info, api.ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    NL_CHECK(checked(api, api.CastTypeInfoToTensorInfo(info, &tensor), what));
    if (tensor == nullptr)
      return Error{ErrorCode::kUnsupported, "only inputs that are tensors can be generated: " + input.name};
    NL_CHECK(read_shape(*tensor, input));
    return input;
  }

  Result<void> read_shape(const OrtTensorTypeAndShapeInfo& tensor, InputSpec& input) const {
    const std::string what = "cannot read the shape of input " + input.name;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    NL_CHECK(checked(api, api.GetTensorElementType(&tensor, &type), what));
    const ElementType* const known = find_type(type);
    if (known == nullptr)
      return Error{ErrorCode::kUnsupported,
                   "input " + input.name + " has elements of a type that cannot be generated"};
    input.type = known->name;
    size_t count = 0;
    NL_CHECK(checked(api, api.GetDimensionsCount(&tensor, &count), what));
    input.shape.resize(count);
    std::vector<const char*> symbols(count);
    NL_CHECK(checked(api, api.GetDimensions(&tensor, input.shape.data(), count), what));
    NL_CHECK(checked(api, api.GetSymbolicDimensions(&tensor, symbols.data(), count), what));
    for (const char* symbol : symbols) input.symbols.emplace_back(symbol == nullptr ? "" : symbol);
    return {};
  }

  Result<Owned<OrtValue>> make_value(const Tensor& tensor) const {
    const std::string what = "cannot make input " + tensor.name;
    const ElementType* const type = find_type(tensor.type);
    if (type == nullptr) return Error{ErrorCode::kUnsupported, what + ": no such type: " + tensor.type};
    OrtValue* value = nullptr;
    NL_CHECK(checked(
        api,
        api.CreateTensorAsOrtValue(allocator, tensor.shape.data(), tensor.shape.size(), type->type, &value),
        what));
    Owned<OrtValue> owned(value, api.ReleaseValue);
    if (type->bytes == 0) return owned;  // text: empty
    void* bytes = nullptr;
    NL_CHECK(checked(api, api.GetTensorMutableData(value, &bytes), what));
    if (!tensor.bytes.empty()) std::memcpy(bytes, tensor.bytes.data(), tensor.bytes.size());
    return owned;
  }
};

OnnxSession::OnnxSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnnxSession::OnnxSession(OnnxSession&&) noexcept = default;
OnnxSession::~OnnxSession() = default;

const std::vector<InputSpec>& OnnxSession::inputs() const {
  return state_->inputs;
}

Result<void> OnnxSession::set_inputs(const std::vector<Tensor>& tensors) {
  state_->values.clear();
  state_->value_names.clear();
  for (const Tensor& tensor : tensors) {
    NL_TRY(auto value, state_->make_value(tensor));
    state_->values.push_back(std::move(value));
    state_->value_names.push_back(tensor.name);
  }
  return {};
}

Result<void> OnnxSession::run() {
  State& s = *state_;
  std::vector<const char*> inputs, outputs;
  std::vector<const OrtValue*> values;
  for (const std::string& name : s.value_names) inputs.push_back(name.c_str());
  for (const std::string& name : s.outputs) outputs.push_back(name.c_str());
  for (const auto& value : s.values) values.push_back(value.get());
  std::vector<OrtValue*> results(outputs.size());
  OrtStatus* const status = s.api.Run(s.session.get(), nullptr, inputs.data(), values.data(), values.size(),
                                      outputs.data(), outputs.size(), results.data());
  for (OrtValue* result : results) {
    if (result != nullptr) s.api.ReleaseValue(result);
  }
  return checked(s.api, status, "the model failed");
}

Result<std::string> OnnxSession::end_profiling() {
  char* path = nullptr;
  OrtStatus* const status = state_->api.SessionEndProfiling(state_->session.get(), state_->allocator, &path);
  return state_->taken(status, path, "cannot end profiling");
}

Result<OnnxRuntime> OnnxRuntime::load(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    return Error{ErrorCode::kUnavailable,
                 "cannot load ONNX Runtime: " + std::string(reason == nullptr ? library : reason)};
  }
  using GetBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(::dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr)
    return Error{ErrorCode::kUnavailable, "not the library of ONNX Runtime: " + library,
                 "its name is libonnxruntime.so"};
  const OrtApiBase* const base = get_base();
  const std::string version = base->GetVersionString();
  const OrtApi* const api = base->GetApi(kOldestApi);
  if (api == nullptr)
    return Error{ErrorCode::kUnavailable, "ONNX Runtime is too old: " + version, "1.15 or later is needed"};
  return OnnxRuntime(api, version);
}

Result<std::vector<std::string>> OnnxRuntime::providers() const {
  char** names = nullptr;
  int count = 0;
  NL_CHECK(checked(*api_, api_->GetAvailableProviders(&names, &count), "cannot list the providers"));
  constexpr std::string_view kEnd = "ExecutionProvider";
  std::vector<std::string> providers;
  for (int i = 0; i < count; i++) {
    std::string name = names[i];
    if (name.ends_with(kEnd)) name.resize(name.size() - kEnd.size());
    providers.push_back(std::move(name));
  }
  NL_CHECK(checked(*api_, api_->ReleaseAvailableProviders(names, count), "cannot list the providers"));
  return providers;
}

Result<OnnxSession> OnnxRuntime::open(const SessionOptions& options) const {
  auto state = std::make_unique<OnnxSession::State>(*api_);
  OrtEnv* env = nullptr;
  NL_CHECK(checked(*api_, api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "neurolens", &env),
                   "cannot start ONNX Runtime"));
  state->env = {env, api_->ReleaseEnv};
  OrtSessionOptions* made = nullptr;
  NL_CHECK(checked(*api_, api_->CreateSessionOptions(&made), "cannot start ONNX Runtime"));
  const Owned<OrtSessionOptions> owned(made, api_->ReleaseSessionOptions);
  NL_CHECK(apply(*api_, made, options));
  OrtSession* session = nullptr;
  NL_CHECK(checked(*api_, api_->CreateSession(env, options.model.c_str(), made, &session),
                   "cannot load " + options.model));
  state->session = {session, api_->ReleaseSession};
  NL_CHECK(
      checked(*api_, api_->GetAllocatorWithDefaultOptions(&state->allocator), "cannot start ONNX Runtime"));
  NL_CHECK(state->read_inputs());
  NL_CHECK(state->read_outputs());
  return OnnxSession(std::move(state));
}

Result<std::string> find_onnx_runtime(const Environment& surroundings, const std::string& given) {
  const std::string wanted = given.empty() ? surroundings.get("NEUROLENS_ONNXRUNTIME") : given;
  if (!wanted.empty()) {
    if (path_exists(wanted)) return wanted;
    return Error{ErrorCode::kUnavailable, "no such library: " + wanted};
  }
  for (const char* name : {"libonnxruntime.so.1", "libonnxruntime.so"}) {
    void* const handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    ::dlclose(handle);
    return std::string(name);
  }
  std::string library = library_of_python(surroundings);
  if (!library.empty()) return library;
  return Error{
      ErrorCode::kUnavailable, "ONNX Runtime was not found",
      "pip install onnxruntime (1.18 or later has the library), or name libonnxruntime.so with --library "
      "or NEUROLENS_ONNXRUNTIME"};
}

size_t element_bytes(const std::string& type) {
  const ElementType* const known = find_type(type);
  return known == nullptr ? 0 : known->bytes;
}

}  // namespace nl::capture
