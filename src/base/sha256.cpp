#include "base/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <vector>

#include "base/call_control.h"
#include "base/files.h"

namespace nl {

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, size_t size) {
  EVP_DigestUpdate(context_->md, data, size);
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->md, digest, &size);
  return hex_of({reinterpret_cast<const char*>(digest), size});
}

std::string hex_of(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.hex();
}

std::string sha256_bytes(std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
             nullptr);
  digest.resize(size);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), &size);
  digest.resize(size);
  return digest;
}

Result<std::string> sha256_of_file(const std::string& path) {
  NL_TRY(File file, File::open_to_read(path));
  Sha256 hash;
  std::vector<char> buffer(1 << 18);
  for (;;) {
    NL_CHECK(check_cancelled());
    NL_TRY(const size_t n, file.read(buffer.data(), buffer.size()));
    if (n == 0) return hash.hex();
    NL_CHECK(check_cancelled());
    hash.update(buffer.data(), n);
  }
}

}  // namespace nl
