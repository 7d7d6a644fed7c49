#include "linac/control/catalog/postgresql_values.h"

#include <endian.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "linac/control/catalog/connection.h"

namespace linac::catalog {
namespace {

// From PostgreSQL's catalogue pg_type; they never change.
constexpr Oid kBool = 16, kBytea = 17, kName = 19, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kUnknown = 705,
              kFloat8 = 701, kVarchar = 1043;

template <class T>
T word_of(const char* bytes) {
  T word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

Value value_of(Oid type, const char* bytes, int length) {
  const auto size = static_cast<size_t>(length);
  switch (type) {
    case kInt8:
      return static_cast<int64_t>(be64toh(word_of<uint64_t>(bytes)));
    case kInt4:
      return int64_t{static_cast<int32_t>(be32toh(word_of<uint32_t>(bytes)))};
    case kInt2:
      return int64_t{static_cast<int16_t>(be16toh(word_of<uint16_t>(bytes)))};
    case kBool:
      return int64_t{*bytes != 0};
    case kFloat8:
      return std::bit_cast<double>(be64toh(word_of<uint64_t>(bytes)));
    case kText:
    case kVarchar:
    case kName:
    case kUnknown:
      return std::string(bytes, size);
    case kBytea: {
      const auto* begin = reinterpret_cast<const std::byte*>(bytes);
      return Bytes(begin, begin + size);
    }
    default:
      throw Error(
          ErrorCode::kInternal,
          fmt::format("[catalog] a column of PostgreSQL's type {} is read; cast it to BIGINT, DOUBLE PRECISION or TEXT",
                      type));
  }
}

}  // namespace

PostgresqlParameters::PostgresqlParameters(std::span<const Value> values) {
  signature_.reserve(values.size());
  words_.reserve(values.size());  // pointers into it are kept
  const auto add = [&](char letter, Oid type, const void* bytes, size_t length) {
    signature_ += letter;
    types_.push_back(type);
    pointers_.push_back(static_cast<const char*>(bytes));
    lengths_.push_back(static_cast<int>(length));
    formats_.push_back(1);
  };
  for (const Value& value : values) {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      words_.push_back(htobe64(static_cast<uint64_t>(*integer)));
      add('i', kInt8, &words_.back(), sizeof(uint64_t));
    } else if (const auto* number = std::get_if<double>(&value)) {
      words_.push_back(htobe64(std::bit_cast<uint64_t>(*number)));
      add('d', kFloat8, &words_.back(), sizeof(uint64_t));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      check_text(*text);
      add('t', kText, text->data(), text->size());
    } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
      add('b', kBytea, bytes->empty() ? static_cast<const void*>("") : bytes->data(), bytes->size());
    } else {
      add('n', 0, nullptr, 0);
    }
  }
}

std::vector<Row> rows_of(const PGresult* result) {
  const int rows = PQntuples(result), columns = PQnfields(result);
  std::vector<Row> all;
  all.reserve(static_cast<size_t>(rows));
  for (int r = 0; r < rows; ++r) {
    std::vector<Value> values;
    values.reserve(static_cast<size_t>(columns));
    for (int c = 0; c < columns; ++c) {
      if (PQgetisnull(result, r, c))
        values.emplace_back();
      else
        values.push_back(value_of(PQftype(result, c), PQgetvalue(result, r, c), PQgetlength(result, r, c)));
    }
    all.emplace_back(std::move(values));
  }
  return all;
}

}  // namespace linac::catalog
