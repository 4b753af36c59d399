// Markers as fast as they come: marker_flood THREADS MARKERS, so many altogether. Prints how many it set.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "neurolens/neurolens.h"

int main(int count, char** words) {
  const long threads = count > 1 ? atol(words[1]) : 8;
  const long markers = count > 2 ? atol(words[2]) : 1'000'000;
  std::atomic<long> set{0};
  std::vector<std::thread> running;
  for (long t = 0; t < threads; t++) {
    const long share = markers / threads + (t < markers % threads ? 1 : 0);
    running.emplace_back([&set, share] {
      long done = 0;
      for (; done + 2 <= share; done += 2) {
        NEUROLENS_SCOPE("flood");
      }
      for (; done < share; done++) neurolens::counter("odd", 1);
      set += done;
    });
  }
  for (auto& thread : running) thread.join();
  std::printf("%ld\n", set.load());
}
