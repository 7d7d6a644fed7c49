#pragma once
// Answers that may be long: a list that is read from the catalog and sent a piece at a time. A short one goes as one
// body. Of all that are under way a few are read at a time, one of a user, in turn, so that many of them neither fill
// the memory nor keep others waiting.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/control/service/catalog_access.h"

namespace linac::service {

struct LongList {
  const char* name = "";                           // of the list's member
  nlohmann::json more = nlohmann::json::object();  // the other members
  int64_t count = 0;                               // of the items
  int64_t at_once = 1;                             // so many are read at a time, or more; of items that are small
  /// Items from number `from` on, `count` of them, or none where they have gone meanwhile.
  std::function<nlohmann::json(catalog::Database&, int64_t from, int64_t count)> items{};
};

/// Answers with the list that `search` names; it is called with the first piece in one view of the catalog.
Handler reads_long_list(Context& context, std::function<LongList(catalog::Database&, Request&)> search);

}  // namespace linac::service
