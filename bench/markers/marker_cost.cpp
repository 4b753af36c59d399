// CPU time of a scope in ns, one JSON line a round: marker_cost ROUNDS [PAIRS]. Recorded or not is told by
// the environment. Between rounds it rests, so that a recorder has drained the ring.

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "neurolens/neurolens.h"

namespace {

long long cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

template <class Work>
double ns_each(int pairs, Work work) {
  const long long start = cpu_ns();
  for (int i = 0; i < pairs; i++) work();
  const double each = static_cast<double>(cpu_ns() - start) / pairs;
  usleep(20'000);
  return each;
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? atoi(words[1]) : 10;
  const int pairs = count > 2 ? atoi(words[2]) : 100'000;
  for (int round = 0; round < rounds; round++) {
    const double scope = ns_each(pairs, [] { const neurolens::Scope held("prefill"); });
    const double macro = ns_each(pairs, [] { NEUROLENS_SCOPE("prefill"); });
    const double c = ns_each(pairs, [] { neurolens_end(neurolens_begin("prefill")); });
    std::printf("{\"scope\": %.2f, \"macro\": %.2f, \"c\": %.2f}\n", scope, macro, c);
    std::fflush(stdout);
  }
}
