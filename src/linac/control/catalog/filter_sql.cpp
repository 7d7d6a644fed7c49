#include "linac/control/catalog/filter_sql.h"

#include <algorithm>
#include <array>

#include "linac/base/base/lower_ascii.h"
#include "linac/base/base/refusal.h"

namespace linac::catalog {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Refusal(RefusalKind::kInvalid, "[filter] " + message);
}

const Attribute& attribute(const Searchable& kind, const std::string& key) {
  std::string name = lower_ascii(key);
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string known;
  for (const Attribute& a : kind.attributes) {
    if (a.name == name) return a;
    known.append(known.empty() ? "" : ", ").append(a.name);
  }
  refuse(fmt::format("{} have no attribute '{}'; they have {}{}", kind.what, key.substr(0, 40), known,
                     kind.tags.empty() ? "" : ", and tags.NAME"));
}

/// "SELECT 1 FROM" has to go on with this for the records that have the key.
std::string with_key(const Searchable& kind, const Field& field, SqlText& text) {
  const std::string_view from = field.kind == FieldKind::kMetric      ? kind.metrics
                                : field.kind == FieldKind::kParameter ? kind.parameters
                                                                      : kind.tags;
  if (from.empty())
    refuse(fmt::format("{} have no {}; they have attributes{}", kind.what,
                       field.kind == FieldKind::kMetric ? "metrics" : "parameters",
                       kind.tags.empty() ? "" : " and tags"));
  return fmt::format("{} AND x.key = {}", from, text.bind(field.key));
}

const char* sign(Comparison comparison) {
  switch (comparison) {
    case Comparison::kEqual:
      return "=";
    case Comparison::kNotEqual:
      return "<>";
    case Comparison::kLess:
      return "<";
    case Comparison::kLessEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    case Comparison::kGreaterEqual:
      return ">=";
    default:
      return nullptr;
  }
}

const std::string& text_of(const Filter& filter, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  refuse(fmt::format("'{}' is text: put the value in quotes", filter.field.key.substr(0, 40)));
}

const Value& number_of(const Filter& filter, const Value& value) {
  if (std::holds_alternative<std::string>(value))
    refuse(fmt::format("'{}' is a number: give the value without quotes", filter.field.key.substr(0, 40)));
  return value;
}

std::string in_list(const std::string& column, const Filter& filter, bool numbers, SqlText& text) {
  std::string list;
  for (const Value& value : filter.values)
    list.append(list.empty() ? "" : ", ")
        .append(text.bind(numbers ? number_of(filter, value) : text_of(filter, value)));
  return fmt::format("{} {}IN ({})", column, filter.comparison == Comparison::kNotIn ? "NOT " : "", list);
}

std::string compare_text(const std::string& column, const Filter& filter, bool postgresql, SqlText& text) {
  switch (filter.comparison) {
    case Comparison::kEqual:
    case Comparison::kNotEqual:
      return fmt::format("{} {} {}", column, sign(filter.comparison), text.bind(text_of(filter, filter.values.at(0))));
    case Comparison::kLike:
    case Comparison::kILike: {
      const bool any_case = filter.comparison == Comparison::kILike;
      const std::string& pattern = text_of(filter, filter.values.at(0));
      return fmt::format("{} LIKE {}{}", any_case ? fmt::format("lower({})", column) : column,
                         text.bind(any_case ? lower_ascii(pattern) : pattern), postgresql ? " ESCAPE ''" : "");
    }
    case Comparison::kIn:
    case Comparison::kNotIn:
      return in_list(column, filter, false, text);
    default:
      refuse(fmt::format("'{}' is text: compare by =, !=, LIKE, ILIKE, IN, NOT IN", filter.field.key.substr(0, 40)));
  }
}

std::string compare_number(const std::string& column, const Filter& filter, SqlText& text) {
  if (filter.comparison == Comparison::kIn || filter.comparison == Comparison::kNotIn)
    return in_list(column, filter, true, text);
  if (const char* s = sign(filter.comparison))
    return fmt::format("{} {} {}", column, s, text.bind(number_of(filter, filter.values.at(0))));
  refuse(fmt::format("'{}' is a number: compare by =, !=, <, <=, >, >=, IN, NOT IN", filter.field.key.substr(0, 40)));
}

std::string attribute_sql(const Searchable& kind, const Filter& filter, bool postgresql, SqlText& text) {
  const Attribute& a = attribute(kind, filter.field.key);
  const std::string column(a.sql);
  if (filter.comparison == Comparison::kIsNull || filter.comparison == Comparison::kIsNotNull) {
    const bool null = filter.comparison == Comparison::kIsNull;
    if (a.type == Attribute::Type::kInteger) return null ? "1 = 0" : "1 = 1";
    return fmt::format("{} {} {}", column, null ? "=" : "<>", a.type == Attribute::Type::kTime ? "0" : "''");
  }
  if (a.type == Attribute::Type::kText) return compare_text(column, filter, postgresql, text);
  const std::string compared = compare_number(column, filter, text);
  return a.type == Attribute::Type::kTime ? fmt::format("({} <> 0 AND {})", column, compared) : compared;
}

std::string data_set_sql(const Searchable& kind, const Filter& filter, bool postgresql, SqlText& text) {
  constexpr std::array<std::string_view, 3> kColumns{"name", "digest", "context"};
  const std::string column = lower_ascii(filter.field.key);
  if (kind.data_sets.empty() || std::find(kColumns.begin(), kColumns.end(), column) == kColumns.end())
    refuse(fmt::format("{} have no datasets.{}; runs have datasets.name, .digest and .context", kind.what,
                       filter.field.key));
  return fmt::format("EXISTS (SELECT 1 FROM {} AND {})", kind.data_sets,
                     compare_text("x." + column, filter, postgresql, text));
}

std::string comparison_sql(const Searchable& kind, const Filter& filter, bool postgresql, SqlText& text) {
  if (filter.field.kind == FieldKind::kAttribute) return attribute_sql(kind, filter, postgresql, text);
  if (filter.field.kind == FieldKind::kDataSet) return data_set_sql(kind, filter, postgresql, text);
  const std::string from = with_key(kind, filter.field, text);
  if (filter.comparison == Comparison::kIsNull) return fmt::format("NOT EXISTS (SELECT 1 FROM {})", from);
  if (filter.comparison == Comparison::kIsNotNull) return fmt::format("EXISTS (SELECT 1 FROM {})", from);
  const std::string compared = filter.field.kind == FieldKind::kMetric
                                   ? compare_number("x.last_value", filter, text)
                                   : compare_text("x.value", filter, postgresql, text);
  return fmt::format("EXISTS (SELECT 1 FROM {} AND {})", from, compared);
}

}  // namespace

std::string filter_sql(const Searchable& kind, const Filter* filter, bool postgresql, SqlText& text) {
  if (filter == nullptr) return "1 = 1";
  switch (filter->kind) {
    case Filter::Kind::kComparison:
      return comparison_sql(kind, *filter, postgresql, text);
    case Filter::Kind::kNot:
      return fmt::format("NOT ({})", filter_sql(kind, filter->parts.at(0).get(), postgresql, text));
    case Filter::Kind::kAnd:
    case Filter::Kind::kOr:
      break;
  }
  std::string sql;
  for (const auto& part : filter->parts) {
    if (!sql.empty()) sql += filter->kind == Filter::Kind::kAnd ? " AND " : " OR ";
    sql += filter_sql(kind, part.get(), postgresql, text);
  }
  return fmt::format("({})", sql);
}

OrderSql order_sql(const Searchable& kind, const std::vector<std::string>& orders, SqlText& text) {
  if (orders.size() > kOrdersMax) refuse(fmt::format("{} orders; {} are the most", orders.size(), kOrdersMax));
  OrderSql sql;
  for (size_t i = 0; i < orders.size(); ++i) {
    const Order order = parse_order(orders[i]);
    const char* direction = order.descending ? " DESC, " : ", ";
    if (order.field.kind == FieldKind::kDataSet) refuse("runs cannot be put in the order of their data sets");
    if (order.field.kind == FieldKind::kAttribute) {
      const Attribute& a = attribute(kind, order.field.key);
      if (a.type == Attribute::Type::kTime) sql.order += fmt::format("CASE WHEN {} = 0 THEN 1 ELSE 0 END, ", a.sql);
      sql.order += fmt::format("{}{}", a.sql, direction);
      continue;
    }
    // "table x WHERE x.run = r.number AND x.key = $1" as a join under a name of its own.
    std::string from = with_key(kind, order.field, text);
    const std::string name = fmt::format("o{}", i);
    for (size_t at; (at = from.find(" x.")) != std::string::npos;) from.replace(at, 2, " " + name);
    const size_t where = from.find(" x WHERE ");
    from.replace(where, 9, fmt::format(" {} ON ", name));
    sql.joins += " LEFT JOIN " + from;
    const char* value = order.field.kind == FieldKind::kMetric ? "last_value" : "value";
    sql.order +=
        fmt::format("CASE WHEN {0}.{1} IS NOT NULL THEN 0 WHEN {0}.key IS NOT NULL THEN 1 ELSE 2 END, {0}.{1}{2}", name,
                    value, direction);
  }
  return sql;
}

}  // namespace linac::catalog
