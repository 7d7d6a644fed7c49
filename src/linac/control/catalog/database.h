#pragma once
// One connection to the catalog's database, SQLite or PostgreSQL, behind the small common part of SQL that both speak:
// $1, $2, ... for parameters, BIGINT, DOUBLE PRECISION, TEXT, ON CONFLICT, RETURNING; bytes are BYTEA in PostgreSQL and
// BLOB in SQLite (blob_type()). Not thread-safe: a connection belongs to one thread at a time. catalog.h hands
// connections out.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "linac/base/base/refusal.h"

namespace linac::catalog {

using Bytes = std::vector<std::byte>;
/// SQLite has no NaN: non-finite numbers are kept in bytes (points.h), never bound as doubles.
using Value = std::variant<std::monostate, int64_t, double, std::string, Bytes>;

/// A row of a result. Asking a column for another type than it has is an internal error; null is asked for first.
class Row {
 public:
  explicit Row(std::vector<Value> values) : values_(std::move(values)) {}
  bool null(size_t column) const { return std::holds_alternative<std::monostate>(values_.at(column)); }
  int64_t integer(size_t column) const;
  double number(size_t column) const;
  const std::string& text(size_t column) const;
  const Bytes& bytes(size_t column) const;
  std::span<const Value> values() const { return values_; }

 private:
  std::vector<Value> values_;
};

/// What each statement of a read may take; 0: as much as it wants. Beyond `time` it is kInvalid, beyond `bytes` of rows
/// a TooLarge.
struct ReadLimit {
  std::chrono::milliseconds time{};
  size_t bytes = 0;
};
/// kInvalid.
class TooLarge : public Refusal {
 public:
  explicit TooLarge(size_t bytes_max);
};
/// Of a value in a row beside its text or bytes, about.
constexpr size_t kValueBytes = 40;

class Database {
 public:
  virtual ~Database() = default;
  /// All rows of one statement; statements are prepared once and kept by their text. Environment error if the database
  /// cannot be reached or written; a breach of a UNIQUE constraint is kExists (refusal.h).
  virtual std::vector<Row> query(std::string_view sql, std::span<const Value> parameters) = 0;
  /// Several statements without parameters, as migrations have them.
  virtual void script(std::string_view sql) = 0;
  /// "BYTEA" or "BLOB".
  virtual const char* blob_type() const = 0;
  /// Else it is SQLite.
  bool is_postgresql() const { return std::string_view(blob_type()) == "BYTEA"; }
  /// Whether the connection can still be used; after an environment error it may be gone.
  virtual bool alive() const = 0;

  template <class... P>
  std::vector<Row> query(std::string_view sql, const P&... parameters) {
    const std::vector<Value> values{Value(parameters)...};
    return query(sql, std::span<const Value>(values));
  }
  /// The first row, if there is one.
  template <class... P>
  std::optional<Row> first(std::string_view sql, const P&... parameters) {
    auto rows = query(sql, parameters...);
    return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
  }
};

/// Opens `url`: "sqlite:///absolute/path.db", a path, or "postgresql://user:password@host:port/name". User error for
/// another scheme, environment error if it cannot be opened (the password is not in the message).
std::unique_ptr<Database> open_database(const std::string& url);

/// The version of the schema that this program writes.
int schema_version();
/// Brings the schema up to `version`, each version in a transaction of its own; returns the version
/// before. User error if the catalog is newer than the program.
int migrate(Database& database, int version = schema_version());

}  // namespace linac::catalog
