#include "capture/model/model_inputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "capture/model/npz.h"
#include "source_folder.h"

namespace nl::capture {
namespace {

const std::vector<InputSpec> kSpecs = {{"ids", "int64", {-1, 4}, {"batch", ""}}, {"x", "float32", {2}, {""}}};

TEST(ModelInputs, FollowTheModelAndTheOptions) {
  InputOptions options;
  options.sizes = {{"batch", 3}};
  const auto inputs = make_inputs(kSpecs, options);
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->tensors[0].shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(inputs->tensors[0].bytes.size(), 3u * 4 * 8);
  EXPECT_EQ(inputs->tensors[0].bytes.substr(0, 9), std::string("\1\0\0\0\0\0\0\0\1", 9)) << "ones";
  EXPECT_TRUE(inputs->guessed.empty());
  EXPECT_EQ(inputs->generated, (std::vector<std::string>{"ids", "x"}));
  float number = -1;
  std::memcpy(&number, inputs->tensors[1].bytes.data(), sizeof number);
  EXPECT_TRUE(number >= 0 && number < 1);
  EXPECT_EQ(make_inputs(kSpecs, options)->tensors[1].bytes, inputs->tensors[1].bytes) << "the same each time";
}

TEST(ModelInputs, SayWhatWasGuessed) {
  const auto inputs = make_inputs(kSpecs, {});
  ASSERT_TRUE(inputs);
  EXPECT_EQ(inputs->tensors[0].shape, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(inputs->guessed, std::vector<std::string>{"ids[0] (batch)"});
}

TEST(ModelInputs, RefuseWhatDoesNotFit) {
  InputOptions shape;
  shape.shapes = {{"ids", {3, 5}}};
  EXPECT_EQ(make_inputs(kSpecs, shape).error().message, "input ids is ?x4 in the model, not 3x5");
  InputOptions given;
  given.given = {{"x", "float64", {2}, std::string(16, '\0')}};
  EXPECT_EQ(make_inputs(kSpecs, given).error().message, "input x is float32 in the model, not float64");
  given.given = {{"y", "float32", {2}, std::string(8, '\0')}};
  EXPECT_EQ(make_inputs(kSpecs, given).error().message, "the model has no input y");
  InputOptions huge;
  huge.sizes = {{"batch", int64_t{1} << 61}};
  EXPECT_EQ(make_inputs(kSpecs, huge).error().code, ErrorCode::kLimit);
}

TEST(ModelInputs, HalvesAreHalves) {
  const auto inputs = make_inputs({{"h", "float16", {1000}, {""}}, {"b", "bfloat16", {1000}, {""}}}, {});
  ASSERT_TRUE(inputs);
  for (size_t i = 0; i < 1000; i++) {
    uint16_t half = 0, brain = 0;
    std::memcpy(&half, inputs->tensors[0].bytes.data() + 2 * i, 2);
    std::memcpy(&brain, inputs->tensors[1].bytes.data() + 2 * i, 2);
    EXPECT_LT(half, 0x3c00) << "below 1";
    EXPECT_LT(brain, 0x3f80) << "below 1";
  }
}

class Npz : public testing::Test {
 protected:
  static std::string fixture(const std::string& name) {
    return read_file(source_folder() + "/tests/fixtures/" + name).value();
  }
  static Result<std::vector<Tensor>> read_text(const std::string& bytes) {
    const std::string path = testing::TempDir() + "input-" + std::to_string(::getpid()) + ".npz";
    std::ofstream(path, std::ios::binary) << bytes;
    auto read = read_npz(path);
    ::unlink(path.c_str());
    return read;
  }
};

TEST_F(Npz, ReadsWhatNumpyWrites) {
  for (const char* name : {"arrays.npz", "arrays_compressed.npz"}) {
    const auto read = read_text(fixture(name));
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    ASSERT_EQ(read->size(), 3u);
    EXPECT_EQ(read->at(0).name, "ids");
    EXPECT_EQ(read->at(0).type, "int64");
    EXPECT_EQ(read->at(0).shape, (std::vector<int64_t>{2, 3}));
    int64_t last = 0;
    std::memcpy(&last, read->at(0).bytes.data() + 40, 8);
    EXPECT_EQ(last, 5);
    EXPECT_EQ(read->at(1).shape, (std::vector<int64_t>{100}));
    EXPECT_EQ(read->at(2).shape, std::vector<int64_t>()) << "a scalar";
    EXPECT_EQ(read->at(2).type, "bool");
  }
}

TEST_F(Npz, DamageIsAnErrorOrHarmless) {
  for (const char* name : {"arrays.npz", "arrays_compressed.npz"}) {
    const std::string whole = fixture(name);
    const auto sound = read_text(whole);
    const auto is_sound = [&](const Tensor& tensor) {
      return std::any_of(sound->begin(), sound->end(),
                         [&](const Tensor& one) { return one.bytes == tensor.bytes; });
    };
    for (size_t size = 0; size < whole.size(); size += 7) EXPECT_FALSE(read_text(whole.substr(0, size)));
    for (size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(~damaged[at]);
      const auto read = read_text(damaged);
      if (!read) continue;
      for (const Tensor& tensor : *read) EXPECT_TRUE(is_sound(tensor)) << name << " at " << at;
    }
  }
}

TEST_F(Npz, SizesAreLimitedBeforeMemoryIsTaken) {
  std::string bytes = fixture("arrays_compressed.npz");
  const std::string entry = "PK\x01\x02";
  for (size_t at = bytes.find(entry); at != std::string::npos; at = bytes.find(entry, at + 1))
    bytes.replace(at + 24, 4, "\xf0\xff\xff\xff");  // the plain size
  const auto read = read_text(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace nl::capture
