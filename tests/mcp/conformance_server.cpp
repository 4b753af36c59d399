// A server for the official conformance suite of the protocol: the server of the product with its guard, its
// wire and its endpoint, but with the suite's tools instead of the operations. tests/mcp/conformance runs the
// suite against it.
//
// usage: conformance_server LEDGER PORT

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "http/wire/server.h"
#include "mcp/suite_provider.h"
#include "store/ledger.h"

namespace nl {
namespace {

Result<void> serve_suite(const std::string& ledger, uint16_t port) {
  NL_TRY(const store::Ledger open_meanwhile, store::Ledger::open(ledger));
  http::AuditLog audit(ledger + "/audit.jsonl");
  http::Uploads uploads(ledger + "/uploads", {});
  std::shared_ptr<http::Routes> kept;
  http::Jobs jobs(1, 1);
  http::ServerOptions options;
  options.port = port;
  options.heavy_workers = 8;  // calls that wait for their client
  return http::serve(options, [&](uint16_t chosen) -> Result<std::shared_ptr<http::Routes>> {
    http::GuardOptions guard;
    guard.ledger_folder = ledger;
    guard.needs_token = false;
    guard.owner = "suite";
    const std::string number = std::to_string(chosen);
    guard.hosts = {"127.0.0.1:" + number, "localhost:" + number};
    NL_TRY(auto made, http::Guard::make(std::move(guard)));
    http::Shop shop{.ledger_folder = ledger, .audit = &audit, .jobs = &jobs, .uploads = &uploads};
    shop.mcp_providers = [](const http::Request&, const http::Caller&) {
      return std::make_unique<mcp::SuiteProvider>();
    };
    kept = std::make_shared<http::Routes>(std::move(shop), std::move(made), nullptr);
    std::printf("http://127.0.0.1:%s/mcp\n", number.c_str());
    std::fflush(stdout);
    return kept;
  });
}

}  // namespace
}  // namespace nl

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: conformance_server LEDGER PORT\n");
    return 2;
  }
  const auto served = nl::serve_suite(argv[1], static_cast<uint16_t>(std::atoi(argv[2])));
  if (!served) std::fprintf(stderr, "%s\n", served.error().message.c_str());
  return served ? 0 : 3;
}
