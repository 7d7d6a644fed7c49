#pragma once
// All of the catalog, from one database into another of either kind: backups, and the way from SQLite to PostgreSQL and
// back.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace linac::catalog {

/// Rows by table.
using RowCounts = std::map<std::string, int64_t>;

/// Copies everything that is at `from`, as it was at one moment, into the empty database `to`; `from` may be in use
/// meanwhile. `tell` gets the rows copied so far and of how many. In one transaction: if it throws, `to` has nothing.
/// User error if `from` has another version of the schema than this program, if `to` holds anything or is in use.
RowCounts copy_catalog(const std::string& from, const std::string& to,
                       const std::function<void(int64_t done, int64_t of)>& tell);

/// Rows by table, at one moment. User error as above.
RowCounts count_rows(const std::string& url);

}  // namespace linac::catalog
