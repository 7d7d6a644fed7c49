// Records that are tf.train.Examples: a column is a list of floats, integers or byte strings, its rows one after the
// other. For training each event is as it is; for a conversion the first record says which columns there are, and of
// what kind.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_marks.h"
#include "linac/io/data/formats/record_stream.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {
namespace {

using Kind = FeatureKind;

constexpr size_t kBlockEventsMax = 4096;
constexpr size_t kTrainingValues = size_t{4} << 20, kBatchValues = size_t{1} << 20;

/// "5 floats".
std::string words_of(const Feature& feature) {
  const char* const word = feature.kind() == Kind::kIntegers ? "integer"
                           : feature.kind() == Kind::kBytes  ? "byte string"
                                                             : "float";
  return plural(static_cast<int64_t>(feature.size()), word);
}

/// The records one after the other, parsed when they are looked at.
class Examples {
 public:
  Examples(RecordStream records, std::string name) : name_(std::move(name)), records_(std::move(records)) {}

  const std::string& name() const { return name_; }
  /// Of the record that is looked at.
  int64_t number() const { return records_.number(); }
  /// To the next record; false at the end.
  bool advance() {
    std::span<const std::byte> record;
    if (!records_.next(record)) return false;
    look_at(record);
    return true;
  }
  /// To a record that is known already.
  void look_at(std::span<const std::byte> record) {
    record_ = record;
    parsed_ = false;
  }
  Example& example() {
    if (parsed_) return example_;
    try {
      example_ = parse_example({reinterpret_cast<const uint8_t*>(record_.data()), record_.size()});
    } catch (const Error& error) {
      fail(error.what());
    }
    parsed_ = true;
    return example_;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& [name, feature] : example()) names.push_back(name);
    return names;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, number(), what));
  }
  [[noreturn]] void fail_empty() const {
    throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name_));
  }

 private:
  std::string name_;
  RecordStream records_;
  std::span<const std::byte> record_;
  Example example_;
  bool parsed_ = false;
};

class TfrecordTable : public TableReader {
 public:
  TfrecordTable(const SourcePtr& source, std::vector<WantedColumn> columns)
      : name_(source->url()),
        records_(RecordStream(unpacked_stream(source), name_), name_),
        columns_(std::move(columns)),
        more_(records_.advance()) {
    if (!more_) records_.fail_empty();
    for (const WantedColumn& column : columns_) {
      codes_.emplace_back(name_, column.name);
      const Feature& feature = find(column);
      stored_.push_back({.words = describe(feature),
                         .is_text = !feature.bytes.empty(),
                         .axes = feature.size() == 1 ? 0 : 1,
                         .is_float = feature.kind() == Kind::kFloats});
    }
  }

  /// Of the first record, before next() is called.
  TableContents contents() {
    TableContents contents{
        .format = {}, .events = -1, .columns = described(), .of_texts = {}, .names = records_.names()};
    for (const auto& [name, feature] : records_.example())
      if (feature.bytes.size() == 1) contents.of_texts.push_back(name);
    return contents;
  }
  int64_t events() const override { return -1; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    size_t values = 0;
    for (size_t events = 0; more_ && events < kBlockEventsMax && values < kTrainingValues; ++events) {
      for (size_t i = 0; i < columns_.size(); ++i) values += append(find(columns_[i]), i, out[i]);
      more_ = records_.advance();
    }
  }

 private:
  static std::string describe(const Feature& feature) {
    return "a list of " + (feature.size() == 0 ? plural(0, "float") : words_of(feature));
  }

  std::vector<std::string> described() {
    std::vector<std::string> names;
    for (const auto& [name, feature] : records_.example())
      names.push_back(fmt::format("{} ({})", name, describe(feature)));
    return names;
  }

  const Feature& find(const WantedColumn& column) {
    const Example& example = records_.example();
    const auto found = example.find(column.name);
    if (found != example.end()) {
      if (!found->second.bytes.empty() && !column.texts) refuse_texts(name_, column.name, describe(found->second));
      return found->second;
    }
    const std::vector<std::string> names = described();
    records_.fail(fmt::format("no column '{}' (found: {}); name one of these", column.name,
                              names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
  }

  /// The number of values appended.
  size_t append(const Feature& feature, size_t column, RaggedColumn& out) {
    if (stored_[column].is_text || !feature.bytes.empty()) return append_text(feature, column, out);
    const size_t count = feature.size();
    out.rows.push_back(rows_of_list(name_, columns_[column], count, records_.number()));
    out.row_size = 1;
    if (columns_[column].any_form) {
      out.sizes.push_back(static_cast<uint32_t>(count));
      out.rests.insert(out.rests.end(), feature.floats.size(), 0);
      for (const int64_t value : feature.integers) out.rests.push_back(rest_beyond_float32(value));
    }
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
    return feature.size();
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
  Examples records_;
  std::vector<WantedColumn> columns_;
  std::vector<StoredColumn> stored_;
  bool more_;
};

struct Column {
  std::string name;
  Kind kind = Kind::kFloats;
  bool is_list = false;
  // of the block
  std::vector<uint32_t> lengths = {};
  std::vector<float> floats = {};
  std::vector<int64_t> integers = {};
  std::vector<std::string> bytes = {};

  std::shared_ptr<arrow::DataType> type() const {
    auto value = kind == Kind::kIntegers ? arrow::int64() : kind == Kind::kBytes ? arrow::binary() : arrow::float32();
    return is_list ? arrow::list(value) : value;
  }

  std::shared_ptr<arrow::Array> take() {
    auto values = kind == Kind::kBytes      ? texts_of(bytes, false)
                  : kind == Kind::kIntegers ? numbers_of(arrow::int64(), std::as_bytes(std::span(integers)))
                                            : numbers_of(arrow::float32(), std::as_bytes(std::span(floats)));
    if (is_list) values = lists_of(lengths, values);
    lengths.clear();
    floats.clear();
    integers.clear();
    bytes.clear();
    return values;
  }
};

class TfrecordBatches : public BatchReader {
 public:
  TfrecordBatches(const SourcePtr& source, const BatchColumns& columns, const EventRange& range,
                  const RecordMarks* marks)
      : records_(marks ? marks->open(source, range.first, range.count)
                       : RecordStream(unpacked_stream(source), source->url()),
                 source->url()),
        all_(columns.names.empty()),
        without_(columns.without.begin(), columns.without.end()),
        left_(range.count < 0 ? INT64_MAX : range.count) {
    if (marks) {
      records_.look_at(std::as_bytes(std::span(marks->first_record())));
      more_ = marks->events() > 0;
    } else {
      advance();
    }
    if (!more_) records_.fail_empty();
    describe(columns);
    if (left_ == 0) return;
    if (marks) advance();
    while (records_.number() < range.first)
      if (!advance()) records_.fail(fmt::format("the file ends; wanted is event {}", range.first));
  }

  int64_t events() const override { return -1; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    int64_t events = 0;
    for (size_t values = 0;
         more_ && left_ > 0 && events < static_cast<int64_t>(kBlockEventsMax) && values < kBatchValues;
         ++events, --left_) {
      for (Column& column : columns_) values += append(column);
      if (all_ && records_.example().size() > columns_.size()) need_known();
      advance();
    }
    if (events == 0) return nullptr;
    arrow::ArrayVector arrays;
    for (Column& column : columns_) arrays.push_back(column.take());
    return arrow::RecordBatch::Make(schema_, events, arrays);
  }

 private:
  bool advance() { return more_ = records_.advance(); }

  void describe(const BatchColumns& wanted) {
    const Example& first = records_.example();
    const std::vector<std::string> found = records_.names();
    arrow::FieldVector fields;
    for (const std::string& name : all_ ? found : wanted.names) {
      if (!first.contains(name)) refuse_missing(records_.name(), name, found);
      if (all_ && without_.contains(name)) continue;
      const Feature& feature = first.at(name);
      const bool list = feature.size() != 1 || std::ranges::find(wanted.lists, name) != wanted.lists.end();
      columns_.push_back({.name = name, .kind = feature.kind(), .is_list = list});
      fields.push_back(arrow::field(name, columns_.back().type()));
    }
    if (fields.empty()) records_.fail("no feature in it");
    schema_ = arrow::schema(fields);
  }

  void need_known() {
    for (const auto& [name, feature] : records_.example())
      if (std::ranges::find(columns_, name, &Column::name) == columns_.end() && !without_.contains(name))
        records_.fail(fmt::format(
            "column '{}' is not in the first record; name the columns that are converted (--columns)", name));
  }

  size_t append(Column& column) {
    Example& example = records_.example();
    const auto found = example.find(column.name);
    if (found == example.end())
      records_.fail(
          fmt::format("no column '{}', which the first record has; name other columns (--columns)", column.name));
    Feature& feature = found->second;
    const size_t size = feature.size();
    if (size > 0 && feature.kind() != column.kind)
      records_.fail(fmt::format("column '{}' holds {}, and another kind of values in the first record", column.name,
                                words_of(feature)));
    if (!column.is_list && size != 1)
      records_.fail(fmt::format("column '{}' holds {}, and one value in the first record; say --list {}", column.name,
                                words_of(feature), column.name));
    column.lengths.push_back(static_cast<uint32_t>(size));
    column.floats.insert(column.floats.end(), feature.floats.begin(), feature.floats.end());
    column.integers.insert(column.integers.end(), feature.integers.begin(), feature.integers.end());
    std::ranges::move(feature.bytes, std::back_inserter(column.bytes));
    return size;
  }

  Examples records_;
  bool all_;
  std::set<std::string> without_;
  std::vector<Column> columns_;
  bool more_ = false;
  int64_t left_;
};

}  // namespace

TableContents tfrecord_contents(const SourcePtr& source) {
  return TfrecordTable(source, {}).contents();
}

int64_t count_events(const SourcePtr& source) {
  return RecordMarks(source).events();
}

std::unique_ptr<TableReader> open_tfrecord_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return std::make_unique<TfrecordTable>(source, columns);
}

std::unique_ptr<BatchReader> open_tfrecord_batches(const SourcePtr& source, const BatchColumns& columns,
                                                   const EventRange& range, const RecordMarks* marks) {
  return std::make_unique<TfrecordBatches>(source, columns, range, marks);
}

}  // namespace linac::data
