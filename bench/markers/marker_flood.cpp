// Markers as fast as they come: marker_flood THREADS MARKERS, so many altogether. Prints how many it set.
// marker_flood THREADS MARKERS PER_SECOND sets so many in a second, all threads together.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "neurolens/neurolens.h"

int main(int count, char** words) {
  const long threads = count > 1 ? atol(words[1]) : 8;
  const long markers = count > 2 ? atol(words[2]) : 1'000'000;
  const double per_second = count > 3 ? atof(words[3]) / static_cast<double>(threads) : 0;  // of a thread
  const auto began = std::chrono::steady_clock::now();
  constexpr long kBetweenLooks = 100;  // markers
  std::atomic<long> set{0};
  std::vector<std::thread> running;
  for (long t = 0; t < threads; t++) {
    const long share = markers / threads + (t < markers % threads ? 1 : 0);
    running.emplace_back([&set, share, per_second, began] {
      long done = 0;
      for (; done + 2 <= share; done += 2) {
        if (per_second > 0 && done % kBetweenLooks == 0)
          std::this_thread::sleep_until(
              began + std::chrono::duration<double>(static_cast<double>(done) / per_second));
        NEUROLENS_SCOPE("flood");
      }
      for (; done < share; done++) neurolens::counter("odd", 1);
      set += done;
    });
  }
  for (auto& thread : running) thread.join();
  std::printf("%ld\n", set.load());
}
