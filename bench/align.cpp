// Measures src/align: accuracy over edited models, and time and memory of large runs. See
// docs/analysis/alignment.md.
//
//   g++ -O3 -std=c++20 -Isrc -Itests/unit bench/align.cpp src/align/*.cpp src/base/result.cpp -o
//   build/align_bench build/align_bench accuracy [nodes rate cases] build/align_bench speed [nodes]

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "align_cases.h"

namespace {

using namespace nl::align_cases;

Score score_of(Model model, Knowledge knowledge, uint32_t nodes, double rate, uint32_t cases) {
  Score score;
  for (uint32_t seed = 0; seed < cases; seed++) {
    Dice dice(1000 + seed);
    Texts texts;
    const Case c = Editor(make_model(model, nodes, knowledge, texts, dice), texts, dice).edit(rate);
    const auto names = texts.views();
    nl::align::Options options;
    if (knowledge.words) options.names = names;
    const auto result = nl::align::align(c.base, c.other, options);
    if (!result) std::exit(1);
    Referee(c, *result).judge(score);
  }
  return score;
}

void print(Model model, const std::string& knows, const Score& score) {
  const auto& kept = score.edits[0];
  std::printf("| %s | %s | %.2f | %.2f | %.2f |", model_name(model), knows.c_str(), 100 * kept.share(),
              100.0 * static_cast<double>(kept.ambiguous) / static_cast<double>(kept.total),
              100 * kept.known_share());
  for (size_t e = 1; e < kEdits; e++) {
    const Tally& tally = score.edits[e];
    if (tally.total == 0) {
      std::printf(" |");
    } else {
      std::printf(" %.0f |",
                  100.0 * static_cast<double>(tally.recognised) / static_cast<double>(tally.total));
    }
  }
  std::printf("\n");
}

void print_bins(const Score& score) {
  std::printf("\n| confidence | matches | right %% |\n|---|---|---|\n");
  for (size_t i = 0; i < score.bins.size(); i++) {
    const Bin& bin = score.bins[i];
    if (bin.total == 0) continue;
    std::printf("| %.2f to %.2f | %llu | %.2f |\n", static_cast<double>(i) / 20,
                static_cast<double>(i + 1) / 20, static_cast<unsigned long long>(bin.total),
                100.0 * static_cast<double>(bin.right) / static_cast<double>(bin.total));
  }
}

void add(Score& sum, const Score& more) {
  for (size_t i = 0; i < sum.bins.size(); i++) {
    sum.bins[i].total += more.bins[i].total;
    sum.bins[i].right += more.bins[i].right;
  }
}

void accuracy(uint32_t nodes, double rate, uint32_t cases) {
  std::printf(
      "| model | known beside names | untouched %% | ambiguous %% | right of the rest %% | deleted | renamed "
      "| "
      "reshaped | moved | fused | split |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  Score sum;
  for (const Model model : kModels) {
    for (const auto& [text, knowledge] :
         {std::pair{"nothing", Knowledge{false, false, false, false}},
          std::pair{"families", Knowledge{false, false, true, true}},
          std::pair{"families, shapes", Knowledge{false, true, true, true}},
          std::pair{"families, tree", Knowledge{true, false, true, true}},
          std::pair{"families, shapes, tree", Knowledge{true, true, true, true}}}) {
      const Score score = score_of(model, knowledge, nodes, rate, cases);
      print(model, text, score);
      add(sum, score);
    }
  }
  print_bins(sum);
}

nl::align::Sequence names_only(uint32_t count, const std::function<uint32_t(uint32_t)>& name) {
  nl::align::Sequence run;
  for (uint32_t i = 0; i < count; i++) run.nodes.push_back({kNone, name(i), 0, 0, 1000});
  return run;
}

struct Pairing {
  std::string what;
  std::function<Case()> make;
};

Case edited(Model model, Knowledge knowledge, uint32_t nodes, double rate) {
  Dice dice(5);
  Texts texts;
  return Editor(make_model(model, nodes, knowledge, texts, dice), texts, dice).edit(rate);
}

Case ported(uint32_t nodes, bool keeps_families) {
  Dice dice(5);
  Texts texts;
  return Editor(make_model(Model::kSteps, nodes, {}, texts, dice), texts, dice).port(keeps_families);
}

Case plain(nl::align::Sequence base, nl::align::Sequence other) {
  Case c;
  c.base = std::move(base);
  c.other = std::move(other);
  return c;
}

std::vector<Pairing> pairings(uint32_t n) {
  const Knowledge all, none{false, false, false, false};
  const auto coin = [](uint64_t seed) {
    return [dice = Dice(seed)](uint32_t) mutable { return 1 + dice.below(2); };
  };
  return {
      {"itself", [=] { return edited(Model::kSteps, all, n, 0); }},
      {"steps, tree and shapes, 1 % edited", [=] { return edited(Model::kSteps, all, n, 0.01); }},
      {"steps, tree and shapes, 20 % edited", [=] { return edited(Model::kSteps, all, n, 0.2); }},
      {"steps, names only, 1 % edited", [=] { return edited(Model::kSteps, none, n, 0.01); }},
      {"steps, names only, 20 % edited", [=] { return edited(Model::kSteps, none, n, 0.2); }},
      {"mixture, names only, 20 % edited", [=] { return edited(Model::kMixture, none, n, 0.2); }},
      {"steps, tree, other library", [=] { return ported(n, true); }},
      {"steps, tree, other library, no families", [=] { return ported(n, false); }},
      {"all names equal, one side half",
       [=] {
         const auto one = [](uint32_t) { return 1u; };
         return plain(names_only(n, one), names_only(n / 2, one));
       }},
      {"all names different",
       [=] {
         return plain(names_only(n, [](uint32_t i) { return i; }),
                      names_only(n, [=](uint32_t i) { return n + i; }));
       }},
      {"random of two names", [=] { return plain(names_only(n, coin(1)), names_only(n, coin(2))); }},
      {"reversed",
       [=] {
         return plain(names_only(n, [](uint32_t i) { return i; }),
                      names_only(n, [=](uint32_t i) { return n - i; }));
       }},
  };
}

/// In MB: the memory now, or its peak since the last reset.
double memory_mb(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::atof(line.c_str() + line.find(':') + 1) / 1024;
  }
  return 0;
}

/// In a process of its own, so that memory is that of this pairing.
void measure(const Pairing& pairing) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  const Case c = pairing.make();
  rusage before{}, after{};
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const double memory_before = memory_mb("VmRSS");
  getrusage(RUSAGE_SELF, &before);
  const auto result = nl::align::align(c.base, c.other);
  getrusage(RUSAGE_SELF, &after);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const double cpu =
      seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) - seconds(before.ru_stime);
  const size_t nodes = c.base.nodes.size() + c.other.nodes.size();
  const double added = memory_mb("VmHWM") - memory_before;
  std::printf("| %s | %zu + %zu | %zu | %.2f | %.0f | %.0f |\n", pairing.what.c_str(), c.base.nodes.size(),
              c.other.nodes.size(), result ? result->matches.size() : 0, cpu, added,
              added * 1024 * 1024 / static_cast<double>(nodes));
  std::fflush(stdout);
  _exit(result ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  if (what == "accuracy") {
    accuracy(static_cast<uint32_t>(number(2, 1500)), number(3, 0.2), static_cast<uint32_t>(number(4, 20)));
    return 0;
  }
  if (what != "speed") return std::fprintf(stderr, "usage: align_bench accuracy|speed [...]\n"), 2;
  std::printf(
      "| two runs | nodes | matches | CPU s | added MB | bytes a node |\n|---|---|---|---|---|---|\n");
  for (const Pairing& pairing : pairings(static_cast<uint32_t>(number(2, 1'000'000)))) measure(pairing);
}
