#include "linac/control/catalog/records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/terminal_text.h"

namespace linac::catalog {
namespace {

constexpr std::string_view kAmongNumbers = "IN ({numbers})";
constexpr size_t kNumbersAtOnce = 512;

/// One value: PostgreSQL plans a list of 512 for longer than it takes to find their rows. The selection is made once,
/// where a mere cast would be made for each row.
std::vector<Row> rows_of_array(Database& database, std::string sql, size_t at, std::span<const int64_t> numbers) {
  sql.replace(at, kAmongNumbers.size(),
              "= ANY(ARRAY(SELECT CAST(n AS BIGINT) FROM unnest(string_to_array($1, ',')) n))");
  return database.query(sql, fmt::format("{}", fmt::join(numbers, ",")));
}

/// In two sizes only, filled up with the last number, so that the statements are prepared once.
std::vector<Row> rows_of_list(Database& database, std::string sql, size_t at, std::span<const int64_t> numbers) {
  std::vector<Value> values(numbers.begin(), numbers.end());
  values.resize(numbers.size() <= 16 ? 16 : kNumbersAtOnce, Value(numbers.back()));
  std::string places;
  for (size_t i = 1; i <= values.size(); ++i) places += fmt::format("{}${}", i == 1 ? "IN (" : ",", i);
  sql.replace(at, kAmongNumbers.size(), places + ")");
  return database.query(sql, std::span<const Value>(values));
}

/// Names stand in tables, logs and paths of others.
void check_line(const std::string& what, const std::string& name) {
  const size_t at = find_steering(name);
  if (at == std::string::npos) return;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[catalog] the name of {} '{}' has a line end or another character that steers a terminal, "
                            "at byte {}; leave it out",
                            what, one_line(name.substr(0, 40)), at));
}

}  // namespace

void check_key(const std::string& what, const std::string& key) {
  if (key.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] a {} without a name; give it one", what));
  if (key.size() > kTagKeyMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] the name of {} '{}...' has {} bytes; {} are the most",
                                                     what, key.substr(0, 40), key.size(), kTagKeyMax));
  check_line(what, key);
}

void check_tag(const std::string& what, const std::string& key, const std::string& value) {
  check_key(what, key);
  if (value.size() > kTagValueMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[catalog] {} '{}' has {} bytes; {} are the most, keep the rest as an artefact", what,
                              key, value.size(), kTagValueMax));
}

void check_name(const std::string& what, const std::string& name) {
  if (name.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] the {} has no name; give it one", what));
  if (name.size() > kNameMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] the name of the {} has {} bytes; {} are the most", what,
                                                     name.size(), kNameMax));
  check_line("the " + what, name);
}

int64_t run_number(Database& database, const std::string& id, bool writable) {
  const auto row = database.first("SELECT number, deleted FROM runs WHERE id = $1", id);
  if (!row)
    throw Refusal(RefusalKind::kNotFound, fmt::format("[runs] no run '{}'; `linac list` shows them", id.substr(0, 64)));
  if (writable && row->integer(1) != 0)
    throw Refusal(RefusalKind::kState, fmt::format("[runs] run '{}' is deleted; restore it first", id));
  return row->integer(0);
}

int64_t count_of_run(Database& database, const char* table, int64_t number) {
  return database.query(fmt::format("SELECT COUNT(*) FROM {} WHERE run = $1", table), number).front().integer(0);
}

void check_count(const char* what, int64_t now, int64_t most, int64_t before) {
  if (now <= most || now <= before) return;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[runs] a run has {} {} at most; give several runs or fewer names", most, what));
}

void for_numbers(Database& database, const std::string& sql, std::span<const int64_t> numbers,
                 const std::function<void(const Row&)>& each) {
  const size_t at = sql.find(kAmongNumbers);
  LINAC_CHECK(at != std::string::npos);
  const auto rows_of = database.is_postgresql() ? rows_of_array : rows_of_list;
  while (!numbers.empty()) {
    const auto some = numbers.first(std::min(numbers.size(), kNumbersAtOnce));
    for (const Row& row : rows_of(database, sql, at, some)) each(row);
    numbers = numbers.subspan(some.size());
  }
}

}  // namespace linac::catalog
