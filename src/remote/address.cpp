#include "remote/address.h"

#include <algorithm>

namespace nl::remote {

bool is_address(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://") || text.starts_with("unix://");
}

Result<Address> parse_address(std::string_view text) {
  const Error wrong{ErrorCode::kBadInput,
                    "not the address of a server: " + std::string(text.substr(0, text.find('?'))),
                    "e.g. https://lens.example.com, http://127.0.0.1:8470"};
  Address address;
  const size_t mark = std::min(text.find('?'), text.size());
  const std::string_view query = text.substr(std::min(mark + 1, text.size()));
  if (query.starts_with("token=")) address.token = std::string(query.substr(6, query.find('&') - 6));
  text = text.substr(0, mark);
  if (text.starts_with("unix://")) {
    address.socket = std::string(text.substr(7));
    address.host = "localhost";
    return address.socket.empty() ? Result<Address>(wrong) : address;
  }
  if (!is_address(text)) return wrong;
  address.is_secure = text.starts_with("https://");
  text.remove_prefix(address.is_secure ? 8 : 7);
  const size_t slash = std::min(text.find('/'), text.size());
  address.base_path = std::string(text.substr(slash));
  while (address.base_path.ends_with('/')) address.base_path.pop_back();
  std::string_view host = text.substr(0, slash);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  address.port = has_port ? std::string(host.substr(colon + 1)) : address.is_secure ? "443" : "80";
  address.host = std::string(host.substr(0, has_port ? colon : host.size()));
  const bool is_port = !address.port.empty() && address.port.size() <= 5 &&
                       address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.host.empty() || !is_port || address.host.find_first_of("@ \t\\") != std::string::npos)
    return wrong;
  return address;
}

}  // namespace nl::remote
