#pragma once
// Values as PostgreSQL's protocol carries them in binary: big-endian integers and doubles, text and bytes as they are.

#include <libpq-fe.h>

#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

/// The parameters of one statement, in the arrays that libpq wants. Refers to `values`: these have to stay.
class PostgresqlParameters {
 public:
  explicit PostgresqlParameters(std::span<const Value> values);
  /// One letter a parameter: a statement is prepared for these types.
  const std::string& signature() const { return signature_; }
  const Oid* types() const { return types_.data(); }
  const char* const* pointers() const { return pointers_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }
  int size() const { return static_cast<int>(types_.size()); }

 private:
  std::string signature_;
  std::vector<Oid> types_;
  std::vector<const char*> pointers_;
  std::vector<int> lengths_, formats_;
  std::vector<uint64_t> words_;  // integers and doubles, turned round
};

/// All rows of a result in binary form. Internal error for a type that the catalog does not use.
std::vector<Row> rows_of(const PGresult* result);

}  // namespace linac::catalog
