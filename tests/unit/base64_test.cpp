// The examples of RFC 4648, and texts that no encoder writes.

#include "base/base64.h"

#include <gtest/gtest.h>

namespace nl {
namespace {

TEST(Base64, HasTheExamplesOfTheStandard) {
  const std::pair<const char*, const char*> examples[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(base64(bytes), text);
    const std::string url = base64url(bytes);
    EXPECT_EQ(url, std::string(text).substr(0, url.size()));
    EXPECT_EQ(bytes_of_base64url(url), bytes);
  }
  EXPECT_EQ(base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
}

TEST(Base64, RefusesWhatNoEncoderWrites) {
  for (const char* text : {"Z", "Zg==", "Zh", "Zm9", "Zm9vYmFyQ", "Zm 9v", "Zm9+", "Zm9/"})
    EXPECT_FALSE(bytes_of_base64url(text)) << text;
}

}  // namespace
}  // namespace nl
