#include "capture/model_passes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <vector>

#include "base/files.h"
#include "capture/document.h"
#include "capture/model/npz.h"

namespace nl::capture {
namespace {

using nlohmann::json;

constexpr int64_t kBlockNs = 50'000'000;  // at most, if one run is not longer
constexpr int64_t kTurns = 20;            // at least, if there are as many runs
constexpr useconds_t kPauseUs = 20'000;   // the threads of the session before stop spinning

/// A line of /proc/self/status in bytes.
int64_t memory_now(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == line + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

class Measurement {
 public:
  explicit Measurement(const PassPlan& plan) : plan_(plan) {}

  Result<json> run() {
    add_memory("process");
    NL_TRY(const auto runtime, OnnxRuntime::load(plan_.library));
    NL_TRY(const auto providers, runtime.providers());
    SessionOptions plain = plan_.session;
    plain.profile_prefix.clear();
    NL_TRY(auto unprofiled, open(runtime, plain, "unprofiled"));
    NL_TRY(const ModelInputs inputs, inputs_for(unprofiled));
    NL_CHECK(warm_up(unprofiled, inputs, "unprofiled"));
    add_memory("warm");
    const int64_t peak = memory_now("VmHWM");
    std::string profile;
    if (plan_.profiled) {
      NL_TRY(auto profiled, open(runtime, plan_.session, "profiled"));
      NL_CHECK(warm_up(profiled, inputs, "profiled"));
      NL_CHECK(take_turns(unprofiled, profiled));
      NL_TRY(profile, profiled.end_profiling());
    } else {
      NL_CHECK(run_block(unprofiled, "unprofiled", wanted(plan_.seconds)));
    }
    return json{{"library", plan_.library},      {"version", runtime.version()},
                {"providers", providers},        {"profile", profile},
                {"inputs", inputs_json(inputs)}, {"guessed_sizes", inputs.guessed},
                {"load_ns", load_ns_},           {"memory", memory_},
                {"peak_memory_bytes", peak},     {"clock", clock_pair_json(wire::read_clock_pair())},
                {"iterations", iterations_}};
  }

 private:
  Result<OnnxSession> open(const OnnxRuntime& runtime, const SessionOptions& options, const char* pass) {
    const int64_t begin = wire::clock_ns(CLOCK_MONOTONIC);
    NL_TRY(auto session, runtime.open(options));
    load_ns_[pass] = wire::clock_ns(CLOCK_MONOTONIC) - begin;
    add_memory(std::string("session_") + pass);
    return session;
  }

  Result<ModelInputs> inputs_for(const OnnxSession& session) const {
    InputOptions options = plan_.inputs;
    if (!plan_.inputs_file.empty()) {
      NL_TRY(options.given, read_npz(plan_.inputs_file));
    }
    return make_inputs(session.inputs(), options);
  }

  Result<void> warm_up(OnnxSession& session, const ModelInputs& inputs, const char* pass) {
    NL_CHECK(session.set_inputs(inputs.tensors));
    for (int64_t i = 0; i < std::max<int64_t>(plan_.warm_up, 1); i++) NL_CHECK(iterate(session, pass, true));
    return {};
  }

  int64_t once() const { return std::max<int64_t>(last_ns_, 1); }

  /// Iterations of one session that has so much time.
  int64_t wanted(double seconds) const {
    const auto fitting = static_cast<int64_t>(seconds * 1e9 / static_cast<double>(once()));
    return plan_.iterations > 0 ? plan_.iterations : std::clamp<int64_t>(fitting, 10, 200);
  }

  Result<void> take_turns(OnnxSession& unprofiled, OnnxSession& profiled) {
    const int64_t all = wanted(plan_.seconds / 2);
    const int64_t block = std::clamp<int64_t>(kBlockNs / once(), 1, std::max<int64_t>(all / kTurns, 1));
    for (int64_t done = 0; done < all; done += block) {
      const int64_t count = std::min(block, all - done);
      NL_CHECK(run_block(unprofiled, "unprofiled", count));
      NL_CHECK(run_block(profiled, "profiled", count));
    }
    return {};
  }

  Result<void> run_block(OnnxSession& session, const char* pass, int64_t count) {
    ::usleep(kPauseUs);
    for (int64_t i = 0; i < count; i++) NL_CHECK(iterate(session, pass, false));
    return {};
  }

  Result<void> iterate(OnnxSession& session, const char* pass, bool warm_up) {
    const int64_t cpu = wire::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t start = wire::clock_ns(CLOCK_MONOTONIC);
    NL_CHECK(session.run());
    last_ns_ = wire::clock_ns(CLOCK_MONOTONIC) - start;
    iterations_.push_back({{"pass", pass},
                           {"warm_up", warm_up},
                           {"start_ns", start},
                           {"dur_ns", last_ns_},
                           {"cpu_ns", wire::clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu}});
    return {};
  }

  void add_memory(const std::string& stage) {
    memory_.push_back({{"stage", stage}, {"resident_bytes", memory_now("VmRSS")}});
  }

  static json inputs_json(const ModelInputs& inputs) {
    json list = json::array();
    for (const Tensor& tensor : inputs.tensors) {
      const bool made =
          std::find(inputs.generated.begin(), inputs.generated.end(), tensor.name) != inputs.generated.end();
      list.push_back({{"name", tensor.name},
                      {"type", tensor.type},
                      {"shape", tensor.shape},
                      {"origin", made ? "generated" : "given"}});
    }
    return list;
  }

  const PassPlan& plan_;
  json load_ns_ = json::object();
  json memory_ = json::array();
  json iterations_ = json::array();
  int64_t last_ns_ = 0;
};

PassPlan plan_of(const json& document) {
  PassPlan plan;
  plan.library = document["library"];
  plan.session.model = document["model"];
  plan.session.provider = document["provider"];
  if (document.contains("threads")) plan.session.threads = document["threads"].get<int>();
  if (document.contains("inter_threads")) plan.session.inter_threads = document["inter_threads"].get<int>();
  plan.session.optimize = document["optimize"];
  plan.session.profile_prefix = document["profile_prefix"];
  plan.inputs_file = document["inputs_file"];
  plan.inputs.sizes = document["sizes"].get<std::map<std::string, int64_t>>();
  plan.inputs.shapes = document["shapes"].get<std::map<std::string, std::vector<int64_t>>>();
  plan.warm_up = document["warm_up"];
  plan.iterations = document["iterations"];
  plan.seconds = document["seconds"];
  plan.profiled = document["profiled"];
  return plan;
}

/// The member if it is a text, else empty: other programs write such files, too.
std::string text_of(const json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

ErrorCode code_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(ErrorCode::kInternal); i++) {
    if (name == error_code_name(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::kInternal;
}

Result<json> measured(const std::string& plan) {
  NL_TRY(const std::string text, read_file(plan));
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return Error{ErrorCode::kInternal, "the plan is damaged: " + plan};
  return Measurement(plan_of(document)).run();
}

}  // namespace

json plan_json(const PassPlan& plan) {
  json document = {{"library", plan.library},
                   {"model", plan.session.model},
                   {"provider", plan.session.provider},
                   {"optimize", plan.session.optimize},
                   {"profile_prefix", plan.session.profile_prefix},
                   {"inputs_file", plan.inputs_file},
                   {"sizes", plan.inputs.sizes},
                   {"shapes", plan.inputs.shapes},
                   {"warm_up", plan.warm_up},
                   {"iterations", plan.iterations},
                   {"seconds", plan.seconds},
                   {"profiled", plan.profiled}};
  if (plan.session.threads) document["threads"] = *plan.session.threads;
  if (plan.session.inter_threads) document["inter_threads"] = *plan.session.inter_threads;
  return document;
}

int measure_model(const std::string& plan, const std::string& folder) {
  const auto passes = measured(plan);
  const bool written =
      passes ? write_file_durably(folder + "/passes.json", passes->dump()).has_value()
             : write_file_durably(folder + "/error.json", json{{"code", error_code_name(passes.error().code)},
                                                               {"message", passes.error().message},
                                                               {"hint", passes.error().hint}}
                                                              .dump())
                   .has_value();
  return passes && written ? 0 : 1;
}

Result<json> read_passes(const std::string& folder) {
  const auto failed = read_file(folder + "/error.json");
  const json error = failed ? json::parse(*failed, nullptr, false) : json();
  if (error.is_object())
    return Error{code_named(text_of(error, "code")), text_of(error, "message"), text_of(error, "hint")};
  NL_TRY(const std::string text, read_file(folder + "/passes.json"));
  json passes = json::parse(text, nullptr, false);
  if (passes.is_discarded()) return Error{ErrorCode::kInternal, "passes.json is damaged"};
  return passes;
}

}  // namespace nl::capture
