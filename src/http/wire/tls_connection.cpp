#include <sys/stat.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>

#include "http/wire/connection.h"

namespace nl::http {
namespace {

namespace ssl = asio::ssl;

/// Tells one version of a file from another.
struct Version {
  timespec changed{};
  ino_t number = 0;

  static Version of(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? Version{info.st_mtim, info.st_ino} : Version{};
  }
  bool operator==(const Version& other) const {
    return changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec &&
           number == other.number;
  }
};

Result<std::shared_ptr<ssl::context>> read_context(const std::string& certificate, const std::string& key) {
  try {
    const auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
    context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                         ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
    context->use_certificate_chain_file(certificate);
    context->use_private_key_file(key, ssl::context::pem);
    return context;
  } catch (const boost::system::system_error& e) {
    return Error{ErrorCode::kBadInput, "cannot use the certificate " + certificate + " with the key " + key +
                                           ": " + e.code().message()};
  }
}

class FileCertificates : public Certificates {
 public:
  FileCertificates(std::string certificate, std::string key, std::shared_ptr<ssl::context> context)
      : certificate_(std::move(certificate)), key_(std::move(key)), context_(std::move(context)) {
    certificate_version_ = Version::of(certificate_);
    key_version_ = Version::of(key_);
  }

  asio::awaitable<void> run(Socket socket, Peer peer, ServerParts& parts) override {
    renew();
    const auto context = context_;  // stays while the connection does
    using Stream = beast::ssl_stream<Socket>;
    Connection<Stream> connection(Stream(std::move(socket), *context), std::move(peer), parts);
    beast::error_code error;
    beast::get_lowest_layer(connection.stream())
        .expires_after(std::chrono::seconds(parts.options.request_seconds));
    co_await connection.stream().async_handshake(ssl::stream_base::server,
                                                 asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    co_await connection.run();
    beast::get_lowest_layer(connection.stream()).expires_after(std::chrono::seconds(1));
    co_await connection.stream().async_shutdown(asio::redirect_error(asio::use_awaitable, error));
  }

 private:
  /// Whoever replaces the files may replace one before the other: until both fit, the old ones serve.
  void renew() {
    const Version certificate = Version::of(certificate_), key = Version::of(key_);
    if (certificate == certificate_version_ && key == key_version_) return;
    auto context = read_context(certificate_, key_);
    if (!context) return;
    context_ = *std::move(context);
    certificate_version_ = certificate;
    key_version_ = key;
  }

  const std::string certificate_, key_;
  std::shared_ptr<ssl::context> context_;
  Version certificate_version_, key_version_;
};

}  // namespace

Result<void> check_certificate(const std::string& certificate, const std::string& key) {
  NL_CHECK(read_context(certificate, key));
  return {};
}

Result<std::unique_ptr<Certificates>> Certificates::read(const std::string& certificate,
                                                         const std::string& key) {
  NL_TRY(auto context, read_context(certificate, key));
  return std::unique_ptr<Certificates>(new FileCertificates(certificate, key, std::move(context)));
}

}  // namespace nl::http
