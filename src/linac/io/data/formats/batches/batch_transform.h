#pragma once
// A Transform carried out on record batches. Columns that it does not touch keep type and values, lists that it sorts
// and cuts those of their rows; computed columns are float64, conditions boolean. For the sources of this module only:
// needs Arrow's headers. Used by one thread.

#include <arrow/api.h>

#include <memory>
#include <string>
#include <vector>

#include "linac/io/data/formats/batches/batch_table.h"
#include "linac/io/data/transform/blocks.h"

namespace linac::data {

/// The file's columns that are read where these are written (empty: all of the file, and all computed ones). Empty
/// names: all of the file.
std::vector<std::string> columns_to_read(const Transform& transform, const std::vector<std::string>& written);

class BatchTransform {
 public:
  /// `name`: what messages call the file; `schema`: of the batches that come, the first with the file's event `first`.
  /// `written`: the columns that are handed out, in this order; empty: all that come, and after them those that are
  /// computed. `rounded`: those of them whose float64 becomes float32. `parts`: of transform.split, in the order of the
  /// outputs; none: an output for each fold that it deals, or one of all events that pass. Errors as of
  /// TransformedTable; data error for one of `rounded` that is not there, or not float64.
  BatchTransform(const std::string& name, const std::shared_ptr<arrow::Schema>& schema, const Transform& transform,
                 const std::vector<std::string>& written, const std::vector<std::string>& rounded,
                 std::vector<Part> parts, int64_t first);

  /// Of what is handed out.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// One batch an output, which may be without events.
  std::vector<std::shared_ptr<arrow::RecordBatch>> run(const std::shared_ptr<arrow::RecordBatch>& batch);

 private:
  struct Column {
    std::string name;
    int place = -1;            // in the batches that come; -1: computed
    ColumnSource source = {};  // of a computed one, and of a list of a rule
    bool rearranged = false;
    std::shared_ptr<arrow::DataType> rounded = {};  // becomes this type; null: stays
  };
  void round(const std::vector<std::string>& names);
  std::shared_ptr<arrow::Array> column_of(const Column& column, const arrow::RecordBatch& batch) const;

  std::string name_;
  Transform transform_;
  std::vector<Part> parts_;
  BatchInHand hand_;
  std::unique_ptr<TransformedBlocks> blocks_;  // null: nothing is transformed
  std::vector<Column> columns_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace linac::data
