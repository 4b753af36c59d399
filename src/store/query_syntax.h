#pragma once
// What a statement of a user is made of, by the engine's own parser, before anything of it is executed or
// even planned. Users get one SELECT over the tables of the run, with functions that compute. Whatever names
// a file, a setting or the engine's own catalog is refused, because it can tell of the machine.

#include <set>
#include <string>

#include "store/engine.h"

namespace nl::store {

struct QuerySyntax {
  bool is_select = false;    ///< one statement that only reads
  std::string refused = {};  ///< why the statement is not for users; empty if it is
  /// It names a derived column, or takes all columns of something; in doubt true. A join over millions of
  /// rows is then only made when it is needed.
  bool mentions_links = true;
  std::set<std::string> tables = {};  ///< names that may be tables; empty: any
};

QuerySyntax examine_query(Connection& connection, const std::string& sql);

/// A function that users may call in an expression. Names are in lower case.
bool is_function_for_users(const std::string& name);

}  // namespace nl::store
