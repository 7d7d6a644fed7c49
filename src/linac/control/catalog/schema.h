#pragma once
// The versions of the catalog's schema. A version that was ever released is never changed: what comes later is
// appended.

#include <span>
#include <string_view>

namespace linac::catalog {

/// Number n (from 1) brings version n - 1 to n. One text for both databases, with these places to fill in: {identity} a
/// key that counts up, {text} text that compares by bytes, {bytes}, {by_key} for a table that is only looked up by its
/// key; a line that begins with "postgresql:" is for PostgreSQL alone.
std::span<const std::string_view> migrations();

/// All tables but `schema_version`, each behind those that it refers to.
std::span<const std::string_view> tables();

}  // namespace linac::catalog
