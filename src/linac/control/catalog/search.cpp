#include "linac/control/catalog/search.h"

#include <fmt/format.h>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/paging.h"
#include "linac/control/catalog/runs.h"

namespace linac::catalog {

std::string readable_sql(std::string_view condition, const Viewer& viewer, SqlText& text) {
  if (viewer.all) return "1 = 1";
  LINAC_CHECK(!viewer.user.empty());
  constexpr std::string_view kPlace = "{viewer}";
  std::string sql(condition);
  const size_t at = sql.find(kPlace);
  LINAC_CHECK(at != std::string::npos);
  return sql.replace(at, kPlace.size(), text.bind(viewer.user));
}

void check_experiments(size_t count) {
  if (count > kExperimentsOfSearchMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[search] {} experiments; {} are the most", count, kExperimentsOfSearchMax));
}

std::vector<Row> Search::rows(Database& database, std::string& next) const {
  if (limit < 1 || limit > kSearchMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[search] {} results a page; give a number from 1 to {}", limit, kSearchMax));
  std::string name = table + '\n' + condition + '\n' + filter;
  for (const auto& one : order) name += '\n' + one;
  const int64_t offset = page_offset(name, token);

  SqlText text;
  const bool postgresql = database.is_postgresql();
  const auto parsed = parse_filter(filter);
  const OrderSql sorted = order_sql(kind, order, text);
  text << "SELECT " << result << " FROM " << table << sorted.joins << " WHERE " << condition << " AND "
       << readable_sql(readable, viewer, text) << " AND " << filter_sql(kind, parsed.get(), postgresql, text)
       << " ORDER BY " << sorted.order << order_last;
  const std::string rows_max = text.bind(limit + 1), first = text.bind(offset);
  text << " LIMIT " << rows_max << " OFFSET " << first;
  auto found = text.rows(database);
  if (static_cast<int64_t>(found.size()) > limit) {
    found.pop_back();
    next = page_token(name, offset + limit);
  } else {
    next.clear();
  }
  return found;
}

}  // namespace linac::catalog
