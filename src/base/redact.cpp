#include "base/redact.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/json.h"
#include "base/text.h"

namespace nl {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_figure(char c) {
  return c >= '0' && c <= '9';
}
bool is_of_word(char c) {
  return is_letter(c) || is_figure(c);
}
bool is_of_name(char c) {
  return is_of_word(c) || c == '_' || c == '-' || c == '.';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- Names

/// "clientSecretKey" and "client-secret_key" are client, secret, key.
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); i++) {
    const bool is_upper = name[i] >= 'A' && name[i] <= 'Z';
    const bool was_lower = i > 0 && ((name[i - 1] >= 'a' && name[i - 1] <= 'z') || is_figure(name[i - 1]));
    if (!is_of_word(name[i]) || (is_upper && was_lower)) words.emplace_back();
    if (is_of_word(name[i])) words.back() += static_cast<char>(is_upper ? name[i] - 'A' + 'a' : name[i]);
  }
  std::erase(words, "");
  return words;
}

constexpr std::array<std::string_view, 25> kSecretWords = {
    "secret",     "secrets",     "password", "passwd",     "passwort",  "passphrase",    "pwd",
    "credential", "credentials", "apikey",   "authkey",    "accesskey", "secretkey",     "privatekey",
    "bearer",     "cookie",      "cookies",  "pgpassword", "authtoken", "authorization", "accesstoken",
    "apitoken",   "sessionid",   "passcode", "sshpass"};
/// Only as the last word: `auth_mode` and `signature_def` are none.
constexpr std::array<std::string_view, 5> kLastWords = {"auth", "pw", "otp", "sig", "signature"};
/// A pass is one of a compiler, a model or a profiler, unless it is somebody's.
constexpr std::array<std::string_view, 17> kPassOf = {"db",    "user",  "smtp",  "mysql",    "redis", "proxy",
                                                      "admin", "root",  "login", "http",     "ftp",   "mail",
                                                      "email", "vault", "pg",    "postgres", "sudo"};
/// Keys and tokens are everywhere in this field; these words before them make them secret.
constexpr std::array<std::string_view, 22> kSecretKeys = {
    "api",        "access",  "secret",  "private", "ssh",    "auth",   "session", "account",
    "encryption", "signing", "license", "licence", "master", "shared", "service", "subscription",
    "storage",    "client",  "deploy",  "wandb",   "openai", "hf"};
constexpr std::array<std::string_view, 30> kPlainTokens = {
    "eos",   "bos",   "pad",   "unk",   "sep",     "cls",  "mask",   "stop",  "special", "image",
    "start", "end",   "first", "last",  "next",    "per",  "output", "input", "new",     "prompt",
    "begin", "draft", "video", "audio", "context", "time", "single", "boi",   "eoi",     "each"};

// ---- Keys that have a form

struct KnownForm {
  std::string_view start;
  size_t least;             ///< letters that follow at least
  std::string_view others;  ///< what may stand in it besides letters and digits
};
constexpr KnownForm kForms[] = {{"hf_", 16, ""},
                                {"api_org_", 16, ""},
                                {"nlt_", 32, "_"},
                                {"sk-", 16, "-_"},
                                {"sk_live_", 10, ""},
                                {"sk_test_", 10, ""},
                                {"rk_live_", 10, ""},
                                {"ghp_", 20, ""},
                                {"gho_", 20, ""},
                                {"ghu_", 20, ""},
                                {"ghs_", 20, ""},
                                {"ghr_", 20, ""},
                                {"github_pat_", 20, "_"},
                                {"glpat-", 16, "-_"},
                                {"xoxb-", 10, "-"},
                                {"xoxp-", 10, "-"},
                                {"xoxa-", 10, "-"},
                                {"xoxr-", 10, "-"},
                                {"xoxs-", 10, "-"},
                                {"xapp-", 10, "-"},
                                {"AKIA", 16, ""},
                                {"ASIA", 16, ""},
                                {"AIza", 30, "-_"},
                                {"ya29.", 20, "-_."},
                                {"eyJ", 20, "-_."},
                                {"npm_", 20, ""},
                                {"pypi-", 30, "-_"},
                                {"dckr_pat_", 16, "-_"},
                                {"nvapi-", 20, "-_"},
                                {"gsk_", 20, ""},
                                {"xai-", 20, "-_"},
                                {"r8_", 20, ""},
                                {"dop_v1_", 20, ""},
                                {"SG.", 20, "-_."},
                                {"AGE-SECRET-KEY-", 20, ""},
                                {"lsv2_", 20, "_"},
                                {"pcsk_", 20, "_"}};

/// How many bytes from here on are such a key; 0: none. Ordinary words have no digits in them.
size_t known_form(std::string_view text) {
  for (const KnownForm& form : kForms) {
    if (!text.starts_with(form.start)) continue;
    size_t end = form.start.size();
    bool has_digit = false;
    while (end < text.size() &&
           (is_of_word(text[end]) || form.others.find(text[end]) != std::string_view::npos))
      has_digit = is_figure(text[end++]) || has_digit;
    const bool is_long = end - form.start.size() >= 32;
    if (end - form.start.size() >= form.least && (has_digit || is_long)) return end;
  }
  return 0;
}

// ---- Text

/// Goes through a text once, from left to right.
class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const bool is_start = at_ == 0 || !is_of_name(text_[at_ - 1]);
      if (remove_user_of_url() || remove_private_key()) continue;
      if (is_start && (remove_known_form() || remove_scheme() || remove_named())) continue;
      if ((at_ == 0 || !is_of_word(text_[at_ - 1])) && remove_known_form()) continue;
      out_ += text_[at_++];
    }
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void remove(size_t bytes) {
    out_ += kRemoved;
    at_ += bytes;
  }

  bool remove_known_form() {
    const size_t bytes = known_form(rest());
    if (bytes > 0) remove(bytes);
    return bytes > 0;
  }

  /// scheme://user:password@host, also when it is part of another URL. A user called git is the usual way to
  /// name a repository.
  bool remove_user_of_url() {
    const bool is_plain = rest().starts_with("://");
    if (!is_plain && !rest().starts_with("%3A%2F%2F") && !rest().starts_with("%3a%2f%2f")) return false;
    const size_t sign = is_plain ? 3 : 9;
    const std::string_view behind = rest().substr(sign);
    size_t end = std::min(behind.find_first_of("/?# \t\n\r\"'<>\\"), behind.size());
    if (!is_plain) end = std::min({end, behind.find("%2F"), behind.find("%2f"), behind.find('&')});
    const std::string_view host = behind.substr(0, end);
    const size_t at = is_plain ? host.rfind('@') : host.rfind("%40");
    out_ += rest().substr(0, sign);
    at_ += sign;
    if (at != std::string_view::npos && at > 0 && behind.substr(0, at) != "git") remove(at);
    return true;
  }

  bool remove_private_key() {
    constexpr std::string_view kBegin = "-----BEGIN ";
    if (!rest().starts_with(kBegin)) return false;
    const size_t line = std::min(rest().find("-----", kBegin.size()), rest().size());
    if (!has_part(rest().substr(0, line), "PRIVATE KEY")) return false;
    const size_t end = rest().find("-----END ");
    remove(end == std::string_view::npos ? rest().size() : end);
    return true;
  }

  /// "Bearer abc", "Basic YWJj"
  bool remove_scheme() {
    for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic ", "basic "}) {
      if (!rest().starts_with(scheme)) continue;
      const size_t end = value_end(at_ + scheme.size(), '\0');
      if (end - at_ - scheme.size() < 8) continue;
      out_ += scheme;
      at_ += scheme.size();
      remove(end - at_);
      return true;
    }
    return false;
  }

  /// name=value, name: value, "name": "value", --name value
  bool remove_named() {
    size_t end = at_;
    while (end < text_.size() && is_of_name(text_[end])) end++;
    const std::string_view name = text_.substr(at_, end - at_);
    if (name.empty()) return false;
    const bool is_key = lower(name) == "key" && end < text_.size() && text_[end] == '=';
    const bool is_secret = is_key || names_a_secret(name);
    const size_t value = is_secret ? value_begin(name, end) : 0;
    if (value == 0 || value >= text_.size()) {
      if (known_form_inside(name)) return false;
      out_ += name;
      at_ = end;
      return true;
    }
    const char quote = is_quote(text_[value]) ? text_[value] : '\0';
    const size_t first = quote == '\0' ? value : value + 1;
    const bool is_header = lower(name).ends_with("authorization") && text_[value - 1] != '=';
    const size_t last = is_header && quote == '\0' ? header_end(first) : value_end(first, quote);
    if (last == first) return false;
    out_ += text_.substr(at_, first - at_);
    at_ = first;
    if (text_.substr(first, kRemoved.size()) == kRemoved) return false;
    remove(last - first);
    return true;
  }

  /// A name may hold a key behind a dash: the letters are looked at one by one then.
  static bool known_form_inside(std::string_view name) {
    for (size_t i = 1; i < name.size(); i++) {
      if (!is_of_word(name[i - 1]) && known_form(name.substr(i)) > 0) return true;
    }
    return false;
  }

  /// Where the value of a name begins; 0 if none follows.
  size_t value_begin(std::string_view name, size_t end) const {
    size_t at = end;
    if (at < text_.size() && is_quote(text_[at])) at++;  // of a name in quotes
    size_t sign = at;
    while (sign < text_.size() && text_[sign] == ' ') sign++;
    if (sign < text_.size() && (text_[sign] == '=' || text_[sign] == ':')) {
      const bool is_colon = text_[sign] == ':';
      if (is_colon && text_.substr(sign, 3) == "://") return 0;
      at = sign + 1;
      while (at < text_.size() && text_[at] == ' ') at++;
      return at;
    }
    const bool is_option = name.starts_with('-');
    if (!is_option || at >= text_.size() || !is_space(text_[at])) return 0;
    while (at < text_.size() && is_space(text_[at])) at++;
    return at < text_.size() && text_[at] != '-' ? at : 0;
  }

  size_t value_end(size_t at, char quote) const {
    while (at < text_.size()) {
      const char c = text_[at];
      if (quote != '\0' ? c == quote || c == '\n' : is_space(c) || is_quote(c) || c == '&') break;
      at++;
    }
    return at;
  }

  size_t header_end(size_t at) const {
    while (at < text_.size() && text_[at] != '\n' && text_[at] != '\r' && !is_quote(text_[at])) at++;
    return at;
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
};

// ---- Command lines

/// -p is the password of many programs, and the port of others.
bool is_no_password(std::string_view word) {
  return word.empty() || word.starts_with('-') ||
         word.find_first_not_of("0123456789:.,/") == std::string_view::npos;
}

std::string_view name_of_program(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

constexpr std::array<std::string_view, 5> kGluedPasswords = {"mysql", "mysqldump", "mysqladmin", "mariadb",
                                                             "sshpass"};
constexpr std::array<std::string_view, 4> kUserOptions = {"-u", "--user", "-U", "--proxy-user"};

/// The value is the next word.
bool takes_secret_word(std::string_view word) {
  return word.starts_with('-') && word.find('=') == std::string_view::npos && names_a_secret(word);
}

/// The bytes of the name if all of the word is one secret setting, NAME=value; else 0.
size_t name_of_setting(std::string_view word) {
  size_t end = 0;
  while (end < word.size() && is_of_name(word[end])) end++;
  return end > 0 && end + 1 < word.size() && word[end] == '=' && names_a_secret(word.substr(0, end)) ? end
                                                                                                     : 0;
}

bool is_bearer(std::string_view word) {
  return word == "Bearer" || word == "bearer" || word == "Basic";
}

}  // namespace

bool names_a_secret(std::string_view name) {
  const std::vector<std::string> words = words_of_name(name);
  if (words.empty()) return false;
  for (const std::string& word : words) {
    if (is_one_of(word, kSecretWords)) return true;
  }
  const std::string& last = words.back();
  if (is_one_of(last, kLastWords)) return true;
  const std::string before = words.size() > 1 ? words[words.size() - 2] : "";
  const bool is_option = name.starts_with('-');
  if (last == "pass") return before.empty() ? is_option : is_one_of(before, kPassOf);
  if (last == "key" || last == "keys") return before.empty() ? is_option : is_one_of(before, kSecretKeys);
  return last == "token" && !is_one_of(before, kPlainTokens);
}

std::string without_secrets(std::string_view text) {
  return Redactor(text).run();
}

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  const bool has_glued = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return is_one_of(name_of_program(word), kGluedPasswords);
  });
  for (size_t i = 0; i < words.size(); i++) {
    const std::string before = i > 0 ? words[i - 1] : "";
    std::string& word = words[i];
    const bool is_value = i > 0 && !word.empty() && !word.starts_with('-');
    if (is_value &&
        (takes_secret_word(before) || is_bearer(before) || (before == "-p" && !is_no_password(word)))) {
      word = kRemoved;
    } else if (const size_t colon = word.find(':');
               is_value && is_one_of(before, kUserOptions) && colon != std::string::npos && colon > 0) {
      word = word.substr(0, colon + 1) + std::string(kRemoved);
    } else if (has_glued && word.starts_with("-p") && word.size() > 2) {
      word = "-p" + std::string(kRemoved);
    } else if (has_glued && before == "-p") {
      word = kRemoved;
    } else if (const size_t name = name_of_setting(word); name > 0) {
      word = word.substr(0, name + 1) + std::string(kRemoved);
    } else {
      word = without_secrets(std::string_view(word));
    }
  }
  return words;
}

nlohmann::json without_secrets(const nlohmann::json& tree) {
  using nlohmann::json;
  if (tree.is_string()) return without_secrets(std::string_view(tree.get_ref<const std::string&>()));
  if (tree.is_object()) {
    json kept = json::object();
    for (const auto& [key, value] : tree.items()) {
      const bool is_secret = (value.is_string() || value.is_number()) && names_a_secret(key);
      kept[without_secrets(std::string_view(key))] = is_secret ? json(kRemoved) : without_secrets(value);
    }
    return kept;
  }
  if (!tree.is_array()) return tree;
  const bool is_words =
      std::all_of(tree.begin(), tree.end(), [](const json& item) { return item.is_string(); });
  if (is_words) return without_secrets(tree.get<std::vector<std::string>>());
  json kept = json::array();
  for (const json& item : tree) kept.push_back(without_secrets(item));
  return kept;
}

}  // namespace nl
