// neurolens_stress: the stress of stress.h as a program, which tests/full/stress runs under the sanitizers.

#include <fmt/core.h>

#include <charconv>
#include <exception>
#include <string_view>

#include "stress/planted_race.h"
#include "stress/stress.h"

namespace nl::stress {
namespace {

int usage() {
  fmt::print(stderr,
             "neurolens_stress [--seconds N] [--threads N] [--events N] [--seed N] [--plant-race]\n"
             "  --plant-race  only a race on purpose in a function that the engine calls; a sanitizer must "
             "find it\n");
  return 2;
}

bool take(std::string_view word, std::string_view text, StressOptions& options) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 1) return false;
  if (word == "--seconds") return options.seconds = value, true;
  if (word == "--threads") return options.threads = value, true;
  if (word == "--events") return options.events = value, true;
  if (word == "--seed") return options.seed = static_cast<unsigned>(value), true;
  return false;
}

int main_with(int argc, char** argv) {
  StressOptions options;
  bool plants_race = false;
  for (int i = 1; i < argc; i++) {
    const std::string_view word = argv[i];
    if (word == "--plant-race") {
      plants_race = true;
    } else if (i + 1 >= argc || !take(word, argv[++i], options)) {
      return usage();
    }
  }
  if (plants_race) {
    fmt::print("{} rows counted without a lock\n", count_rows_without_a_lock());
    return 0;
  }
  return survives_stress(options) ? 0 : 1;
}

}  // namespace
}  // namespace nl::stress

int main(int argc, char** argv) {
  try {
    return nl::stress::main_with(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "neurolens_stress: {}\n", error.what());
    return 1;
  }
}
