#include "capture/run/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace nl::capture {
namespace {

using nlohmann::json;

/// The files of a machine that is not this one.
class Host : public testing::Test {
 protected:
  Host() {
    std::string name = testing::TempDir() + "host-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Host() override { remove_tree(root_); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

std::string processor(int number, int socket, int core) {
  return "processor\t: " + std::to_string(number) +
         "\nmodel name\t: A CPU\nphysical id\t: " + std::to_string(socket) +
         "\ncore id\t\t: " + std::to_string(core) + "\nflags\t\t: fpu avx2 avx512f hypervisor\n\n";
}

TEST_F(Host, CountsSocketsCoresAndThreads) {
  file("/proc/cpuinfo", processor(0, 0, 0) + processor(1, 0, 0) + processor(2, 0, 1) + processor(3, 1, 0));
  const json cpu = describe_host(root_)["processors"];
  EXPECT_EQ(cpu["model"], "A CPU");
  EXPECT_EQ(cpu["threads"], 4);
  EXPECT_EQ(cpu["cores"], 3);
  EXPECT_EQ(cpu["sockets"], 2);
  EXPECT_EQ(cpu["units"], json({"avx2", "avx512f"}));
}

TEST_F(Host, WhatIsNotThereIsAbsentWithItsReason) {
  const json host = describe_host(root_);
  EXPECT_FALSE(host.contains("kernel"));
  EXPECT_TRUE(host["absent"].contains("kernel"));
  EXPECT_TRUE(host["processors"]["absent"].contains("governor"));
  EXPECT_TRUE(host["memory"]["absent"].contains("total_bytes"));
  EXPECT_EQ(host["container"], false);
}

TEST_F(Host, ReadsFrequenciesMemoryAndNodes) {
  file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3800000\n");
  file("/sys/devices/system/node/node0/meminfo", "");
  file("/sys/devices/system/node/node1/meminfo", "");
  file("/sys/devices/system/node/possible", "0-1");
  file("/proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\nSwapTotal: 0 kB\n");
  const json host = describe_host(root_);
  EXPECT_EQ(host["processors"]["governor"], "performance");
  EXPECT_EQ(host["processors"]["max_khz"], 3'800'000);
  EXPECT_EQ(host["processors"]["numa_nodes"], 2);
  EXPECT_EQ(host["memory"]["total_bytes"], 2048 * 1024);
  EXPECT_EQ(host["memory"]["swap_bytes"], 0);
}

TEST_F(Host, ReadsLimitsOfBothKindsOfControlGroups) {
  file("/proc/self/cgroup", "0::/pod\n");
  file("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  file("/sys/fs/cgroup/pod/memory.max", "1073741824\n");
  EXPECT_EQ(describe_host(root_)["limits"], json({{"processors", 1.5}, {"memory_bytes", 1'073'741'824}}));
  file("/sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  file("/sys/fs/cgroup/pod/memory.max", "max\n");
  EXPECT_TRUE(describe_host(root_)["limits"]["absent"].contains("processors"));
  file("/proc/self/cgroup", "4:memory:/m\n1:cpu:/c\n");
  file("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "200000\n");
  file("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  file("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  const json limits = describe_host(root_)["limits"];
  EXPECT_EQ(limits["processors"], 2.0);
  EXPECT_TRUE(limits["absent"].contains("memory_bytes")) << "version 1 writes no limit as a huge number";
}

TEST(Environment, KeepsWhatIsListedAndNeverASecret) {
  const json kept =
      describe_environment({"OMP_NUM_THREADS=4", "VLLM_API_KEY=abc", "HF_TOKEN=def", "HOME=/root",
                            "CUDA_VISIBLE_DEVICES=0,1", "TORCH_AUTH_HEADER=x", "NOT_EVEN", "LANG=C=D"});
  EXPECT_EQ(kept["variables"],
            json({{"OMP_NUM_THREADS", "4"}, {"CUDA_VISIBLE_DEVICES", "0,1"}, {"LANG", "C=D"}}));
  EXPECT_EQ(kept["withheld"], 2);
  EXPECT_EQ(kept.dump().find("abc"), std::string::npos);
}

TEST(Checkout, IsNullOutsideOfGit) {
  EXPECT_TRUE(describe_checkout(Environment::of_process(), "/proc").is_null());
}

}  // namespace
}  // namespace nl::capture
