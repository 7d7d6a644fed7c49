// Records that are tf.train.Examples: a column is a float or integer list, its rows one after the other.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_marks.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {
namespace {

constexpr size_t kBlockValues = size_t{4} << 20;
constexpr size_t kBlockEventsMax = 4096;

class TfrecordTable : public TableReader {
 public:
  TfrecordTable(const SourcePtr& source, std::vector<WantedColumn> columns)
      : name_(source->url()), records_(unpacked_stream(source), name_), columns_(std::move(columns)) {
    if (!advance()) throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name_));
    for (const WantedColumn& column : columns_) {
      codes_.emplace_back(name_, column.name);
      const Feature& feature = find(example_, column);
      const size_t values = feature.floats.size() + feature.integers.size() + feature.bytes.size();
      stored_.push_back({.words = describe(feature), .is_text = !feature.bytes.empty(), .axes = values == 1 ? 0 : 1});
    }
  }

  /// Of the first record, before next() is called.
  std::vector<std::string> features() const { return described(example_); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, feature] : example_) names.push_back(name);
    return names;
  }
  std::vector<std::string> of_texts() const {
    std::vector<std::string> names;
    for (const auto& [name, feature] : example_)
      if (feature.bytes.size() == 1) names.push_back(name);
    return names;
  }
  int64_t events() const override { return -1; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    size_t values = 0;
    for (size_t events = 0; more_ && events < kBlockEventsMax && values < kBlockValues; ++events) {
      for (size_t i = 0; i < columns_.size(); ++i) values += append(find(example_, columns_[i]), i, out[i]);
      advance();
    }
  }

 private:
  static std::string describe(const Feature& feature) {
    if (!feature.integers.empty())
      return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.integers.size()), "integer"));
    if (!feature.bytes.empty())
      return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.bytes.size()), "byte string"));
    return fmt::format("a list of {}", plural(static_cast<int64_t>(feature.floats.size()), "float"));
  }

  static std::vector<std::string> described(const Example& example) {
    std::vector<std::string> names;
    for (const auto& [name, feature] : example) names.push_back(fmt::format("{} ({})", name, describe(feature)));
    return names;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, records_.number(), what));
  }

  /// The next record into example_.
  bool advance() {
    std::span<const std::byte> bytes;
    more_ = records_.next(bytes);
    if (!more_) return false;
    try {
      example_ = parse_example({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    } catch (const Error& error) {
      fail(error.what());
    }
    return true;
  }

  const Feature& find(const Example& example, const WantedColumn& column) const {
    const auto found = example.find(column.name);
    if (found != example.end()) {
      if (!found->second.bytes.empty() && !column.texts) refuse_texts(name_, column.name, describe(found->second));
      return found->second;
    }
    const std::vector<std::string> names = described(example);
    fail(fmt::format("no column '{}' (found: {}); name one of these", column.name,
                     names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
  }

  /// The number of values appended.
  size_t append(const Feature& feature, size_t column, RaggedColumn& out) {
    if (stored_[column].is_text || !feature.bytes.empty()) return append_text(feature, column, out);
    const size_t count = feature.floats.size() + feature.integers.size();
    out.rows.push_back(rows_of_list(name_, columns_[column], count, records_.number()));
    out.row_size = 1;
    if (columns_[column].any_form) out.sizes.push_back(static_cast<uint32_t>(count));
    if (columns_[column].exact) return append_exact(feature, column, out);
    out.values.insert(out.values.end(), feature.floats.begin(), feature.floats.end());
    for (const int64_t value : feature.integers) out.values.push_back(static_cast<float>(value));
    return count;
  }

  size_t append_exact(const Feature& feature, size_t column, RaggedColumn& out) const {
    out.exact.insert(out.exact.end(), feature.floats.begin(), feature.floats.end());
    for (const int64_t value : feature.integers) {
      const auto number = static_cast<double>(value);
      if (std::abs(number) >= WantedColumn::kExactMax) refuse_integer(name_, columns_[column].name, records_.number());
      out.exact.push_back(number);
    }
    return feature.floats.size() + feature.integers.size();
  }

  size_t append_text(const Feature& feature, size_t column, RaggedColumn& out) {
    const int64_t event = records_.number();
    if (!stored_[column].is_text || feature.bytes.size() != 1) {
      codes_[column].refuse(event, fmt::format("is stored as {}; as in the first event, every one needs one {}",
                                               describe(feature), stored_[column].is_text ? "text" : "number"));
    }
    out.rows.push_back(1);
    out.values.push_back(codes_[column].code(feature.bytes.front(), event));
    return 1;
  }

  std::string name_;
  RecordStream records_;
  std::vector<WantedColumn> columns_;
  std::vector<StoredColumn> stored_;
  Example example_;  // of the next event
  bool more_ = false;
};

}  // namespace

TableContents tfrecord_contents(const SourcePtr& source) {
  const TfrecordTable table(source, {});
  return {.format = {},
          .events = table.events(),
          .columns = table.features(),
          .of_texts = table.of_texts(),
          .names = table.names()};
}

int64_t count_events(const SourcePtr& source) {
  return RecordMarks(source).events();
}

std::unique_ptr<TableReader> open_tfrecord_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return std::make_unique<TfrecordTable>(source, columns);
}

}  // namespace linac::data
