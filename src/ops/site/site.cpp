#include "ops/site/site.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/aside.h"
#include "base/base64.h"
#include "base/files.h"
#include "base/path_text.h"
#include "base/sha256.h"
#include "ops/envelope.h"
#include "ops/runs/run_timeline.h"
#include "ops/site_files.inc"
#include "ops/text/text.h"
#include "store/zlib_stream.h"
#include "timeline/packed_rows.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kMarkName[] = "NEUROLENS.txt";
constexpr char kMark[] =
    "Pages of NeuroLens that need no server. Open index.html in a browser.\n"
    "\n"
    "neurolens report --site writes this folder again; send it as a whole.\n";
constexpr char kNoScript[] =
    "<noscript>NeuroLens draws these pages by script. The reports work without it: neurolens report "
    "RUN</noscript>\n";

std::string_view page_file(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kSiteFiles), std::end(kSiteFiles),
                                         [&](const EmbeddedFile& f) { return f.name == name; });
  return found == std::end(kSiteFiles) ? std::string_view() : found->text;
}

/// Nothing in it can end the element that it stands in.
std::string json_for_page(const json& value) {
  std::string out;
  for (const char c : compact_json(value)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_head(const std::string& policy) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; " +
         policy +
         "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>NeuroLens</title>\n<link rel=\"icon\" href=\"data:,\">\n";
}

/// The page that is opened first: the run, the two compared, or the list.
std::string start_of(const SiteRuns& site) {
  const auto& runs = site.runs;
  if (runs.size() == 1) return "/runs/" + runs[0].run_id + (site.page == "overview" ? "" : "/" + site.page);
  if (runs.size() == 2) return fmt::format("/compare?base={}&new={}", runs[0].run_id, runs[1].run_id);
  return "/runs";
}

std::string site_element(const SiteRuns& site, const WrittenSite& written) {
  json runs = json::array(), left_out = json::object();
  for (const NamedRun& run : site.runs) runs.push_back(run.run_id);
  for (const SpansLeftOut& one : written.left_out)
    left_out[one.run_id] = {{"spans", one.spans}, {"shorter_than_ns", one.shorter_than_ns}};
  const json value = {{"version", NEUROLENS_VERSION},
                      {"start", start_of(site)},
                      {"runs", runs},
                      {"windows", site.windows},
                      {"left_out", left_out}};
  return "<script type=\"application/json\" id=\"site\">" + json_for_page(value) + "</script>\n";
}

using TakePart = std::function<Result<void>(const std::string& name, const std::string& packed)>;

std::string packed(std::string_view bytes) {
  return base64(store::zlib_stream(bytes));
}

/// The spans of each run, then all answers.
Result<void> make_parts(Context& context, const SiteRuns& site, const AskOperation& ask, uint64_t most_spans,
                        WrittenSite& written, const TakePart& take) {
  for (const NamedRun& run : site.runs) {
    const auto file = run_timeline(context, run);
    if (!file && file.error().code == ErrorCode::kCancelled) return file.error();
    if (!file) continue;  // its answer says why
    const timeline::PackedRows rows = timeline::packed_rows(**file, most_spans);
    if (rows.left_out > 0) written.left_out.push_back({run.run_id, rows.left_out, rows.shorter_than_ns});
    NL_CHECK(take(run.run_id + "-spans", packed(rows.bytes)));
  }
  return record_answers(
      page_file("asks.json"), site, ask, context,
      [&](const std::string& name, const std::string& text) { return take(name, packed(text)); });
}

// ---- A folder

Error not_ours(const std::string& folder) {
  return Error{ErrorCode::kConflict, "the folder has other files: " + folder,
               "name a new folder, or one that report --site wrote"};
}

Result<void> check_folder(const std::string& folder) {
  if (!path_exists(folder)) return {};
  if (list_folder(folder).empty()) return {};
  const auto mark = read_small_file(folder + "/" + kMarkName, 4096);
  const std::string_view first_line = std::string_view(kMark).substr(0, std::string_view(kMark).find('\n'));
  if (!mark || !mark->starts_with(first_line)) return not_ours(folder);
  return {};
}

class SiteFolder {
 public:
  explicit SiteFolder(std::string path) : path_(std::move(path)) {}

  Result<void> write(const std::string& name, std::string_view text) {
    NL_CHECK(replace_file(path_ + "/" + name, text));
    files.push_back({name, text.size()});
    return {};
  }
  std::vector<WrittenFile> files;

 private:
  std::string path_;
};

std::string index_of_folder(const SiteRuns& site, const WrittenSite& written) {
  return page_head("script-src 'self' file:; style-src 'self' file:") +
         "<link rel=\"stylesheet\" href=\"app.css\">\n</head>\n<body>\n<div id=\"app\"></div>\n" + kNoScript +
         site_element(site, written) + "<script src=\"app.js\"></script>\n</body>\n</html>\n";
}

// ---- One file

std::string hash_source(std::string_view text) {
  return "'sha256-" + base64(sha256_bytes(text)) + "'";
}

std::string data_element(const std::string& name, const std::string& packed_part) {
  return "<script type=\"text/plain\" id=\"data-" + name + "\">" + packed_part + "</script>\n";
}

std::string one_page(const SiteRuns& site, const WrittenSite& written, const std::string& data) {
  const std::string_view script = page_file("app.js"), style = page_file("app.css");
  std::string out =
      page_head("script-src " + hash_source(script) + "; style-src " + hash_source(style)) + "<style>";
  out += style;
  out += "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n";
  out += kNoScript + site_element(site, written) + data + "<script>";
  out += script;
  return out + "</script>\n</body>\n</html>\n";
}

Error no_pages() {
  return Error{ErrorCode::kUnavailable,
               "this build has no pages of the web UI",
               "{} writes the analysis as one page",
               {suggested("report", {{"run", "RUN"}, {"format", "html"}, {"output", "DIR"}})}};
}

}  // namespace

bool has_site_pages() {
  return !page_file("app.js").empty();
}

Result<WrittenSite> write_site(Context& context, const SiteRuns& site, const AskOperation& ask,
                               const std::string& folder) {
  if (!has_site_pages()) return no_pages();
  NL_CHECK(check_folder(folder));
  if (const size_t slash = folder.rfind('/'); slash != std::string::npos && slash > 0)
    NL_CHECK(make_folders(folder.substr(0, slash)));
  NL_TRY(const auto aside, FolderAside::create(folder + ".new-"));
  const std::string made = aside.path() + "/site";  // as open to others as what this user makes
  NL_CHECK(make_folders(made + "/data"));
  WrittenSite written;
  SiteFolder files(made);
  NL_CHECK(make_parts(
      context, site, ask, kMostSpansOfSite, written, [&](const std::string& name, const std::string& part) {
        return files.write("data/" + name + ".js",
                           fmt::format("(self.neurolensData||={{}})[\"{}\"]=\"{}\";\n", name, part));
      }));
  NL_CHECK(files.write("app.css", page_file("app.css")));
  NL_CHECK(files.write("app.js", page_file("app.js")));
  NL_CHECK(files.write(kMarkName, kMark));
  NL_CHECK(files.write("index.html", index_of_folder(site, written)));
  NL_CHECK(check_cancelled());
  NL_TRY(const bool is_first, rename_to_new(made, folder));
  if (!is_first) NL_CHECK(exchange_paths(made, folder));
  written.files = std::move(files.files);
  std::reverse(written.files.begin(), written.files.end());
  return written;
}

Result<WrittenSite> write_site_file(Context& context, const SiteRuns& site, const AskOperation& ask,
                                    const std::string& path) {
  if (!has_site_pages()) return no_pages();
  WrittenSite written;
  std::string data;
  NL_CHECK(make_parts(context, site, ask, kMostSpansOfFile, written,
                      [&](const std::string& name, const std::string& part) -> Result<void> {
                        data += data_element(name, part);
                        return {};
                      }));
  NL_CHECK(check_cancelled());
  const std::string page = one_page(site, written, data);
  NL_CHECK(replace_file(path, page));
  written.files.push_back({base_name(path), page.size()});
  return written;
}

json left_out_json(const WrittenSite& written) {
  json list = json::array();
  for (const SpansLeftOut& one : written.left_out)
    list.push_back({{"run_id", one.run_id}, {"spans", one.spans}, {"shorter_than_ns", one.shorter_than_ns}});
  return list;
}

std::vector<std::string> left_out_warnings(const WrittenSite& written) {
  std::vector<std::string> out;
  out.reserve(written.left_out.size());
  for (const SpansLeftOut& one : written.left_out)
    out.push_back(
        fmt::format("the time line of {} lacks {}, all shorter than {}: there are too many for a file",
                    short_id(one.run_id), counted(static_cast<int64_t>(one.spans), "span"),
                    duration_text(one.shorter_than_ns)));
  return out;
}

}  // namespace nl::ops
