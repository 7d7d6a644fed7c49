#pragma once
// Filters and orders as SQL, for any table of records. Two-valued: a comparison with what a record does not have is
// false, and NOT of it true. Private to the module.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/control/catalog/filter.h"
#include "linac/control/catalog/sql_text.h"

namespace linac::catalog {

struct Attribute {
  enum class Type {
    kText,
    kInteger,
    kTime,  // an integer, 0 for "not yet", which is null
  };
  std::string_view name;  // lower case, '_' for a space: what is asked for is brought to this form
  std::string_view sql;
  Type type = Type::kText;
};

/// One kind of record. The texts after `from_` complete "SELECT 1 FROM ..." for one record, with `x` as the table's
/// alias and columns `key` and `value`; empty where the kind has none.
struct Searchable {
  std::string_view what;  // "runs"
  std::span<const Attribute> attributes;
  std::string_view tags;  // "run_tags x WHERE x.run = r.number"
  std::string_view parameters;
  std::string_view metrics;    // value: last_value
  std::string_view data_sets;  // columns name, digest, context
};

/// "(... AND ...)", or "1 = 1" for null. kInvalid for a field that the kind has not, or a comparison that the field has
/// not.
std::string filter_sql(const Searchable& kind, const Filter* filter, bool postgresql, SqlText& text);

/// What goes behind FROM (each with a space in front) and behind ORDER BY (each with ", " at the end). Nulls come last,
/// NaN before them. kInvalid as above, and for more than kOrdersMax.
struct OrderSql {
  std::string joins, order;
};
constexpr size_t kOrdersMax = 16;
OrderSql order_sql(const Searchable& kind, const std::vector<std::string>& orders, SqlText& text);

}  // namespace linac::catalog
