#include "compare/plain_words.h"

#include <span>

namespace nl::compare {
namespace {

struct NamedWords {
  std::string_view name;
  PlainWords words;
};

constexpr NamedWords kComputeWords[] = {
    {"gemm", {"matrix products", "matrix products"}},
    {"conv", {"convolutions", "convolutions"}},
    {"attention", {"attention", "attention"}},
    {"norm", {"normalisation", "normalisation"}},
    {"softmax", {"softmax", "softmax"}},
    {"elementwise", {"elementwise work", "elementwise work"}},
    {"reduce", {"reductions", "reductions"}},
    {"pool", {"pooling", "pooling"}},
    {"embedding", {"embedding look-ups", "embedding look-ups"}},
    {"rope", {"rotary embedding", "rotary embedding"}},
    {"kv_cache", {"work on the key-value cache", "the key-value cache"}},
    {"moe", {"expert routing", "expert routing"}},
    {"quantize", {"quantising", "quantising"}},
    {"sample", {"sorting and sampling", "sorting and sampling"}},
    {"index", {"indexing", "indexing"}},
    {"memory", {"kernels that only move data", "moving data"}},
    {"communication", {"communication", "communication"}},
    {"optimizer", {"the optimizer", "the optimizer"}},
    {"loss", {"the loss", "the loss"}},
    {"recurrent", {"recurrent layers", "recurrent layers"}},
    {"control", {"calls that contain others", "calls that contain others"}},
    {"other", {"work that no pattern knows", "work that no pattern knows"}},
};

constexpr NamedWords kIdleWords[] = {
    {"host_sync", {"waiting in synchronising calls", "synchronising calls"}},
    {"host_data", {"waiting for data", "data loading"}},
    {"host_alloc", {"waiting for memory allocation", "memory allocation"}},
    {"host_call", {"waiting for runtime calls", "runtime calls"}},
    {"host_op", {"waiting for host ops", "host ops"}},
    {"host_other", {"waiting for the host outside of ops", "the host outside of ops"}},
    {"launch", {"launch latency", "launch latency"}},
    {"turnaround", {"short gaps between back-to-back kernels", "short gaps between kernels"}},
    {"wait", {"waiting for another stream", "waits for another stream"}},
    {"queued", {"idle time with work queued", "idle time with work queued"}},
    {"unlinked", {"idle time of unknown cause", "idle time of unknown cause"}},
    {"start", {"idle time before the first work", "idle time before the first work"}},
    {"end", {"idle time after the last work", "idle time after the last work"}},
    {"setup", {"set-up", "set-up"}},
    {"outside_ops", {"time outside of ops", "time outside of ops"}},
    {"between_runs", {"the caller's time between runs", "the caller's time between runs"}},
};

PlainWords found_in(std::span<const NamedWords> table, std::string_view name) {
  for (const NamedWords& row : table) {
    if (row.name == name) return row.words;
  }
  return {name, name};
}

}  // namespace

PlainWords plain_words(PartKind kind, std::string_view name) {
  switch (kind) {
    case PartKind::kCompute:
      return found_in(kComputeWords, name);
    case PartKind::kIdle:
      return found_in(kIdleWords, name);
    case PartKind::kCommunication:
      return {"exposed communication", "exposed communication"};
    case PartKind::kCopy:
      return {"exposed copies", "exposed copies"};
    case PartKind::kRest:
      break;
  }
  return {"time that the source does not explain", "time that the source does not explain"};
}

}  // namespace nl::compare
