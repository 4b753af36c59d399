#include "base/redact.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace nl {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

TEST(Redact, TellsNamesOfSecrets) {
  for (const char* name :
       {"--api-key", "api_key", "apiKey", "OPENAI_API_KEY", "--token", "HF_TOKEN", "auth-token", "--password",
        "db_password", "clientSecret", "--secret", "AWS_SECRET_ACCESS_KEY", "Authorization",
        "X-Amz-Signature", "sig", "--key", "--pass", "db_pass", "passphrase"})
    EXPECT_TRUE(names_a_secret(name)) << name;
  for (const char* name : {"tokens",       "max_tokens",     "--max-new-tokens", "eos_token",
                           "--stop-token", "token_count",    "tokenizer",        "key",
                           "pass",         "passes",         "forward_pass",     "num_key_value_heads",
                           "key_frames",   "sort_key",       "author",           "signature_def",
                           "--model",      "keep",           "monkey",           "time_per_output_token",
                           "authors",      "--pass-pipeline"})
    EXPECT_FALSE(names_a_secret(name)) << name;
}

TEST(Redact, RemovesValuesFromCommandLines) {
  const auto removed = [](Words words) { return without_secrets(std::move(words)); };
  EXPECT_EQ(removed({"serve", "--api-key", "s3cr3t", "--port", "80"}),
            Words({"serve", "--api-key", "[removed]", "--port", "80"}));
  EXPECT_EQ(removed({"serve", "--token=a,b;c&d", "x"}), Words({"serve", "--token=[removed]", "x"}));
  EXPECT_EQ(removed({"HF_TOKEN=abc", "run"}), Words({"HF_TOKEN=[removed]", "run"}));
  EXPECT_EQ(removed({"login", "-p", "hunter2"}), Words({"login", "-p", "[removed]"}));
  EXPECT_EQ(removed({"serve", "-p", "8000"}), Words({"serve", "-p", "8000"}));
  EXPECT_EQ(removed({"mysql", "-phunter2"}), Words({"mysql", "-p[removed]"}));
  EXPECT_EQ(removed({"sshpass", "-p", "123"}), Words({"sshpass", "-p", "[removed]"}));
  EXPECT_EQ(removed({"curl", "-u", "me:hunter2", "http://h/"}),
            Words({"curl", "-u", "me:[removed]", "http://h/"}));
  EXPECT_EQ(removed({"curl", "-H", "Authorization: Bearer abc.def"}),
            Words({"curl", "-H", "Authorization: [removed]"}));
  EXPECT_EQ(removed({"curl", "-H", "X-Api-Key: abc"}), Words({"curl", "-H", "X-Api-Key: [removed]"}));
  EXPECT_EQ(removed({"sh", "-c", "run --token abc --batch 8; PASSWORD='a b' other"}),
            Words({"sh", "-c", "run --token [removed] --batch 8; PASSWORD='[removed]' other"}));
  const Words plain = {"python",      "generate.py",           "--max-tokens", "512", "--eos-token", "</s>",
                       "--tokenizer", "meta-llama/Llama-3-8B", "--batch",      "8",   "key_frames=3"};
  EXPECT_EQ(removed(plain), plain);
}

TEST(Redact, RemovesUsersOfUrlsAndParameters) {
  const auto removed = [](const char* text) { return without_secrets(std::string_view(text)); };
  EXPECT_EQ(removed("https://me:pw@host:80/x?a=1"), "https://[removed]@host:80/x?a=1");
  EXPECT_EQ(removed("s3 https://token@host"), "s3 https://[removed]@host");
  EXPECT_EQ(removed("ssh://git@host/repo and git@host:repo"), "ssh://git@host/repo and git@host:repo");
  EXPECT_EQ(removed("https://host/@scope/x"), "https://host/@scope/x");
  EXPECT_EQ(removed("https://h/x?token=abc&n=1&X-Amz-Signature=def#top"),
            "https://h/x?token=[removed]&n=1&X-Amz-Signature=[removed]");
  EXPECT_EQ(removed("redis://:pw@host/0"), "redis://[removed]@host/0");
  EXPECT_EQ(removed("to=https%3A%2F%2Fme%3Apw%40host%2Fx"), "to=https%3A%2F%2F[removed]%40host%2Fx");
}

TEST(Redact, RemovesKeysByTheirForm) {
  const auto removed = [](const std::string& text) { return without_secrets(std::string_view(text)); };
  for (const char* key : {"hf_abcdefghijklmnopqrstuvwxyz01234567", "sk-abcdefgh12345678",
                          "sk-proj-abcdefgh-12345678", "ghp_0123456789abcdefghij0123", "AKIAIOSFODNN7EXAMPLE",
                          "glpat-abcdefgh12345678", "xoxb-1234567890-abc", "nvapi-0123456789abcdefghijkl",
                          "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "github_pat_0123456789abcdefghijkl"}) {
    EXPECT_EQ(removed(key), "[removed]") << key;
    EXPECT_EQ(removed("a " + std::string(key) + ", b"), "a [removed], b");
    EXPECT_EQ(removed("x-" + std::string(key)), "x-[removed]");
  }
  EXPECT_EQ(removed("Bearer abcdefgh12"), "Bearer [removed]");
  EXPECT_EQ(removed("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"),
            "[removed]-----END RSA PRIVATE KEY-----");
  for (const char* text : {"hf_transformer_forward", "sk-learn", "task-switch", "eyJ", "AKIA", "Basic block",
                           "npm_config", "flash_fwd_kernel<hf_attention>"})
    EXPECT_EQ(removed(text), text);
}

TEST(Redact, LeavesNothingTwice) {
  const std::string once =
      without_secrets(std::string_view("--token abc https://a:b@c?key=d PASSWORD=\"x y\""));
  EXPECT_EQ(without_secrets(std::string_view(once)), once);
  EXPECT_EQ(once, "--token [removed] https://[removed]@c?key=[removed] PASSWORD=\"[removed]\"");
}

TEST(Redact, GoesThroughTrees) {
  const json tree = {{"command", {"run", "--token", "abc"}},
                     {"pass", "profiled"},
                     {"clock", {{"unix_ns", 5}}},
                     {"remote", "https://a:b@c/d"},
                     {"api_key", "abc"},
                     {"nested", {{{"password", "abc"}}, 7, nullptr}}};
  EXPECT_EQ(without_secrets(tree), json({{"command", {"run", "--token", "[removed]"}},
                                         {"pass", "profiled"},
                                         {"clock", {{"unix_ns", 5}}},
                                         {"remote", "https://[removed]@c/d"},
                                         {"api_key", "[removed]"},
                                         {"nested", {{{"password", "[removed]"}}, 7, nullptr}}}));
}

/// Whatever the text is, it ends, and no byte is read beyond it.
TEST(Redact, TakesAnyText) {
  const std::string letters = "-=:/@&'\" \nktoken%3A2Fey.J_";
  uint32_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    std::string text;
    for (int i = 0; i < 40; i++) {
      seed = seed * 1664525 + 1013904223;
      text += letters[(seed >> 16) % letters.size()];
    }
    const std::string once = without_secrets(std::string_view(text));
    EXPECT_LT(once.size(), text.size() * 10);
    without_secrets(Words{text, once});
  }
}

}  // namespace
}  // namespace nl
