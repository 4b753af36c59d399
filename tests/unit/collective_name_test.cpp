// Which kernels belong to a communication library: the function and the SQL must agree on every name.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "assemble/collective_match.h"

namespace nl::assemble {
namespace {

TEST(CollectiveName, IsWhatTheQueryTakes) {
  auto engine = store::Engine::open({});
  ASSERT_TRUE(engine) << engine.error().message;
  auto connection = (*engine)->connect();
  ASSERT_TRUE(connection);
  const std::vector<std::pair<const char*, bool>> kNames = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", true},
      {"void RCCL::kernel<float>(int)", true},
      {"NCCL_x", true},
      {"my_lib::mscclKernel", true},
      {"void vllm::cross_device_reduce_1stage<half, 2>(int*)", true},
      {"void void nccl", false},
      {"gemm2_nccl", false},  // the digit ends the first word
      {"at::native::elementwise", false},
      {"", false},
      {"void ", false},
      {"ncc", false}};
  for (const auto& [name, expected] : kNames) {
    EXPECT_EQ(is_collective_name(name), expected) << name;
    ASSERT_TRUE(connection->run(
        fmt::format("CREATE OR REPLACE TABLE kernels AS SELECT {} AS name", store::sql_quoted(name))));
    const auto found = has_collectives(*connection);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, expected) << name;
  }
}

}  // namespace
}  // namespace nl::assemble
