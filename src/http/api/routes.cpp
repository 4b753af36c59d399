#include "http/api/routes.h"

#include "base/checked_thread.h"
#include "base/files.h"
#include "http/answers.h"
#include "http/api/web_pages.h"
#include "store/ledger.h"

namespace nl::http {
namespace {

constexpr int64_t kMostRefusalsNoted = 10;  // in a second
constexpr std::string_view kSignIn = "/sign-in", kSignInBack = "/sign-in/back", kSignOut = "/sign-out";
constexpr std::string_view kFixed[] = {"/", "/healthz", "/readyz", "/metrics", kOpenApi, kMcp};

Response text_answer(std::string type, std::string body) {
  Response response{.type = std::move(type)};
  response.body = std::move(body);
  return response;
}

const ops::Operation* operation_of(const Request& request) {
  return request.path.starts_with(kApi) ? ops::find_operation(request.path.substr(kApi.size())) : nullptr;
}

McpProviders mcp_providers_of(const Shop& shop) {
  if (shop.mcp_providers) return shop.mcp_providers;
  return providers_of_operations(shop.ledger_folder, shop.sql_workers, shop.audit);
}

Response ready(const Shop& shop) {
  const bool is_there = path_exists(shop.ledger_folder + "/runs");
  const auto ledger = is_there ? store::Ledger::open(shop.ledger_folder, false)
                               : Result<store::Ledger>(Error{ErrorCode::kUnavailable, "the ledger is gone"});
  if (!ledger) {
    Response response = failed("ready", ledger.error());
    response.status = 503;
    return response;
  }
  return json_answer({{"ok", true}});
}

}  // namespace

Routes::Routes(Shop shop, Guard guard, std::unique_ptr<SignIn> sign_in)
    : shop_(std::move(shop)),
      guard_(std::move(guard)),
      sign_in_(std::move(sign_in)),
      api_(shop_),
      mcp_(mcp_providers_of(shop_)),
      openapi_(openapi_text(shop_.base_path)) {
  shop_.uploads->forget_old();
  api_.keep_promises();
}

std::string_view Routes::route_of(const Request& request) const {
  for (const std::string_view fixed : kFixed) {
    if (request.path == fixed) return fixed;
  }
  if (const auto* operation = operation_of(request)) return operation->name;
  if (request.path.starts_with("/api/v1/jobs/")) return "jobs";
  if (request.path.starts_with("/api/v1/uploads")) return "uploads";
  if (request.path.starts_with("/api/v1/runs/")) return "run document";
  if (request.path == kSignIn || request.path == kSignInBack) return "sign-in";
  if (request.path == kSignOut) return "sign-out";
  return "unknown";
}

ops::Cost Routes::cost_of(const Request& request) const {
  const auto* operation = operation_of(request);
  if (request.path == kSignIn || request.path == kSignInBack)
    return ops::Cost::kHeavy;  // it asks another server
  if (request.path == kMcp) return mcp_.cost_of(request);
  return operation == nullptr ? ops::Cost::kLight : operation->cost;
}

Response Routes::answer(const Request& request) {
  try {
    return answer_admitted(request);
  } catch (...) {
    return failed(route_of(request), error_of_exception());
  }
}

Response Routes::answer_admitted(const Request& request) {
  if (auto exchanged = guard_.exchange(request)) return *std::move(exchanged);
  if (auto met = sign_in_ ? at_the_entrance(request) : std::nullopt) return *std::move(met);
  Admission admission = guard_.admit(request);
  if (admission.refusal) {
    note_refusal(request, admission.caller.name, admission.refusal->status);
    return *std::move(admission.refusal);
  }
  Response response = admitted(request, admission.caller);
  response.who = admission.caller.name;
  // Operations note their refusals themselves, with their parameters.
  if (response.status == 403 && operation_of(request) == nullptr)
    note_refusal(request, admission.caller.name, 403);
  return response;
}

/// Signing in and out: no token is needed for it.
std::optional<Response> Routes::at_the_entrance(const Request& request) {
  const bool is_way_in = request.path == kSignIn || request.path == kSignInBack;
  if (!is_way_in && request.path != kSignOut) return std::nullopt;
  if (auto refusal = guard_.refuses_sender(request)) return refusal;
  const bool is_right = is_way_in ? request.method == Method::kGet : request.method == Method::kPost;
  if (!is_right) {
    auto response = refused(405, "bad_input",
                            is_way_in ? "this address is asked by GET" : "this address is asked by POST", "");
    response.headers.emplace_back("Allow", is_way_in ? "GET" : "POST");
    return response;
  }
  if (request.path == kSignOut) return signed_out(request);
  Response response = request.path == kSignIn ? sign_in_->begin(request) : signed_in(request);
  if (response.status >= 400) note_refusal(request, response.who, response.status);
  return response;
}

Response Routes::signed_in(const Request& request) {
  const auto person = sign_in_->finish(request);
  if (!person) return not_signed_in(person.error());
  store::Token session;
  session.name = person->name;
  session.grants = person->grants;
  session.made_by = sign_in_->provider().issuer();
  const auto noted = shop_.audit->write({"answered",
                                         person->name,
                                         "",
                                         request.address,
                                         "sign-in",
                                         {{"grants", store::grants_text(person->grants)}},
                                         200});
  if (!noted) return failed("sign-in", noted.error());
  const auto cookie = guard_.open_session(request, std::move(session), sign_in_->hours());
  if (!cookie) return failed("sign-in", cookie.error());
  Response response = signed_in_page(person->to);
  response.headers.emplace_back("Set-Cookie", *cookie);
  response.who = person->name;
  return response;
}

Response Routes::signed_out(const Request& request) {
  Admission admission = guard_.admit(request);
  if (admission.refusal) return *std::move(admission.refusal);
  auto response = guard_.sign_out(request);
  if (!response) return failed("sign-out", response.error());
  (void)shop_.audit->write(
      {"answered", admission.caller.name, "", request.address, "sign-out", nullptr, 303});
  return *std::move(response);
}

/// Whoever has no token must not be able to fill the disk with lines about it.
void Routes::note_refusal(const Request& request, const std::string& who, int status) {
  {
    const std::lock_guard lock(refusals_mutex_);
    const int64_t second = store::unix_now_ns() / 1'000'000'000;
    if (second != refusals_second_) refusals_noted_ = 0;
    refusals_second_ = second;
    if (++refusals_noted_ > kMostRefusalsNoted) return;
  }
  (void)shop_.audit->write({"refused", who, "", request.address, route_of(request), nullptr, status});
}

Response Routes::admitted(const Request& request, const Caller& caller) {
  if (request.path.starts_with(kApi) && request.path != kOpenApi)
    return api_.answer(request, caller, std::string_view(request.path).substr(kApi.size()));
  if (request.path == kMcp) return mcp_.answer(request, caller);
  if (request.method != Method::kGet && request.method != Method::kHead) {
    auto response = refused(405, "bad_input", "this address is asked by GET", "");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  return plain_page(request);
}

Response Routes::plain_page(const Request& request) {
  if (auto page = web_page(request, shop_.base_path)) return *std::move(page);
  if (request.path == kOpenApi) return text_answer("application/json", openapi_);
  if (request.path == "/healthz") return text_answer("application/json", "{\"ok\":true}\n");
  if (request.path == "/readyz") return ready(shop_);
  if (request.path == "/metrics") {
    figures_.set_jobs(shop_.jobs->waiting(), shop_.jobs->running());
    return text_answer("text/plain; version=0.0.4", figures_.text());
  }
  return refused(404, "not_found", "there is nothing at this address",
                 "GET /api/v1/openapi.json lists what there is");
}

Reception Routes::receive(const Request& request) {
  if (request.method != Method::kPut || !request.path.starts_with(kApi)) return {};
  Admission admission = guard_.admit(request);
  if (admission.refusal) {
    note_refusal(request, admission.caller.name, admission.refusal->status);
    return {std::move(admission.refusal), {}};
  }
  auto sink = api_.sink(request, admission.caller);
  if (!sink && sink.error().code == ErrorCode::kPermission) note_refusal(request, admission.caller.name, 403);
  if (!sink) return {failed("uploads", sink.error()), {}};
  return {{}, std::move(*sink)};
}

}  // namespace nl::http
