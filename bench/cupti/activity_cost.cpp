// CPU time in ns to take one record of CUPTI into a ring, one JSON line a round: activity_cost ROUNDS. The
// buffers are simulated; reading the next record is a pointer and a size, as it is in CUPTI.

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cupti/activity.h"

namespace {

using namespace nl::cupti;

constexpr size_t kRecordBytes = 208;  // of CUDA 12.9's largest
constexpr size_t kRecords = 50'000;

/// Records are of one size here.
Status next_record(uint8_t* buffer, size_t valid_bytes, void** record) {
  uint8_t* const next = *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + kRecordBytes;
  if (next >= buffer + valid_bytes) return kMaxLimitReached;
  *record = next;
  return kSuccess;
}
Status callback_name(uint32_t, uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return kSuccess;
}

template <class Record>
std::vector<uint8_t> buffer_of(const Record& record) {
  std::vector<uint8_t> buffer(kRecords * kRecordBytes);
  for (size_t i = 0; i < kRecords; i++) std::memcpy(&buffer[i * kRecordBytes], &record, sizeof record);
  return buffer;
}

/// Names are as long as those of libraries of today, and of 64 different functions.
std::vector<uint8_t> kernels() {
  static std::vector<std::string> names;
  for (int i = 0; i < 64; i++)
    names.push_back("_ZN2at6native29vectorized_elementwise_kernelILi4E" + std::string(160, 'x') +
                    std::to_string(i));
  Kernel kernel{};
  kernel.kind = Kind::kConcurrentKernel;
  auto buffer = buffer_of(kernel);
  for (size_t i = 0; i < kRecords; i++) {
    const char* const name = names[i * 7 % names.size()].c_str();
    std::memcpy(&buffer[i * kRecordBytes + offsetof(Kernel, name)], &name, sizeof name);
  }
  return buffer;
}

double ns_each(ActivityWriter& writer, std::vector<uint8_t>& buffer) {
  timespec start, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  writer.write_buffer(buffer.data(), buffer.size());
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  usleep(50'000);  // the recorder drains the ring
  return (static_cast<double>(end.tv_sec - start.tv_sec) * 1e9 +
          static_cast<double>(end.tv_nsec - start.tv_nsec)) /
         kRecords;
}

}  // namespace

int main(int count, char** words) {
  static ActivityWriter writer;
  static Functions functions{};
  functions.cuptiActivityGetNextRecord = next_record;
  functions.cuptiGetCallbackName = callback_name;
  auto* const ring = nl::collect::make_ring_of("GPU");
  if (ring == nullptr) return 1;
  writer.start(functions, ring, true);
  auto kernel_buffer = kernels();
  Call call{};
  call.kind = Kind::kRuntime;
  call.callback = 211;
  auto call_buffer = buffer_of(call);
  for (int round = count > 1 ? std::atoi(words[1]) : 10; round > 0; round--) {
    const double kernel = ns_each(writer, kernel_buffer);
    std::printf("{\"kernel\": %.2f, \"call\": %.2f}\n", kernel, ns_each(writer, call_buffer));
    std::fflush(stdout);
  }
}
