#pragma once
// Tokens for the pages of a search. A page begins at an offset: records that come or go between two pages shift it, as
// in MLflow. The token also names the search, so that one of another search is refused. Private to the module.

#include <cstdint>
#include <string>

namespace linac::catalog {

/// "<offset>.<digest of the search>"; `search` is whatever text tells searches apart.
std::string page_token(const std::string& search, int64_t offset);
/// 0 for an empty token; kInvalid for one that was not made by page_token() for this search.
int64_t page_offset(const std::string& search, const std::string& token);

}  // namespace linac::catalog
