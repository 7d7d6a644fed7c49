// tf.train.Examples: a feature a column, of the floats, integers or byte strings of the event, rows one after the
// other.

#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/tfrecord_frame.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/batches/column_form.h"
#include "linac/io/data/formats/example.h"

namespace linac::data {
namespace {

constexpr int kGzipLevel = 6;  // TensorFlow's

/// A column of a batch as the values of features.
class FeatureColumn {
 public:
  explicit FeatureColumn(const arrow::Field& field) : flat_(field.name(), field.type(), "TFRecord") {}

  const FlatColumn& flat() const { return flat_; }

  void take(const std::shared_ptr<arrow::Array>& array, int64_t first_event, const std::string& from) {
    flat_.take(array, first_event, from);
    floats_.clear();
    integers_.clear();
    if (flat_.form().kind == LeafKind::kFloats) append_numbers(flat_.values(), floats_);
    if (flat_.form().kind != LeafKind::kIntegers) return;
    append_numbers(flat_.values(), integers_);
    if (flat_.form().leaf->id() != arrow::Type::UINT64) return;
    if (const auto bad = std::ranges::find_if(integers_, [](int64_t value) { return value < 0; });
        bad != integers_.end())
      flat_.refuse(bad - integers_.begin(), "holds an integer of 2^63 or more");
  }

  /// Of event i of those that were taken last.
  void fill(size_t event, Feature& feature) const {
    const int64_t begin = flat_.starts()[event], end = flat_.starts()[event + 1];
    switch (flat_.form().kind) {
      case LeafKind::kFloats:
        return feature.floats.assign(floats_.begin() + begin, floats_.begin() + end);
      case LeafKind::kIntegers:
        feature.kind_if_empty = FeatureKind::kIntegers;
        return feature.integers.assign(integers_.begin() + begin, integers_.begin() + end);
      default:
        feature.kind_if_empty = FeatureKind::kBytes;
        feature.bytes.clear();
        for (int64_t i = begin; i < end; ++i) feature.bytes.emplace_back(flat_.text(i));
    }
  }

 private:
  FlatColumn flat_;
  std::vector<float> floats_;
  std::vector<int64_t> integers_;
};

class TfrecordWriter : public BatchWriter {
 public:
  TfrecordWriter(const std::filesystem::path& path, const std::shared_ptr<arrow::Schema>& schema, bool gzip)
      : BatchWriter(path) {
    for (const auto& field : schema->fields()) columns_.emplace_back(*field);
    auto file = arrow::io::FileOutputStream::Open(part().string());
    need(file.status());
    out_ = std::move(file).ValueUnsafe();
    if (!gzip) return;
    auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP, kGzipLevel);
    need(codec.status());
    codec_ = std::move(codec).ValueUnsafe();
    auto packed = arrow::io::CompressedOutputStream::Make(codec_.get(), out_, arrow::system_memory_pool());
    need(packed.status());
    out_ = std::move(packed).ValueUnsafe();
  }

  ~TfrecordWriter() override {
    if (!out_->closed()) static_cast<void>(out_->Close());
  }

  RowSizes row_sizes() const override {
    RowSizes sizes;
    for (const FeatureColumn& column : columns_)
      if (const ColumnForm& form = column.flat().form(); form.is_list && !form.extents.empty())
        if (column.flat().has_extents()) sizes[column.flat().name()] = form.extents;
    return sizes;
  }

 protected:
  void write(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from) override {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].take(batch->column(static_cast<int>(i)), events(), from);
    for (size_t event = 0; event < static_cast<size_t>(batch->num_rows()); ++event) {
      for (const FeatureColumn& column : columns_) column.fill(event, example_[column.flat().name()]);
      const std::string record = tfrecord_frame(encode_example(example_));
      need(out_->Write(record.data(), static_cast<int64_t>(record.size())));
    }
  }

  void finish() override { need(out_->Close()); }

 private:
  std::vector<FeatureColumn> columns_;
  std::unique_ptr<arrow::util::Codec> codec_;  // goes behind out_
  std::shared_ptr<arrow::io::OutputStream> out_;
  Example example_;
};

}  // namespace

std::unique_ptr<BatchWriter> open_tfrecord_writer(const std::filesystem::path& path,
                                                  const std::shared_ptr<arrow::Schema>& schema) {
  return std::make_unique<TfrecordWriter>(path, schema, false);
}

std::unique_ptr<BatchWriter> open_tfrecord_gzip_writer(const std::filesystem::path& path,
                                                       const std::shared_ptr<arrow::Schema>& schema) {
  return std::make_unique<TfrecordWriter>(path, schema, true);
}

}  // namespace linac::data
