// Records that are tf.train.Examples: the first one says which features there are, and of what kind.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/example.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/record_marks.h"
#include "linac/io/data/formats/record_stream.h"

namespace linac::data {
namespace {

constexpr size_t kBlockValues = size_t{1} << 20;
constexpr size_t kBlockEventsMax = 4096;

using Kind = FeatureKind;

std::string words_of(const Feature& feature) {
  const char* const word = feature.kind() == Kind::kIntegers ? "integer"
                           : feature.kind() == Kind::kBytes  ? "byte string"
                                                             : "float";
  return plural(static_cast<int64_t>(feature.size()), word);
}

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
      : name_(source->url()),
        records_(marks ? marks->open(source, range.first, range.count) : RecordStream(unpacked_stream(source), name_)),
        all_(columns.names.empty()),
        left_(range.count < 0 ? INT64_MAX : range.count) {
    if (marks) {
      record_ = std::as_bytes(std::span(marks->first_record()));
      more_ = marks->events() > 0;
    } else {
      advance();
    }
    if (!more_) throw data_error(fmt::format("[tfrecord] {}: no record in it; write the file again", name_));
    describe(columns);
    if (left_ == 0) return;
    if (marks) advance();
    while (records_.number() < range.first)
      if (!advance()) fail(fmt::format("the file ends; wanted is event {}", range.first));
  }

  int64_t events() const override { return -1; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    int64_t events = 0;
    for (size_t values = 0;
         more_ && left_ > 0 && events < static_cast<int64_t>(kBlockEventsMax) && values < kBlockValues;
         ++events, --left_) {
      if (!parsed_) parse();
      for (Column& column : columns_) values += append(column);
      if (all_ && example_.size() != columns_.size()) refuse_new();
      advance();
    }
    if (events == 0) return nullptr;
    arrow::ArrayVector arrays;
    for (Column& column : columns_) arrays.push_back(column.take());
    return arrow::RecordBatch::Make(schema_, events, arrays);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[tfrecord] {}: record {}: {}", name_, records_.number(), what));
  }

  bool advance() {
    more_ = records_.next(record_);
    parsed_ = false;
    return more_;
  }

  void parse() {
    try {
      example_ = parse_example({reinterpret_cast<const uint8_t*>(record_.data()), record_.size()});
    } catch (const Error& error) {
      fail(error.what());
    }
    parsed_ = true;
  }

  void describe(const BatchColumns& wanted) {
    parse();
    std::vector<std::string> found;
    for (const auto& [name, feature] : example_) found.push_back(name);
    arrow::FieldVector fields;
    for (const std::string& name : all_ ? found : wanted.names) {
      if (!example_.contains(name)) refuse_missing(name_, name, found);
      const Feature& feature = example_.at(name);
      const bool list = feature.size() != 1 || std::ranges::find(wanted.lists, name) != wanted.lists.end();
      columns_.push_back({.name = name, .kind = feature.kind(), .is_list = list});
      fields.push_back(arrow::field(name, columns_.back().type()));
    }
    if (fields.empty()) fail("no feature in it");
    schema_ = arrow::schema(fields);
  }

  [[noreturn]] void refuse_new() const {
    for (const auto& [name, feature] : example_)
      if (std::ranges::find(columns_, name, &Column::name) == columns_.end())
        fail(fmt::format("column '{}' is not in the first record; name the columns that are converted (--columns)",
                         name));
    fail("the same feature twice");
  }

  size_t append(Column& column) {
    const auto found = example_.find(column.name);
    if (found == example_.end())
      fail(fmt::format("no column '{}', which the first record has; name other columns (--columns)", column.name));
    Feature& feature = found->second;
    const size_t size = feature.size();
    if (size > 0 && feature.kind() != column.kind)
      fail(fmt::format("column '{}' holds {}, and another kind of values in the first record", column.name,
                       words_of(feature)));
    if (!column.is_list && size != 1)
      fail(fmt::format("column '{}' holds {}, and one value in the first record; say --list {}", column.name,
                       words_of(feature), column.name));
    column.lengths.push_back(static_cast<uint32_t>(size));
    column.floats.insert(column.floats.end(), feature.floats.begin(), feature.floats.end());
    column.integers.insert(column.integers.end(), feature.integers.begin(), feature.integers.end());
    std::ranges::move(feature.bytes, std::back_inserter(column.bytes));
    return size;
  }

  std::string name_;
  RecordStream records_;
  bool all_;
  std::span<const std::byte> record_;
  Example example_;
  std::vector<Column> columns_;
  bool more_ = false, parsed_ = false;
  int64_t left_;
};

}  // namespace

std::unique_ptr<BatchReader> open_tfrecord_batches(const SourcePtr& source, const BatchColumns& columns,
                                                   const EventRange& range, const RecordMarks* marks) {
  return std::make_unique<TfrecordBatches>(source, columns, range, marks);
}

}  // namespace linac::data
