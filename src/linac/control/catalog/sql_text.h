#pragma once
// SQL under construction: text and the values of its parameters. Users' words only ever go in by bind(). Private to the
// module.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

class SqlText {
 public:
  SqlText& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  /// The place of a value: "$4".
  std::string bind(Value value) {
    values_.push_back(std::move(value));
    return fmt::format("${}", values_.size());
  }
  std::vector<Row> rows(Database& database) const { return database.query(text_, std::span<const Value>(values_)); }
  const std::string& text() const { return text_; }
  const std::vector<Value>& values() const { return values_; }

 private:
  std::string text_;
  std::vector<Value> values_;
};

}  // namespace linac::catalog
