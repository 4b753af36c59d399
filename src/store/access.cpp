#include "store/access.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "base/permissions.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/projects.h"

namespace nl::store {
namespace {

constexpr int64_t kAccessVersion = 1;
constexpr int kBusyMs = 5000;
constexpr char kTokens[] =
    "tokens(id TEXT PRIMARY KEY, secret_sha256 TEXT NOT NULL, name TEXT NOT NULL, grants TEXT NOT NULL, "
    "made_at_ns INTEGER NOT NULL, made_by TEXT NOT NULL, expires_at_ns INTEGER NOT NULL, revoked_at_ns "
    "INTEGER NOT NULL) "
    "WITHOUT ROWID";
constexpr char kColumns[] =
    "id, name, grants, made_at_ns, made_by, expires_at_ns, revoked_at_ns, secret_sha256";

// "nlt_<id>_<secret>": a prefix that scanners of secrets can look for.
constexpr std::string_view kPrefix = "nlt_";
constexpr size_t kIdBytes = 6;
constexpr size_t kIdLetters = 2 * kIdBytes;
constexpr size_t kSecretBytes = 32;

Token token_of(const SqliteRow& r) {
  return {r.text(0),    r.text(1), grants_of_text(r.text(2)).value_or(std::vector<Grant>()),
          r.integer(3), r.text(4), r.integer(5),
          r.integer(6)};
}

std::string text_of(const std::string& id, const std::string& secret) {
  return std::string(kPrefix) + id + "_" + secret;
}

}  // namespace

const char* role_name(Role role) {
  return role == Role::kAdmin ? "admin" : role == Role::kWrite ? "write" : "read";
}

std::optional<Role> role_of_name(std::string_view name) {
  for (const Role role : {Role::kRead, Role::kWrite, Role::kAdmin}) {
    if (name == role_name(role)) return role;
  }
  return std::nullopt;
}

std::string grants_text(const std::vector<Grant>& grants) {
  std::string text;
  for (const Grant& grant : grants)
    text += (text.empty() ? "" : " ") + grant.project + ":" + role_name(grant.role);
  return text;
}

std::optional<std::vector<Grant>> grants_of_text(std::string_view text) {
  std::vector<Grant> grants;
  for (const std::string& one : split(text, ' ')) {
    const size_t colon = std::min(one.find(':'), one.size());
    const std::string project = one.substr(0, colon);
    const auto role = role_of_name(std::string_view(one).substr(std::min(colon + 1, one.size())));
    if (!role || (project != kAllProjects && !check_project_name(project))) return std::nullopt;
    grants.push_back({project, *role});
  }
  return grants;
}

std::optional<Role> Token::role_in(std::string_view project) const {
  std::optional<Role> highest;
  for (const Grant& grant : grants) {
    if (grant.project == project || grant.project == kAllProjects)
      highest = std::max(highest.value_or(grant.role), grant.role);
  }
  return highest;
}

bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); i++)
    different |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return different == 0;
}

Result<Access> Access::open(const std::string& ledger_folder, SqliteAccess access) {
  const std::string path = ledger_folder + "/access.sqlite";
  const bool is_missing = access != SqliteAccess::kReadWrite && !path_exists(path);
  NL_TRY(Sqlite db, Sqlite::open(path, kBusyMs, is_missing ? SqliteAccess::kMemory : access));
  if (access == SqliteAccess::kReadWrite)
    (void)::chmod(path.c_str(), 0600);  // nobody's business, even hashed
  NL_TRY(const int64_t version, db.integer("PRAGMA user_version"));
  if (version > kAccessVersion)
    return Error{ErrorCode::kUnsupported, "a newer neurolens wrote the list of tokens: " + path};
  if (version == 0) {
    NL_TRY(auto transaction, SqliteTransaction::begin(db));
    NL_CHECK(db.run("CREATE TABLE IF NOT EXISTS " + std::string(kTokens)));
    NL_CHECK(db.run("PRAGMA user_version = " + std::to_string(kAccessVersion)));
    NL_CHECK(transaction.commit());
  }
  return Access(std::move(db));
}

Result<std::string> Access::add(Token& token) {
  token.id = hex_of(random_bytes(kIdBytes));
  const std::string secret = hex_of(random_bytes(kSecretBytes));
  NL_CHECK(db_.run("INSERT INTO tokens VALUES (?,?,?,?,?,?,?,?)",
                   {token.id, sha256_hex(secret), token.name, grants_text(token.grants), token.made_at_ns,
                    token.made_by, token.expires_at_ns, token.revoked_at_ns}));
  return text_of(token.id, secret);
}

Result<std::vector<Token>> Access::list() {
  std::vector<Token> tokens;
  NL_CHECK(db_.each(std::string("SELECT ") + kColumns + " FROM tokens ORDER BY made_at_ns, id", {},
                    [&](const SqliteRow& r) { tokens.push_back(token_of(r)); }));
  return tokens;
}

Result<std::string> Access::rotate(const std::string& id) {
  const std::string secret = hex_of(random_bytes(kSecretBytes));
  NL_CHECK(db_.run("UPDATE tokens SET secret_sha256 = ? WHERE id = ? AND revoked_at_ns = 0",
                   {sha256_hex(secret), id}));
  if (db_.changes() == 0)
    return Error{ErrorCode::kNotFound, "there is no such token: " + id, "{} lists them", {{"token"}}};
  return text_of(id, secret);
}

Result<bool> Access::revoke(const std::string& id, int64_t now_ns) {
  NL_CHECK(db_.run("UPDATE tokens SET revoked_at_ns = ? WHERE id = ? AND revoked_at_ns = 0", {now_ns, id}));
  return db_.changes() > 0;
}

Result<std::optional<Token>> Access::holder(std::string_view text, int64_t now_ns) {
  const size_t secret_at = kPrefix.size() + kIdLetters + 1;
  const bool has_form = text.starts_with(kPrefix) && text.size() == secret_at + 2 * kSecretBytes;
  const std::string id(has_form ? text.substr(kPrefix.size(), kIdLetters) : "");
  const std::string given = sha256_hex(has_form ? text.substr(secret_at) : text);
  std::optional<Token> found;
  std::string wanted;
  NL_CHECK(db_.each(std::string("SELECT ") + kColumns + " FROM tokens WHERE id = ?", {id},
                    [&](const SqliteRow& r) {
                      found = token_of(r);
                      wanted = r.text(7);
                    }));
  const bool is_right = equal_secrets(given, found ? wanted : std::string(given.size(), '-'));
  if (!found || !is_right || !found->is_good(now_ns)) return std::optional<Token>();
  return found;
}

Result<void> Access::forget_before(int64_t ns) {
  return db_.run(
      "DELETE FROM tokens WHERE (revoked_at_ns > 0 AND revoked_at_ns < ?1) OR (expires_at_ns > 0 AND "
      "expires_at_ns < ?1)",
      {ns});
}

}  // namespace nl::store
