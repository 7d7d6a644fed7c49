#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/event_arrays_file.h"
#include "linac/io/data/formats/parquet_file.h"

namespace linac::data {
namespace {

/// A row an event. Numbers are plain columns, arrays lists of fixed size.
class ParquetArrays : public EventArraysFile {
 public:
  ParquetArrays(std::filesystem::path path, const std::vector<EventArrayShape>& arrays, int64_t events)
      : path_(std::move(path)), events_(events) {
    for (const EventArrayShape& array : arrays) {
      Column& column = columns_.emplace_back();
      column.name = array.name;
      if (array.shape != std::vector<int64_t>{1}) column.shape = array.shape;
      for (const int64_t extent : array.shape) column.event_size *= extent;
    }
  }

  void set_attribute(const std::string& name, const std::string& text) override { metadata_->Append(name, text); }

  void set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts) override {
    metadata_->Append(fmt::format("{}/{}", columns_.at(i).name, name), nlohmann::json(texts).dump());
  }

  std::string name(size_t i) const override { return columns_.at(i).name; }

  void number_events(std::span<const int64_t> events) override {
    for (const Column& column : columns_) {
      if (column.name != kFile && column.name != kRow) continue;
      throw user_error(fmt::format(
          "[parquet] {}: an output is called '{}', as the column that says where an event comes from; write "
          "an HDF5 file, NAME.h5",
          path_.string(), column.name));
    }
    numbered_.assign(events.begin(), events.end());
  }

  void write(size_t i, int64_t first, std::span<const float> values) override {
    LINAC_CHECK(first == written_);  // in the order of the events, all arrays of some before the next
    columns_.at(i).values.assign(values.begin(), values.end());
    if (std::ranges::any_of(columns_, [](const Column& column) { return column.values.empty(); })) return;
    append();
  }

  void close() override {
    LINAC_CHECK(written_ == events_);
    if (!writer_) open();
    writer_->close();
  }

 private:
  static constexpr const char* kFile = "file";
  static constexpr const char* kRow = "row";

  struct Column {
    std::string name;
    std::vector<int64_t> shape = {};  // of an event; empty: a number
    int64_t event_size = 1;
    std::vector<float> values = {};  // of events that are not written yet
  };

  void open() {
    arrow::FieldVector fields;
    if (!numbered_.empty()) fields = {arrow::field(kFile, arrow::int32()), arrow::field(kRow, arrow::int64())};
    for (const Column& column : columns_) fields.push_back(arrow::field(column.name, type_of(column)));
    schema_ = arrow::schema(fields, metadata_);
    writer_ = open_parquet_writer(path_, schema_);
  }

  static std::shared_ptr<arrow::DataType> type_of(const Column& column) {
    std::shared_ptr<arrow::DataType> type = arrow::float32();
    for (auto axis = column.shape.rbegin(); axis != column.shape.rend(); ++axis)
      type = arrow::fixed_size_list(type, static_cast<int32_t>(*axis));
    return type;
  }

  static std::shared_ptr<arrow::Array> array_of(Column& column) {
    const auto count = static_cast<int64_t>(column.values.size());
    std::shared_ptr<arrow::Array> array =
        std::make_shared<arrow::FloatArray>(count, arrow::Buffer::FromVector(std::exchange(column.values, {})));
    for (auto axis = column.shape.rbegin(); axis != column.shape.rend(); ++axis)
      array = arrow::FixedSizeListArray::FromArrays(array, static_cast<int32_t>(*axis)).ValueOrDie();
    return array;
  }

  /// The events [written_, written_ + count) by file and row.
  arrow::ArrayVector numbers(int64_t count) {
    std::vector<int32_t> files;
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i, ++row_) {
      for (; row_ == numbered_[file_]; row_ = 0) ++file_;
      files.push_back(static_cast<int32_t>(file_));
      rows.push_back(row_);
    }
    return {std::make_shared<arrow::Int32Array>(count, arrow::Buffer::FromVector(std::move(files))),
            std::make_shared<arrow::Int64Array>(count, arrow::Buffer::FromVector(std::move(rows)))};
  }

  void append() {
    if (!writer_) open();
    const int64_t count = static_cast<int64_t>(columns_.front().values.size()) / columns_.front().event_size;
    arrow::ArrayVector arrays = numbered_.empty() ? arrow::ArrayVector() : numbers(count);
    for (Column& column : columns_) arrays.push_back(array_of(column));
    writer_->append(arrow::RecordBatch::Make(schema_, count, arrays), fmt::format("[parquet] {}", path_.string()));
    written_ += count;
  }

  const std::filesystem::path path_;
  const int64_t events_;
  std::vector<Column> columns_;
  std::vector<int64_t> numbered_;  // events of each file
  size_t file_ = 0;                // of the next event, and its row
  int64_t row_ = 0, written_ = 0;
  const std::shared_ptr<arrow::KeyValueMetadata> metadata_ = std::make_shared<arrow::KeyValueMetadata>();
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<BatchWriter> writer_;
};

}  // namespace

std::vector<std::string> parquet_array_texts(const std::filesystem::path& path, const std::string& array,
                                             const std::string& attribute) {
  const ParquetFile file(storage::Source::open(path.string()), {});
  const auto& notes = file.metadata().key_value_metadata();
  const auto found = notes ? notes->Get(fmt::format("{}/{}", array, attribute)) : arrow::Status::KeyError("none");
  return found.ok() ? texts_in(*found) : std::vector<std::string>{};
}

std::unique_ptr<EventArraysFile> open_parquet_arrays(const std::filesystem::path& path,
                                                     const std::vector<EventArrayShape>& arrays, int64_t events) {
  return std::make_unique<ParquetArrays>(path, arrays, events);
}

}  // namespace linac::data
