// The command lines of Nsight Systems, Nsight Compute and rocprofv3.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "capture/tools/ncu_command.h"
#include "capture/tools/nsys_command.h"
#include "capture/tools/rocprofv3_command.h"

namespace nl::capture {
namespace {

using Words = std::vector<std::string>;

const VendorTool kNsys2022{"/opt/nsys", "2022.4.2.1",
                           "\t--capture-range-end=\n\t   Possible values\n\t--cuda-graph-trace=\n"};
const VendorTool kNsys2020{"/opt/nsys", "2020.3.4.32", "\t-c, --capture-range=\n\t--stop-on-range-end=\n"};
const VendorTool kNcu2022{"/opt/ncu", "2022.3.0.0", "  --print-units arg (=auto)   Set scaling\n"};
const VendorTool kNcu2020{"/opt/ncu", "2020.1.0.0", "  --units arg (=auto)   Set scaling\n"};

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
std::string behind(const Words& words, const std::string& option) {
  const auto at = std::find(words.begin(), words.end(), option);
  return at == words.end() || at + 1 == words.end() ? "" : *(at + 1);
}

NvtxRange range(const std::string& text) {
  auto parsed = parse_nvtx_range(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : NvtxRange();
}

TEST(NvtxRange, EachToolHasItsOwnOrder) {
  EXPECT_EQ(range("LLM@prefill"), (NvtxRange{"LLM", "prefill"}));
  EXPECT_EQ(range("step 1"), (NvtxRange{"", "step 1"}));
  EXPECT_EQ(range("@LLM@decode_step"), (NvtxRange{"", "LLM@decode_step"}));
  EXPECT_EQ(nsys_range(range("@LLM@decode_step")), "LLM\\@decode_step");
  EXPECT_EQ(nsys_range(range("LLM@prefill")), "prefill@LLM");
  EXPECT_EQ(ncu_range(range("LLM@prefill")), "LLM@prefill/");
  EXPECT_EQ(nsys_range(range("step")), "step");
  EXPECT_EQ(ncu_range(range("step")), "step/");
}

TEST(NvtxRange, WhatMeansSomethingToAToolIsEscaped) {
  EXPECT_EQ(ncu_range(range("A@b/c[0],*")), R"(A@b\/c\[0\]\,\*/)");
  EXPECT_EQ(nsys_range(range("A@b@c")), R"(b\@c@A)");
  for (const char* text : {"", "A@", "@", "a\nb"}) {
    const auto parsed = parse_nvtx_range(text);
    EXPECT_TRUE(!parsed && parsed.error().code == ErrorCode::kBadInput) << text;
  }
}

TEST(NsysCommand, WithoutARange) {
  EXPECT_EQ(nsys_command(kNsys2022, {"/tmp/100%/nsys"}),
            (Words{"/opt/nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none",
                   "--cuda-graph-trace=node", "--force-overwrite=true", "--output=/tmp/100%%/nsys"}));
}

TEST(NsysCommand, OnlyARange) {
  const Words words = nsys_command(kNsys2022, {"r", "nvtx,osrt", range("LLM@decode")});
  EXPECT_EQ(words, (Words{"/opt/nsys", "profile", "--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none",
                          "--cuda-graph-trace=node", "--capture-range=nvtx", "--nvtx-capture=decode@LLM",
                          "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0", "--capture-range-end=stop",
                          "--force-overwrite=true", "--output=r"}));
}

TEST(NsysCommand, AnOldVersionGetsNoOptionThatItDoesNotKnow) {
  const Words words = nsys_command(kNsys2020, {"r", "cuda", range("step")});
  EXPECT_FALSE(has(words, "--cuda-graph-trace=node"));
  EXPECT_FALSE(has(words, "--capture-range-end=stop"));
  EXPECT_TRUE(has(words, "--stop-on-range-end=true") && has(words, "--kill=none"));
}

TEST(NcuCommand, SomeLaunchesOfSomeKernels) {
  NcuOptions options{"/tmp/ncu.csv",      {"gemm", "flash_fwd"}, 40, 12,
                     range("LLM@decode"), *find_ncu_preset("")};
  EXPECT_EQ(ncu_command(kNcu2022, options), (Words{"/opt/ncu",
                                                   "--target-processes",
                                                   "all",
                                                   "--set",
                                                   "roofline",
                                                   "--section",
                                                   "SpeedOfLight",
                                                   "--kernel-name-base",
                                                   "function",
                                                   "--kernel-name",
                                                   "regex:^(gemm|flash_fwd)$",
                                                   "--launch-skip",
                                                   "40",
                                                   "--launch-count",
                                                   "12",
                                                   "--nvtx",
                                                   "--nvtx-include",
                                                   "LLM@decode/",
                                                   "--csv",
                                                   "--page",
                                                   "raw",
                                                   "--print-units",
                                                   "base",
                                                   "--log-file",
                                                   "/tmp/ncu.csv"}));
  EXPECT_EQ(behind(ncu_command(kNcu2020, options), "--units"), "base");
  options.range.reset();
  EXPECT_FALSE(has(ncu_command(kNcu2022, options), "--nvtx"));
}

TEST(NcuCommand, APresetWithCountersOfOnesOwn) {
  NcuOptions options{"r", {"gemm"}, 0, 1, {}, *find_ncu_preset("minimal")};
  options.preset.metrics.push_back("lts__t_bytes.sum");
  const Words words = ncu_command(kNcu2022, options);
  EXPECT_FALSE(has(words, "--set") || has(words, "--section"));
  EXPECT_TRUE(behind(words, "--metrics").starts_with("gpu__time_duration.sum,launch__grid_size,"));
  EXPECT_TRUE(behind(words, "--metrics").ends_with(",dram__bytes_write.sum,lts__t_bytes.sum"));
}

TEST(ToolPresets, EachCountsSomething) {
  for (const char* name : {"roofline", "minimal", "memory", "occupancy", "full"}) {
    const auto preset = find_ncu_preset(name);
    ASSERT_TRUE(preset) << name;
    EXPECT_EQ(preset->name, name);
    EXPECT_FALSE(preset->set.empty() && preset->sections.empty() && preset->metrics.empty()) << name;
    for (const std::string& metric : preset->metrics) EXPECT_TRUE(is_counter_name(metric)) << metric;
  }
  for (const char* name : {"gpu", "host", "libraries", "ranges"}) {
    const auto preset = find_nsys_preset(name);
    EXPECT_TRUE(preset && preset->name == name && !preset->trace.empty()) << name;
  }
  EXPECT_EQ(find_nsys_preset("")->trace, "cuda,nvtx");
  const auto unknown = find_ncu_preset("all");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kBadInput);
  EXPECT_NE(unknown.error().hint.find("roofline, minimal"), std::string::npos);
}

TEST(ToolPresets, CountersAreNamesAndNothingElse) {
  for (const char* name : {"sm__cycles_active.avg", "TensorActive:0", "SQ_WAVES"})
    EXPECT_TRUE(is_counter_name(name));
  for (const char* name : {"", ".sum", "a,b", "a b", "regex:^a$", "-o", "a\nb"})
    EXPECT_FALSE(is_counter_name(name)) << name;
}

TEST(NcuCommand, NamesMatchAsAWholeAndOnlyThemselves) {
  const Words names = {"gemm", "operator()", "a.b$[x]{1}^|\\?*+", "k<int>"};
  const std::regex pattern(exactly_one_of(names));
  for (const std::string& name : names) EXPECT_TRUE(std::regex_search(name, pattern)) << name;
  for (const char* other : {"gemm2", "xgemm", "operator", "aXb", ""})
    EXPECT_FALSE(std::regex_search(other, pattern)) << other;
}

const VendorTool kRocprofv3{"/opt/rocprofv3", "1.0.0", "  --rccl-trace [BOOL]\n  --pmc [PMC ...]\n"};
const VendorTool kRocprofv3Of2024{"/opt/rocprofv3", "0.4.0", "  --kernel-trace [BOOL]\n"};

TEST(Rocprofv3Command, ATraceOfEveryProcess) {
  EXPECT_EQ(rocprofv3_trace_command(kRocprofv3, "/tmp/r"),
            (Words{"/opt/rocprofv3", "--kernel-trace", "--hip-runtime-trace", "--memory-copy-trace",
                   "--marker-trace", "--rccl-trace", "--output-format", "csv", "-d", "/tmp/r", "-o",
                   "process-%pid%", "--"}));
  EXPECT_FALSE(has(rocprofv3_trace_command(kRocprofv3Of2024, "/tmp/r"), "--rccl-trace"));
}

TEST(Rocprofv3Command, CountersOfSomeKernels) {
  const Words words = rocprofv3_counter_command(kRocprofv3, {"/tmp/r", {"gemm"}, {"SQ_WAVES", "FETCH_SIZE"}});
  EXPECT_EQ(Words(words.begin(), words.begin() + 5),
            (Words{"/opt/rocprofv3", "--pmc", "SQ_WAVES", "FETCH_SIZE", "--kernel-include-regex"}));
  EXPECT_EQ(behind(words, "-d"), "/tmp/r");
  EXPECT_TRUE(check_counter_option(kRocprofv3));
  EXPECT_EQ(check_counter_option(kRocprofv3Of2024).error().code, ErrorCode::kUnavailable);
}

TEST(Rocprofv3Command, KernelsAreFoundByTheirFullNames) {
  const std::regex pattern(names_one_of({"gemm", "a.b"}));
  for (const char* name : {"gemm", "void gemm<float, 4>(int)", "ns::gemm(int)",
                           "void at::(anonymous namespace)::gemm<1>(int)", "gemm.kd", "a.b(int)"})
    EXPECT_TRUE(std::regex_search(name, pattern)) << name;
  for (const char* other : {"gemm2", "xgemm", "void my_gemm<int>(int)", "aXb(int)", ""})
    EXPECT_FALSE(std::regex_search(other, pattern)) << other;
}

TEST(VendorTool, VersionsAsTheToolsSayThem) {
  EXPECT_EQ(version_in("         version: 1.0.0\n    git_revision: 5c9\n    rocm_version: 7.0.0\n"), "1.0.0");
  EXPECT_EQ(version_in("its version\nversion 3.1"), "3.1");

  EXPECT_EQ(version_in("NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n"), "2022.4.2.1");
  EXPECT_EQ(version_in("NVIDIA (R) Nsight Compute\nVersion 2022.3.0.0 (build 1) (public-release)\n"),
            "2022.3.0.0");
  EXPECT_EQ(version_in("no such option"), "");
}

TEST(VendorTool, OptionsAreKnownByTheirWholeNames) {
  const VendorTool tool{"", "", "  --nvtx-include arg   only\n  --nvtx-exclude=\n"};
  EXPECT_TRUE(knows_option(tool, "--nvtx-include"));
  EXPECT_TRUE(knows_option(tool, "--nvtx-exclude"));
  EXPECT_FALSE(knows_option(tool, "--nvtx"));
}

TEST(VendorTool, ForbiddenCountersHaveAHint) {
  EXPECT_TRUE(check_counter_permission("==PROF== Profiling \"gemm\""));
  const auto forbidden = check_counter_permission("==ERROR== ERR_NVGPUCTRPERM - The user does not have ...");
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().code, ErrorCode::kPermission);
  EXPECT_NE(forbidden.error().hint, "");
}

}  // namespace
}  // namespace nl::capture
