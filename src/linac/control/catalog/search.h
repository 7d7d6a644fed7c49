#pragma once
// A page of a search over one kind of record: filter, order and token put together. Private to the module.

#include <string>
#include <vector>

#include "linac/control/catalog/filter_sql.h"
#include "linac/control/catalog/visibility.h"

namespace linac::catalog {

/// A condition of visibility.h for this viewer.
std::string readable_sql(std::string_view condition, const Viewer& viewer, SqlText& text);

/// kInvalid for a search in more than kExperimentsOfSearchMax.
void check_experiments(size_t count);

struct Search {
  const Searchable& kind;
  std::string table;          // "runs r"
  std::string result;         // what is selected
  std::string condition;      // beside the filter
  std::string_view readable;  // a condition of visibility.h
  const Viewer& viewer;
  std::string filter;
  std::vector<std::string> order;
  std::string order_last;  // makes the order whole
  int64_t limit = 0;
  std::string token;

  /// `limit` rows at most; `next` becomes the token of the next page, empty at the end. kInvalid for a filter, an order
  /// or a token that is wrong, and for a limit outside of 1 to kSearchMax.
  std::vector<Row> rows(Database& database, std::string& next) const;
};

}  // namespace linac::catalog
