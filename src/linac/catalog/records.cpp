#include "linac/catalog/records.h"

#include <fmt/format.h>

namespace linac::catalog {
namespace {

constexpr std::string_view kNumbers = "{numbers}";

std::string places(size_t n) {
  std::string text;
  for (size_t i = 1; i <= n; ++i) text += fmt::format("{}${}", i == 1 ? "" : ",", i);
  return text;
}

}  // namespace

void check_key(const std::string& what, const std::string& key) {
  if (key.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] a {} without a name; give it one", what));
  if (key.size() > kTagKeyMax)
    throw Refusal(RefusalKind::kInvalid, fmt::format("[catalog] the name of {} '{}...' has {} bytes; {} are the most",
                                                     what, key.substr(0, 40), key.size(), kTagKeyMax));
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
}

int64_t run_number(Database& database, const std::string& id, bool writable) {
  const auto row = database.first("SELECT number, deleted FROM runs WHERE id = $1", id);
  if (!row)
    throw Refusal(RefusalKind::kNotFound, fmt::format("[runs] no run '{}'; `linac list` shows them", id.substr(0, 64)));
  if (writable && row->integer(1) != 0)
    throw Refusal(RefusalKind::kState, fmt::format("[runs] run '{}' is deleted; restore it first", id));
  return row->integer(0);
}

void for_numbers(Database& database, const std::string& sql, std::span<const int64_t> numbers,
                 const std::function<void(const Row&)>& each) {
  const size_t at = sql.find(kNumbers);
  LINAC_CHECK(at != std::string::npos);
  while (!numbers.empty()) {
    // Two sizes only, filled up with the last number, so that the statements are prepared once.
    const size_t size = numbers.size() <= 16 ? 16 : 512, n = std::min(size, numbers.size());
    std::vector<Value> values(size, Value(numbers[n - 1]));
    for (size_t i = 0; i < n; ++i) values[i] = numbers[i];
    std::string text = sql;
    text.replace(at, kNumbers.size(), places(size));
    for (const Row& row : database.query(text, std::span<const Value>(values))) each(row);
    numbers = numbers.subspan(n);
  }
}

}  // namespace linac::catalog
