// A program that starts the collector as the CUDA driver does, and lets the stand-in for libcupti replay
// work: cupti_program WHAT [RECORDS]. Prints what it did and ends in the ordinary way.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "neurolens/neurolens.h"

int main(int argc, char** argv) {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const collector = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  void* const symbol = collector != nullptr ? dlsym(collector, "InitializeInjection") : nullptr;
  int (*start)() = nullptr;
  std::memcpy(&start, &symbol, sizeof symbol);
  std::printf("injected %d\n", start != nullptr ? start() : -1);
  void (*run)(const char*, int) = nullptr;
  if (void* const cupti = dlopen(std::getenv("NEUROLENS_CUPTI"), RTLD_NOW | RTLD_NOLOAD)) {
    void* const found = dlsym(cupti, "standin_run");
    std::memcpy(&run, &found, sizeof found);
  }
  const neurolens::Scope scope("step");
  if (run != nullptr) run(argc > 1 ? argv[1] : "all_kinds", argc > 2 ? std::atoi(argv[2]) : 1);
  std::puts("done");
}
