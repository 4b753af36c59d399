#pragma once
// The plain page that lists the newest runs, and whether the server can answer.

#include "http/api/api.h"
#include "http/message.h"

namespace nl::http {

Response home_page(const Shop& shop, const Caller& caller, const Request& request);
/// 503 if the ledger cannot be read.
Response ready(const Shop& shop);

}  // namespace nl::http
