#include "http/api/api.h"

#include "base/decimal.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "base/text.h"
#include "http/answers.h"
#include "http/members.h"
#include "http/parameters.h"
#include "ops/door.h"
#include "store/projects.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr size_t kTagLetters = 32;
constexpr size_t kIdLetters = 64;
constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kArrow[] = "application/vnd.apache.arrow.stream";
// Pages have their own script and style, and no business with the server: they are strangers to its origin.
constexpr char kPagePolicy[] =
    "sandbox allow-scripts allow-popups allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kJobs = "jobs/";
constexpr std::string_view kUploads = "uploads";
constexpr std::string_view kRuns = "runs/";

bool has_prose(const ops::Operation& operation) {
  for (const auto& [name, property] : ops::parameters_schema(operation)["properties"].items()) {
    if (property.value("x-prose", false)) return true;
  }
  return false;
}

/// The type of what `format` asks for; nothing if it is the answer itself.
std::string stream_type(const ops::Operation& operation, const json& parameters) {
  const std::string format = text_member(parameters, "format");
  if (operation.stream == ops::Stream::kPage && !text_member(parameters, "page").empty())
    return parameters["page"] == "html"     ? "text/html; charset=utf-8"
           : parameters["page"] == "junit"  ? "application/xml"
           : parameters["page"] == "packed" ? "application/octet-stream"
                                            : "text/plain; charset=utf-8";
  if (operation.stream == ops::Stream::kBytes) return "application/octet-stream";
  if (operation.stream != ops::Stream::kRows) return {};
  if (format == "csv") return "text/csv; charset=utf-8";
  if (format == "json") return "application/json";
  if (format == "parquet") return "application/vnd.apache.parquet";
  if (format == "arrow") return kArrow;
  return {};
}

/// "W/"a", "b"" or *: encodings and proxies change tags a little.
bool has_tag(std::string_view known, const std::string& tag) {
  return trimmed(known) == "*" || has_part(known, tag);
}

/// A client that has the answer already gets none.
Response with_tag(Response response, const Request& request) {
  if (request.method == Method::kPost || response.status != 200) return response;
  const std::string tag = "\"" + sha256_hex(response.body).substr(0, kTagLetters) + "\"";
  response.headers.emplace_back("ETag", tag);
  response.headers.emplace_back("Cache-Control", "private, no-cache");
  if (has_tag(request.header("if-none-match"), tag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

/// Text for people instead of the envelope, for those who ask by curl and for the command line.
Response as_text(const ops::Operation& operation, const ops::Outcome& outcome) {
  Response response{.type = "text/plain; charset=utf-8"};
  response.body = operation.text(outcome, {});
  for (const std::string& warning : outcome.warnings) response.body += "warning: " + warning + "\n";
  return with_exit_code(std::move(response), outcome);
}

bool wants_text(const Request& request) {
  return request.header("accept").starts_with("text/plain");
}

bool wants_job(const Request& request) {
  return has_part(request.header("prefer"), "respond-async");
}

/// Parameters that say by their Accept header how rows are to be sent.
json with_accepted_format(const ops::Operation& operation, const Request& request, json parameters) {
  if (operation.stream != ops::Stream::kRows || parameters.contains("format")) return parameters;
  const std::string_view accept = request.header("accept");
  if (accept.starts_with("text/csv")) parameters["format"] = "csv";
  if (accept.starts_with("application/vnd.apache.parquet")) parameters["format"] = "parquet";
  if (accept.starts_with(kArrow)) parameters["format"] = "arrow";
  return parameters;
}

UploadOwner owner_of(const Caller& caller) {
  return {caller.name, caller.project};
}

std::string owner_text(const Caller& caller) {
  return caller.project + "/" + caller.name;
}

Response not_found(std::string_view what) {
  return refused(404, "not_found", std::string(what), "GET /api/v1/openapi.json lists what there is");
}

Response wrong_method(std::string_view allowed, std::string_view operation) {
  auto response =
      refused(405, "bad_input", "this address is asked by " + std::string(allowed), "", operation);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

std::optional<int64_t> whole(std::string_view text) {
  int64_t number = 0;
  return parse_int64(text, number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::string event_text(const std::string& name, const json& data, int64_t version) {
  return "id: " + std::to_string(version) + "\nevent: " + name +
         "\ndata: " + data.dump(-1, ' ', false, json::error_handler_t::replace) + "\n\n";
}

/// PUT /api/v1/uploads/ID/N?offset=…
class FileSink : public BodySink {
 public:
  FileSink(Uploads& uploads, UploadOwner owner, std::string id, size_t file, int64_t offset)
      : uploads_(uploads), owner_(std::move(owner)), id_(std::move(id)), file_(file), offset_(offset) {}

  Result<void> write(std::string_view piece) override {
    NL_CHECK(uploads_.write(owner_, id_, file_, offset_, piece));
    offset_ += static_cast<int64_t>(piece.size());
    return {};
  }
  Response finish() override {
    const auto state = uploads_.look(owner_, id_);
    return state ? json_answer(*state) : failed("uploads", state.error());
  }

 private:
  Uploads& uploads_;
  const UploadOwner owner_;
  const std::string id_;
  const size_t file_;
  int64_t offset_;
};

}  // namespace

Response Api::accepted(const std::string& job) const {
  Response response = json_answer({{"job_id", job}, {"state", "queued"}}, 202);
  response.headers.emplace_back("Location", shop_.base_path + std::string(kApi) + "jobs/" + job);
  return response;
}

bool allows(const ops::Operation& operation, Method method) {
  if (method == Method::kPost) return true;
  const bool reads = operation.effect == ops::Effect::kRead && !has_prose(operation);
  return reads && (method == Method::kGet || method == Method::kHead);
}

std::string upload_parameter(const ops::Operation& operation) {
  for (const auto& [name, property] : ops::parameters_schema(operation)["properties"].items()) {
    if (property.value("x-upload", false)) return name;
  }
  return {};
}

void Api::note(std::string_view event, const Caller& caller, const Request& request,
               std::string_view operation, const json& parameters, int status) const {
  // An entry that cannot be written must not keep people from their work, but a write is refused without one.
  (void)shop_.audit->write(
      {event, caller.name, caller.project, request.address, operation, parameters, status});
}

ops::Context Api::context_of(const ops::Operation& operation, const Caller& caller) const {
  ops::Context context;
  const bool is_of_server = operation.effect == ops::Effect::kManage;  // not of one project
  context.ledger_folder =
      is_of_server ? shop_.ledger_folder : store::project_folder(shop_.ledger_folder, caller.project);
  context.principal = caller.name;
  context.command = "http " + std::string(operation.name);
  context.face = ops::Face::kHttp;
  context.may = std::min(caller.may, ops::Effect::kManage);
  context.spell = spelled;
  context.sql_workers = shop_.sql_workers;
  return context;
}

Response Api::call_now(const ops::Operation& operation, const json& parameters, const Request& request,
                       const Caller& caller) const {
  ops::Context context = context_of(operation, caller);
  context.cancelled = request.is_gone;
  if (request.method != Method::kPost) context.may = ops::Effect::kRead;
  if (const auto type = stream_type(operation, parameters); !type.empty()) {
    Response response{.type = type};
    if (type == kHtml) response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
    if (operation.stream == ops::Stream::kPage) {  // small: it is made before it is sent, and has a tag
      context.bytes = [&](std::string_view bytes) {
        response.body += bytes;
        return Result<void>();
      };
      const auto made = ops::call(operation.name, parameters, context);
      return made ? with_tag(std::move(response), request) : failed(operation.name, made.error());
    }
    response.stream = [&operation, parameters, context](const Bytes& write) mutable -> Result<void> {
      context.bytes = write;
      NL_CHECK(ops::call(operation.name, parameters, context));
      return {};
    };
    return response;
  }
  const auto outcome = ops::call(operation.name, parameters, context);
  if (!outcome) return failed(operation.name, outcome.error());
  return with_tag(wants_text(request) ? as_text(operation, *outcome) : answered(operation, *outcome),
                  request);
}

Response Api::call_later(const ops::Operation& operation, const json& parameters, const Request& request,
                         const Caller& caller) const {
  ops::Context context = context_of(operation, caller);
  if (request.method != Method::kPost) context.may = ops::Effect::kRead;
  const auto id = shop_.jobs->start(
      {{},
       owner_text(caller),
       std::string(operation.name),
       [&operation, parameters, context](const JobControl& control) mutable {
         context.cancelled = control.cancelled;
         context.progress = [&](const ops::Progress& p) { control.progress(p.what, p.fraction); };
         const auto outcome = ops::call(operation.name, parameters, context);
         return outcome ? answered(operation, *outcome) : failed(operation.name, outcome.error());
       }});
  return id ? accepted(*id) : failed(operation.name, id.error());
}

/// The files that were sent, and no others, may be read.
ops::Context Api::import_context(const ops::Operation& operation, const Caller& caller,
                                 const std::string& upload) const {
  ops::Context context = context_of(operation, caller);
  context.host_paths = true;  // the caller named none
  context.hidden_folder = shop_.uploads->folder_of(upload) + "/";
  return context;
}

/// What another project has already is stored once.
void Api::share_runs(const json& data, const std::string& project) const {
  for (const json& run : data.contains("runs") ? data["runs"] : json::array({data})) {
    if (run.contains("run_id")) store::share_facts(shop_.ledger_folder, project, run["run_id"]);
  }
}

JobWork Api::import_work(const ops::Operation& operation, json parameters, const Caller& caller,
                         const std::string& upload) const {
  return [this, &operation, parameters = std::move(parameters), caller,
          upload](const JobControl& control) mutable {
    const auto paths = shop_.uploads->files(owner_of(caller), upload);  // hashed before it was promised
    if (!paths) return failed(operation.name, paths.error());
    parameters[upload_parameter(operation)] = *paths;
    ops::Context context = import_context(operation, caller, upload);
    context.cancelled = control.cancelled;
    context.progress = [&](const ops::Progress& p) { control.progress(p.what, p.fraction); };
    const auto outcome = ops::call(operation.name, parameters, context);
    Response response = outcome ? answered(operation, *outcome) : failed(operation.name, outcome.error());
    response.body = without_folder(std::move(response.body), context.hidden_folder);
    const bool may_work_later = !outcome && (outcome.error().code == ErrorCode::kIo ||
                                             outcome.error().code == ErrorCode::kUnavailable ||
                                             outcome.error().code == ErrorCode::kCancelled);
    if (may_work_later) {
      if (!shop_.jobs->is_closed()) shop_.uploads->take_back(upload);
      return response;
    }
    if (outcome) share_runs(outcome->data, caller.project);
    shop_.uploads->finished(upload, response.status, response.body);
    return response;
  };
}

Response Api::import_later(const ops::Operation& operation, json parameters, const Caller& caller) const {
  if (!parameters.contains("upload") || !parameters["upload"].is_string())
    return refused(400, "bad_input", "files of this machine are not available here: send them first",
                   "POST /api/v1/uploads begins an upload; name it as upload", operation.name);
  const std::string upload = parameters["upload"];
  parameters.erase("upload");
  const std::string files = upload_parameter(operation);
  if (parameters.contains(files))
    return refused(403, "permission", "files on this machine are not available here: /" + files, "",
                   operation.name);
  const auto complete = shop_.uploads->complete(owner_of(caller), upload);
  if (!complete) return failed(operation.name, complete.error());
  json checked = parameters;
  checked[files] = *complete;
  const auto allowed = ops::check_call(operation.name, checked, import_context(operation, caller, upload));
  if (!allowed) return failed(operation.name, allowed.error());
  if (const auto promised = shop_.uploads->promise(owner_of(caller), upload, parameters); !promised)
    return failed(operation.name, promised.error());
  const auto id = shop_.jobs->start({upload, owner_text(caller), std::string(operation.name),
                                     import_work(operation, parameters, caller, upload)});
  if (id) return accepted(*id);
  shop_.uploads->take_back(upload);
  return failed(operation.name, id.error());
}

void Api::keep_promises() const {
  const ops::Operation& operation = *ops::find_operation("import");
  for (const Uploads::Promise& promise : shop_.uploads->promises()) {
    const Caller caller{promise.owner.name, promise.owner.project, ops::Effect::kWrite};
    (void)shop_.jobs->start({promise.id, owner_text(caller), "import",
                             import_work(operation, promise.parameters, caller, promise.id)});
  }
}

Response Api::call(const ops::Operation& operation, const Request& request, const Caller& caller) const {
  auto given = parameters_of(operation, request);
  if (!given) return failed(operation.name, given.error());
  const json parameters = with_accepted_format(operation, request, *std::move(given));
  const bool writes = ops::effect_of(operation, parameters) != ops::Effect::kRead;
  if (writes) {
    const auto noted = shop_.audit->write(
        {"asked", caller.name, caller.project, request.address, operation.name, parameters, 0});
    if (!noted) return failed(operation.name, noted.error());
  }
  Response response = !upload_parameter(operation).empty() ? import_later(operation, parameters, caller)
                      : wants_job(request) && stream_type(operation, parameters).empty()
                          ? call_later(operation, parameters, request, caller)
                          : call_now(operation, parameters, request, caller);
  if (writes || response.status == 403)
    note(response.status == 403 ? "refused" : "answered", caller, request, operation.name,
         writes ? json(nullptr) : parameters, response.status);
  return response;
}

Response Api::on_jobs(const Request& request, const Caller& caller, std::string_view rest) const {
  const bool wants_events = rest.ends_with("/events");
  const std::string id(wants_events ? rest.substr(0, rest.size() - 7) : rest);
  const std::string owner = owner_text(caller);
  auto job = shop_.jobs->look(owner, id);
  if (!job) {
    const auto earlier = shop_.uploads->answer(owner_of(caller), id);  // of an earlier start of the server
    if (!earlier) return not_found("there is no such job");
    job = json{{"job_id", id},
               {"operation", "import"},
               {"state", (*earlier)["status"] < 400 ? "done" : "failed"},
               {"progress", {{"what", ""}, {"fraction", 1}}},
               {"status", (*earlier)["status"]},
               {"answer", (*earlier)["answer"]}};
    if (wants_events) {
      Response response{.type = "text/event-stream"};
      response.body = event_text("end", *job, 1);
      return response;
    }
  }
  if (request.method == Method::kDelete) {
    shop_.jobs->cancel(owner, id);
    const bool has_not_begun = (*job)["state"] == "queued";
    if (has_not_begun) shop_.uploads->take_back(id);  // or the next start would do it after all
    note("answered", caller, request, "cancel", {{"job_id", id}}, 200);
    return json_answer(shop_.jobs->look(owner, id).value_or(*job));
  }
  if (request.method != Method::kGet && request.method != Method::kHead)
    return wrong_method("GET, DELETE", "jobs");
  if (!wants_events) return json_answer(*job);
  Response response{.type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.news = [jobs = shop_.jobs, owner, id, seen = int64_t{0},
                   ended = false]() mutable -> std::optional<std::string> {
    if (ended) return std::nullopt;
    const int64_t version = jobs->version(owner, id);
    if (version == seen) return "";
    const auto now = jobs->look(owner, id);
    if (version == 0 || !now) return std::nullopt;
    seen = version;
    ended = now->contains("status");
    return event_text(ended ? "end" : "progress", *now, version);
  };
  return response;
}

/// run.json as it is stored, for programs that ask for many runs: no engine is started for it. Only a whole
/// id names one, so nothing that a client writes becomes part of a path.
Response Api::run_document(const Request& request, const Caller& caller, const std::string& run_id) const {
  if (request.method != Method::kGet && request.method != Method::kHead) return wrong_method("GET", "runs");
  const bool is_id =
      run_id.size() == kIdLetters && run_id.find_first_not_of("0123456789abcdef") == std::string::npos;
  const std::string folder = store::project_folder(shop_.ledger_folder, caller.project) + "/runs/";
  auto text = is_id ? read_file(folder + run_id + "/run.json") : Result<std::string>(Error{});
  if (!text) return not_found("there is no run of this whole id");
  Response response;
  response.body = *std::move(text);
  return with_tag(std::move(response), request);
}

/// Pages offer only what their reader may do.
Response Api::caller_told(const Request& request, const Caller& caller) const {
  if (request.method != Method::kGet && request.method != Method::kHead) return wrong_method("GET", "caller");
  const char* const may = caller.may == ops::Effect::kRead    ? "read"
                          : caller.may == ops::Effect::kWrite ? "write"
                                                              : "admin";
  return json_answer({{"name", caller.name},
                      {"project", caller.project},
                      {"may", may},
                      {"can_sign_out", shop_.has_sign_in}});
}

Response Api::on_uploads(const Request& request, const Caller& caller, std::string_view rest) const {
  if (caller.may < ops::Effect::kWrite)
    return refused(403, "permission", "access here is read-only", "", "uploads");
  if (rest.empty()) {
    if (request.method != Method::kPost) return wrong_method("POST", "uploads");
    if (!is_json(request)) return failed("uploads", not_json());
    const json body = parse_small_json(request.body);
    const auto begun =
        shop_.uploads->begin(owner_of(caller), body.is_object() ? body.value("files", json()) : json());
    if (!begun) return failed("uploads", begun.error());
    Response response = json_answer(*begun, 201);
    response.headers.emplace_back("Location", shop_.base_path + std::string(kApi) + "uploads/" +
                                                  (*begun)["upload_id"].get<std::string>());
    return response;
  }
  const std::string id(rest);
  if (request.method == Method::kDelete) {
    const auto removed = shop_.uploads->remove(owner_of(caller), id);
    return removed ? json_answer({{"upload_id", id}, {"removed", true}}) : failed("uploads", removed.error());
  }
  if (request.method != Method::kGet && request.method != Method::kHead)
    return wrong_method("GET, DELETE", "uploads");
  const auto state = shop_.uploads->look(owner_of(caller), id);
  return state ? json_answer(*state) : failed("uploads", state.error());
}

Result<std::unique_ptr<BodySink>> Api::sink(const Request& request, const Caller& caller) const {
  if (request.method != Method::kPut) return std::unique_ptr<BodySink>();
  const std::vector<std::string> steps = split(std::string_view(request.path).substr(kApi.size()), '/');
  const auto file = steps.size() == 3 && steps[0] == kUploads ? whole(steps[2]) : std::nullopt;
  if (!file) return Error{ErrorCode::kNotFound, "files are sent to /api/v1/uploads/ID/NUMBER"};
  if (caller.may < ops::Effect::kWrite) return Error{ErrorCode::kPermission, "access here is read-only"};
  const auto offset = whole(request.asked("offset").value_or("0"));
  if (!offset) return Error{ErrorCode::kBadInput, "offset must be a whole number"};
  NL_CHECK(shop_.uploads->write(owner_of(caller), steps[1], static_cast<size_t>(*file), *offset,
                                ""));  // is it there, and does it go on here?
  return std::unique_ptr<BodySink>(
      new FileSink(*shop_.uploads, owner_of(caller), steps[1], static_cast<size_t>(*file), *offset));
}

Response Api::answer(const Request& request, const Caller& caller, std::string_view name) const {
  if (name.starts_with(kJobs)) return on_jobs(request, caller, name.substr(kJobs.size()));
  if (name == "caller") return caller_told(request, caller);
  if (name == kUploads) return on_uploads(request, caller, "");
  if (name.starts_with(kRuns)) return run_document(request, caller, std::string(name.substr(kRuns.size())));
  if (name.starts_with("uploads/")) return on_uploads(request, caller, name.substr(8));
  const ops::Operation* const operation = ops::find_operation(name);
  if (operation == nullptr || !operation->reach.http) return not_found("there is no such operation here");
  if (!allows(*operation, request.method))
    return wrong_method(allows(*operation, Method::kGet) ? "GET, POST" : "POST", name);
  return call(*operation, request, caller);
}

}  // namespace nl::http
