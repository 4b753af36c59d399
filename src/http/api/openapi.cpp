// OpenAPI 3.1 from the registry of operations.

#include "base/json_schema.h"
#include "http/api/api.h"
#include "ops/envelope.h"

namespace nl::http {
namespace {

using nlohmann::json;

bool is_ours(const std::string& key) {
  return key.starts_with("x-");
}

bool is_host_path(const json& property) {
  return property.contains("x-host-path") && property["x-host-path"] == true;
}

json query_parameters(const json& schema) {
  json out = json::array();
  for (const auto& [name, property] : schema["properties"].items()) {
    json one = {{"name", name}, {"in", "query"}, {"schema", property}};
    one["required"] = requires_member(schema, name);
    if (property.contains("description")) {
      one["description"] = property["description"];
      one["schema"].erase("description");
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// Definitions inside of a schema become components of the document, where its references can find them.
void hoist(json& schema, const std::string& prefix, json& components) {
  if (schema.is_array()) {
    for (json& one : schema) hoist(one, prefix, components);
  }
  if (!schema.is_object()) return;
  if (schema.contains("definitions")) {
    for (const auto& [name, definition] : schema["definitions"].items()) {
      json own = definition;
      hoist(own, prefix, components);
      std::string whole = prefix;
      whole += "_" + name;
      components[whole] = std::move(own);
    }
    schema.erase("definitions");
  }
  for (auto& [key, value] : schema.items()) {
    constexpr std::string_view kOld = "#/definitions/";
    const bool is_reference =
        key == "$ref" && value.is_string() && value.get<std::string>().starts_with(kOld);
    if (is_reference)
      value = "#/components/schemas/" + prefix + "_" + value.get<std::string>().substr(kOld.size());
    if (!is_reference) hoist(value, prefix, components);
  }
}

json content(json schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

json plain_content() {
  return {{"schema", {{"type", "string"}}}};
}

/// Answers may get new fields. A client that was made from this document must not refuse them.
void allow_new_fields(json& schema) {
  if (schema.is_object() && schema.value("additionalProperties", json()).is_boolean())
    schema.erase("additionalProperties");
  if (!schema.is_structured()) return;
  for (json& part : schema) allow_new_fields(part);
}

/// The types that an answer may have; which of them it has is said by the parameters and the header Accept.
json answer_types(const ops::Operation& operation) {
  json envelope = ops::envelope_schema(operation);
  allow_new_fields(envelope);
  json types = content(std::move(envelope));
  types["text/plain"] = plain_content();
  switch (operation.stream) {
    case ops::Stream::kRows:
      types["application/json"]["schema"] = {
          {"anyOf", json::array({types["application/json"]["schema"],
                                 {{"type", "array"}, {"items", {{"type", "object"}}}}})}};
      types["text/csv"] = types["application/vnd.apache.parquet"] =
          types["application/vnd.apache.arrow.stream"] = plain_content();
      break;
    case ops::Stream::kPage:
      types["text/html"] = types["application/xml"] = types["application/octet-stream"] = plain_content();
      break;
    case ops::Stream::kBytes:
      return {{"application/octet-stream", plain_content()},
              {"text/html", plain_content()},
              {"application/json", {{"schema", json::object()}}}};
    case ops::Stream::kNone:
    case ops::Stream::kEvents:
      break;
  }
  return types;
}

json responses_of(const ops::Operation& operation) {
  json fine = {{"description", "the answer"}, {"content", answer_types(operation)}};
  json refused = {{"description", "the call was refused or failed"},
                  {"content", content({{"$ref", "#/components/schemas/Failure"}})}};
  json later = {
      {"description", "a job does it: with Prefer: respond-async, and always for files that were sent"},
      {"content", content({{"$ref", "#/components/schemas/Job"}})}};
  return {{"200", std::move(fine)}, {"202", std::move(later)}, {"default", std::move(refused)}};
}

json described(const ops::Operation& operation) {
  return {{"summary", operation.summary},
          {"description", "Use when " + std::string(operation.use_when) + ". Not when " +
                              std::string(operation.not_when) + "."},
          {"responses", responses_of(operation)}};
}

json path_of(const ops::Operation& operation) {
  const json schema = http_schema(operation);
  json post = described(operation);
  post["operationId"] = operation.name;
  post["requestBody"] = {{"required", !schema.value("required", json::array()).empty()},
                         {"content", content(schema)}};
  json path = {{"post", std::move(post)}};
  if (allows(operation, Method::kGet)) {
    path["get"] = described(operation);
    path["get"]["operationId"] = "get_" + std::string(operation.name);
    path["get"]["parameters"] = query_parameters(schema);
    path["get"]["responses"]["304"] = {{"description", "the client has this answer already"}};
  }
  return path;
}

json failure_schema() {
  const json text = {{"type", "string"}};
  return {{"type", "object"},
          {"required", {"error"}},
          {"properties",
           {{"error",
             {{"type", "object"},
              {"required", {"code", "message", "hint"}},
              {"properties", {{"code", text}, {"message", text}, {"hint", text}}}}}}}};
}

/// What a server has besides the operations.
json job_paths() {
  const json id = {{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}};
  const json failure = {{"description", "refused or failed"},
                        {"content", content({{"$ref", "#/components/schemas/Failure"}})}};
  const auto answers = [&](const char* status, const char* what, json schema) {
    return json{{status, {{"description", what}, {"content", content(std::move(schema))}}},
                {"default", failure}};
  };
  const json job = {{"$ref", "#/components/schemas/Job"}}, upload = {{"$ref", "#/components/schemas/Upload"}};
  json events = answers("200", "server-sent events: progress, and end with the job", job);
  events["200"]["content"] = {{"text/event-stream", {{"schema", {{"type", "string"}}}}}};
  const json file = {{"type", "object"},
                     {"required", {"name", "bytes"}},
                     {"properties",
                      {{"name", {{"type", "string"}}},
                       {"bytes", {{"type", "integer"}, {"minimum", 0}}},
                       {"sha256", {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}}}}};
  const json announced = {
      {"type", "object"},
      {"required", json::array({"files"})},
      {"properties", {{"files", {{"type", "array"}, {"minItems", 1}, {"maxItems", 1024}, {"items", file}}}}}};
  const json number = {{"name", "file"},
                       {"in", "path"},
                       {"required", true},
                       {"schema", {{"type", "integer"}, {"minimum", 0}}}};
  const json offset = {{"name", "offset"},
                       {"in", "query"},
                       {"required", false},
                       {"schema", {{"type", "integer"}, {"minimum", 0}, {"default", 0}}}};
  const json binary = {
      {"application/octet-stream", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}};
  json document = answers("200", "run.json as it is stored, see schema/run.schema.json",
                          {{"type", "object"}, {"required", json::array({"run_id"})}});
  document["304"] = {{"description", "the client has this answer already"}};
  const json text = {{"type", "string"}};
  const json caller = {{"type", "object"},
                       {"required", {"name", "project", "may", "can_sign_out"}},
                       {"properties",
                        {{"name", text},
                         {"project", text},
                         {"may", {{"type", "string"}, {"enum", {"read", "write", "admin"}}}},
                         {"can_sign_out", {{"type", "boolean"}}}}}};
  return {{"/api/v1/caller",
           {{"get",
             {{"operationId", "caller"},
              {"summary", "Who asks, and what they may do"},
              {"responses", answers("200", "who asks", caller)}}}}},
          {"/api/v1/runs/{id}",
           {{"parameters", json::array({id})},
            {"get",
             {{"operationId", "run_document"},
              {"summary", "The document of a run, by its whole id"},
              {"responses", document}}}}},
          {"/api/v1/jobs/{id}",
           {{"parameters", json::array({id})},
            {"get",
             {{"operationId", "job"},
              {"summary", "How far a job is, and its answer"},
              {"responses", answers("200", "the job", job)}}},
            {"delete",
             {{"operationId", "cancel_job"},
              {"summary", "Cancel a job"},
              {"responses", answers("200", "the job", job)}}}}},
          {"/api/v1/jobs/{id}/events",
           {{"parameters", json::array({id})},
            {"get", {{"operationId", "job_events"}, {"summary", "Follow a job"}, {"responses", events}}}}},
          {"/api/v1/uploads",
           {{"post",
             {{"operationId", "begin_upload"},
              {"summary", "Announce files that are going to be sent"},
              {"requestBody", {{"required", true}, {"content", content(announced)}}},
              {"responses", answers("201", "the upload", upload)}}}}},
          {"/api/v1/uploads/{id}",
           {{"parameters", json::array({id})},
            {"get",
             {{"operationId", "upload"},
              {"summary", "How many bytes of each file are there"},
              {"responses", answers("200", "the upload", upload)}}},
            {"delete",
             {{"operationId", "remove_upload"},
              {"summary", "Remove an upload"},
              {"responses", answers("200", "it is gone", {{"type", "object"}})}}}}},
          {"/api/v1/uploads/{id}/{file}",
           {{"parameters", json::array({id, number, offset})},
            {"put",
             {{"operationId", "send_file"},
              {"summary", "Send the bytes of a file, from an offset on"},
              {"requestBody", {{"required", true}, {"content", binary}}},
              {"responses", answers("200", "the upload", upload)}}}}}};
}

json job_schema() {
  const json text = {{"type", "string"}};
  return {
      {"type", "object"},
      {"required", {"job_id", "state"}},
      {"properties",
       {{"job_id", text},
        {"operation", text},
        {"state", {{"type", "string"}, {"enum", {"queued", "running", "done", "failed", "cancelled"}}}},
        {"progress",
         {{"type", "object"}, {"properties", {{"what", text}, {"fraction", {{"type", "number"}}}}}}},
        {"status", {{"type", "integer"}, {"description", "of the answer, as if the call had waited for it"}}},
        {"answer", {{"description", "the envelope of the operation"}}}}}};
}

json upload_schema() {
  const json count = {{"type", "integer"}, {"minimum", 0}};
  const json file = {{"type", "object"},
                     {"required", {"name", "bytes", "received"}},
                     {"properties", {{"name", {{"type", "string"}}}, {"bytes", count}, {"received", count}}}};
  return {
      {"type", "object"},
      {"required", {"upload_id", "files"}},
      {"properties", {{"upload_id", {{"type", "string"}}}, {"files", {{"type", "array"}, {"items", file}}}}}};
}

}  // namespace

json http_schema(const ops::Operation& operation) {
  json out = ops::parameters_schema(operation);
  const std::string uploaded = upload_parameter(operation);
  for (auto it = out["properties"].begin(); it != out["properties"].end();) {
    it = is_host_path(*it) ? out["properties"].erase(it) : std::next(it);
  }
  for (auto& [name, property] : out["properties"].items()) {
    for (auto it = property.begin(); it != property.end();)
      it = is_ours(it.key()) ? property.erase(it) : std::next(it);
  }
  if (uploaded.empty()) return out;
  out["properties"]["upload"] = {{"type", "string"},
                                 {"description", "files that were sent before: its upload_id"}};
  for (auto& name : out["required"]) {
    if (name == uploaded) name = "upload";
  }
  return out;
}

std::string openapi_text(const std::string& base) {
  json paths = job_paths();
  json components = {{"Failure", failure_schema()}, {"Job", job_schema()}, {"Upload", upload_schema()}};
  for (const ops::Operation* operation : ops::all_operations()) {
    if (!operation->reach.http) continue;
    json path = path_of(*operation);
    hoist(path, std::string(operation->name), components);
    paths[std::string(kApi) + std::string(operation->name)] = std::move(path);
  }
  const json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "NeuroLens"},
        {"version", NEUROLENS_VERSION},
        {"description", "Profiles of AI inference as exact, comparable, auditable runs."}}},
      {"servers", json::array({{{"url", base.empty() ? "/" : base}}})},
      {"paths", std::move(paths)},
      {"security", json::array({json{{"token", json::array()}}})},
      {"components",
       {{"schemas", std::move(components)},
        {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  return ops::compact_json(document) + "\n";
}

}  // namespace nl::http
