#pragma once
// Access: who may use a ledger over the network. Tokens are kept in access.sqlite of the ledger, as hashes:
// who reads the file cannot use them. Secrets have 256 random bits, so a plain hash is enough. One object
// serves one thread; several processes may use the file at the same time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace nl::store {

/// The weaker first.
enum class Role { kRead, kWrite, kAdmin };
const char* role_name(Role role);
std::optional<Role> role_of_name(std::string_view name);

/// Of a token that is good in every project.
inline constexpr std::string_view kAllProjects = "*";

/// What somebody may do in one project.
struct Grant {
  std::string project;  ///< kAllProjects: any
  Role role = Role::kRead;
};
/// "main:write perf:read"
std::string grants_text(const std::vector<Grant>& grants);
/// Nothing if it is written wrongly, or names no project.
std::optional<std::vector<Grant>> grants_of_text(std::string_view text);

struct Token {
  std::string id;    ///< public part: names it in lists
  std::string name;  ///< who uses it
  std::vector<Grant> grants;
  int64_t made_at_ns = 0;
  std::string made_by;
  int64_t expires_at_ns = 0;  ///< 0: never
  int64_t revoked_at_ns = 0;  ///< 0: it is not

  /// The highest role in this project; nothing if there is none.
  std::optional<Role> role_in(std::string_view project) const;
  bool is_good(int64_t now_ns) const {
    return revoked_at_ns == 0 && (expires_at_ns == 0 || now_ns < expires_at_ns);
  }
};

class Access {
 public:
  /// Read-only access needs no file: then nobody has a token.
  static Result<Access> open(const std::string& ledger_folder, SqliteAccess access);

  /// Makes the id; returns the text that the holder must send, which is kept nowhere.
  Result<std::string> add(Token& token);
  /// By id.
  Result<std::vector<Token>> list();
  /// A new secret for the same holder; the old one stops working. not_found if there is no such token.
  Result<std::string> rotate(const std::string& id);
  /// False if there is none, or if it was revoked before.
  Result<bool> revoke(const std::string& id, int64_t now_ns);
  /// The token whose secret this is, if it is good now. Takes the same time for every wrong secret.
  Result<std::optional<Token>> holder(std::string_view secret, int64_t now_ns);
  /// Removes those that cannot be used since that time.
  Result<void> forget_before(int64_t ns);

 private:
  explicit Access(Sqlite db) : db_(std::move(db)) {}

  Sqlite db_;
};

/// In constant time.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace nl::store
