// The command line of trtexec, and how it says which TensorRT it is of.

#include "capture/tools/trtexec_command.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nl::capture {
namespace {

using Words = std::vector<std::string>;

const VendorTool kTrtexec{"/opt/trtexec", "8.6.1",
                          "  --exportTimes=<file>\n  --exportProfile=<file>\n  --exportLayerInfo=<file>\n"
                          "  --separateProfileRun\n  --profilingVerbosity=mode\n"};

TEST(TrtexecCommand, AnEngineForSomeSeconds) {
  const auto words = trtexec_command(kTrtexec, {.model = "/m/net.engine", .folder = "/out"});
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (Words{"/opt/trtexec", "--loadEngine=/m/net.engine", "--duration=5",
                           "--profilingVerbosity=detailed", "--dumpProfile", "--separateProfileRun",
                           "--exportTimes=/out/times.json", "--exportProfile=/out/profile.json",
                           "--exportLayerInfo=/out/layers.json"}));
}

TEST(TrtexecCommand, AnOnnxModelWithShapesAndIterations) {
  TrtexecOptions options{.model = "/m/net.ONNX", .folder = "/out", .iterations = 50};
  options.shapes = {{"a", {1, 3}}, {"b", {8}}};
  const auto words = trtexec_command(kTrtexec, options);
  ASSERT_TRUE(words);
  EXPECT_EQ((*words)[1], "--onnx=/m/net.ONNX");
  for (const char* word : {"--iterations=50", "--duration=0", "--shapes=a:1x3,b:8"})
    EXPECT_NE(std::find(words->begin(), words->end(), word), words->end()) << word;
}

TEST(TrtexecCommand, AnOldVersionIsRefused) {
  const auto words = trtexec_command({"/opt/trtexec", "7.0.0", "  --exportTimes=<file>\n"}, {});
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().code, ErrorCode::kUnsupported);
}

TEST(TrtexecCommand, VersionsOfBothSchemes) {
  EXPECT_EQ(tensorrt_version_in("&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --help"), "8.6.1");
  EXPECT_EQ(tensorrt_version_in("[TensorRT v100700] [b23]"), "10.7.0");
  for (const char* none : {"", "[TensorRT v]", "[TensorRT v86]", "[TensorRT v99999999999]", "TensorRT 8.6"})
    EXPECT_EQ(tensorrt_version_in(none), "") << none;
}

}  // namespace
}  // namespace nl::capture
