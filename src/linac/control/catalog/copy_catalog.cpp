#include "linac/control/catalog/copy_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/schema.h"

namespace linac::catalog {
namespace {

constexpr int64_t kRowsAtOnce = 200;  // a row may hold a block of 2048 points

struct Table {
  std::string name;
  std::vector<std::string> columns, key;
  bool counts_up = false;  // its key comes from a sequence
};

// Both databases have the same columns, so one that is made in memory is asked for them.
std::vector<Table> described_tables() {
  const auto schema = open_sqlite(":memory:");
  migrate(*schema);
  std::vector<Table> all;
  for (const std::string_view name : tables()) {
    Table& table = all.emplace_back();
    table.name = name;
    std::vector<std::pair<int64_t, std::string>> key;
    for (const Row& row : schema->query("SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid", table.name)) {
      table.columns.push_back(row.text(0));
      if (row.integer(2) > 0) key.emplace_back(row.integer(2), row.text(0));
      table.counts_up = table.counts_up || (row.integer(2) == 1 && row.text(1) == "INTEGER");
    }
    std::sort(key.begin(), key.end());
    for (const auto& [place, column] : key) table.key.push_back(column);
    LINAC_CHECK(!table.columns.empty() && !table.key.empty());
  }
  return all;
}

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string places(size_t count) {
  std::vector<std::string> all;
  for (size_t i = 1; i <= count; ++i) all.push_back(fmt::format("${}", i));
  return listed(all);
}

// The rows of a table in the order of its key, a page at a time.
class TableReader {
 public:
  TableReader(Connection& database, const Table& table) : database_(database), table_(table) {
    const std::string columns = listed(table.columns), key = listed(table.key);
    first_ = fmt::format("SELECT {}, {} FROM {} ORDER BY {} LIMIT {}", columns, key, table.name, key, kRowsAtOnce);
    next_ = fmt::format("SELECT {}, {} FROM {} WHERE ({}) > ({}) ORDER BY {} LIMIT {}", columns, key, table.name, key,
                        places(table.key.size()), key, kRowsAtOnce);
  }
  /// Columns, and behind them the key's; empty at the end.
  std::vector<Row> next() {
    auto rows = last_.empty() ? database_.query(first_) : database_.query(next_, std::span<const Value>(last_));
    if (!rows.empty()) {
      const auto values = rows.back().values();
      last_.assign(values.end() - static_cast<std::ptrdiff_t>(table_.key.size()), values.end());
    }
    return rows;
  }

 private:
  Connection& database_;
  const Table& table_;
  std::string first_, next_;
  std::vector<Value> last_;
};

RowCounts counted(Connection& database) {
  RowCounts counts;
  for (const std::string_view table : tables())
    counts[std::string(table)] = database.query(fmt::format("SELECT COUNT(*) FROM {}", table)).front().integer(0);
  return counts;
}

void check_version(Connection& database) {
  int64_t version = 0;
  try {
    version = database.query("SELECT MAX(version) FROM schema_version").front().integer(0);
  } catch (const Error&) {
    throw user_error("[catalog] the database holds no catalog of linac");
  }
  if (version != schema_version())
    throw user_error(
        fmt::format("[catalog] has version {} of the schema, this linac {}; `linac serve` of the newer one brings it "
                    "up to date",
                    version, schema_version()));
}

std::unique_ptr<Connection> read_at_one_moment(const std::string& url) {
  auto database = open_connection(url);
  database->begin_read();
  check_version(*database);
  return database;
}

void check_empty(Connection& database) {
  if (!database.lock_writing())
    throw user_error("[catalog] the database to write into is in use by a service; end it first");
  for (const char* table : {"runs", "users", "models", "experiment_tags"})
    if (database.first(fmt::format("SELECT 1 FROM {} LIMIT 1", table)))
      throw user_error("[catalog] the database to write into has a catalog already; give an empty one");
}

void copy_table(Connection& from, Connection& to, const Table& table, const std::function<void()>& copied) {
  to.query(fmt::format("DELETE FROM {}", table.name));  // what migrations put there
  const std::string insert =
      fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, listed(table.columns), places(table.columns.size()));
  TableReader reader(from, table);
  for (auto rows = reader.next(); !rows.empty(); rows = reader.next()) {
    for (const Row& row : rows) {
      to.post(insert, row.values().first(table.columns.size()));
      copied();
    }
    to.settle();
  }
  if (table.counts_up && to.is_postgresql())
    to.query(fmt::format("SELECT setval(pg_get_serial_sequence('{0}', '{1}'), GREATEST(1, (SELECT MAX({1}) FROM {0})))",
                         table.name, table.key.front()));
}

}  // namespace

RowCounts count_rows(const std::string& url) {
  return counted(*read_at_one_moment(url));
}

RowCounts copy_catalog(const std::string& from_url, const std::string& to_url,
                       const std::function<void(int64_t done, int64_t of)>& tell) {
  const auto from = read_at_one_moment(from_url);
  const RowCounts counts = counted(*from);
  const auto to = open_connection(to_url);
  migrate(*to);
  int64_t done = 0, all = 0;
  for (const auto& [table, rows] : counts) all += rows;
  to->begin_write();
  try {
    check_empty(*to);
    for (const Table& table : described_tables()) copy_table(*from, *to, table, [&] { tell(++done, all); });
    to->commit();
  } catch (...) {
    to->rollback();
    throw;
  }
  return counts;
}

}  // namespace linac::catalog
