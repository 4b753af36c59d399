// Runs a command with its processor time sampled, for bench/sampling/run.
// usage: sample HZ FILE COMMAND...     HZ 0: without

#include <cstdio>
#include <cstdlib>

#include "base/process.h"
#include "capture/cpu_sampler.h"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::vector<std::string> command(argv + 3, argv + argc);
  const auto frequency = static_cast<uint64_t>(std::atoi(argv[1]));
  nl::ProcessEnd end;
  const auto run = [&]() -> nl::Result<void> {
    nl::ProcessOptions options;
    options.time = std::chrono::hours(1);
    NL_TRY(end, nl::run_process(command, options));
    return {};
  };
  nl::capture::SamplingEnd sampling;
  if (frequency == 0) {
    if (!run()) return 1;
  } else {
    auto sampled = nl::capture::sample_around({argv[2], frequency}, run);
    if (!sampled) return 1;
    sampling = std::move(*sampled);
  }
  const std::string output = end.output.substr(0, end.output.find('\n'));
  std::printf(
      "{\"exit_code\": %d, \"output\": \"%s\", \"recorded\": %llu, \"absent\": \"%s\", \"cpu_ns\": %lld}\n",
      end.exit_code, output.c_str(), static_cast<unsigned long long>(sampling.recorded),
      sampling.absent_reason.c_str(), static_cast<long long>(end.user_ns + end.system_ns));
  return end.exit_code;
}
