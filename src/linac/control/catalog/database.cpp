#include "linac/control/catalog/database.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/connection.h"

namespace linac::catalog {
namespace {

constexpr std::array<const char*, 5> kTypeNames{"null", "an integer", "a number", "text", "bytes"};

template <class T>
const T& get(const std::vector<Value>& values, size_t column, const char* wanted) {
  if (column >= values.size())
    throw Error(ErrorCode::kInternal, fmt::format("[catalog] column {} of {} is read", column, values.size()));
  if (const T* found = std::get_if<T>(&values[column])) return *found;
  throw Error(ErrorCode::kInternal, fmt::format("[catalog] column {} is {}, wanted is {}", column,
                                                kTypeNames[values[column].index()], wanted));
}

}  // namespace

int64_t Row::integer(size_t column) const {
  return get<int64_t>(values_, column, "an integer");
}
const std::string& Row::text(size_t column) const {
  return get<std::string>(values_, column, "text");
}
const Bytes& Row::bytes(size_t column) const {
  return get<Bytes>(values_, column, "bytes");
}

double Row::number(size_t column) const {
  if (column < values_.size() && std::holds_alternative<int64_t>(values_[column]))
    return static_cast<double>(std::get<int64_t>(values_[column]));
  return get<double>(values_, column, "a number");
}

void check_text(std::string_view text) {
  const size_t at = find_no_text(text);
  if (at == std::string_view::npos) return;
  throw Refusal(
      RefusalKind::kInvalid,
      fmt::format("[catalog] byte {} of a text is 0x{:02x}, which is not UTF-8; send text, or bytes as base64", at,
                  static_cast<unsigned char>(text[at])));
}

TooLarge::TooLarge(size_t bytes_max)
    : Refusal(RefusalKind::kInvalid,
              fmt::format("[catalog] the database has more than {} bytes for this, which is the most; ask for less: a "
                          "smaller page, fewer runs or names",
                          bytes_max)) {}

Refusal too_long(std::chrono::milliseconds limit) {
  return {
      RefusalKind::kInvalid,
      fmt::format("[catalog] the database takes longer than {:g} s for this, which is the most; ask for less: fewer "
                  "conditions or orders, one experiment, a smaller page",
                  std::chrono::duration<double>(limit).count())};
}

std::unique_ptr<Connection> open_connection(const std::string& url) {
  const auto is = [&](std::string_view scheme) { return url.rfind(scheme, 0) == 0; };
  if (is("postgresql://") || is("postgres://")) return open_postgresql(url);
  if (is("sqlite:///")) return open_sqlite(url.substr(std::string_view("sqlite://").size()));
  if (url.empty() || url.find("://") != std::string::npos)
    throw user_error(
        fmt::format("[catalog] '{}' names no database that is known; give sqlite:///absolute/path.db, a path, or "
                    "postgresql://user@host:port/name",
                    url.substr(0, url.find("://"))));
  return open_sqlite(url);
}

std::unique_ptr<Database> open_database(const std::string& url) {
  return open_connection(url);
}

}  // namespace linac::catalog
