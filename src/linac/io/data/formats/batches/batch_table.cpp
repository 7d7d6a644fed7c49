#include "linac/io/data/formats/batches/batch_table.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/batches/batch_reader.h"

namespace linac::data {
namespace {

class BatchTable : public TableReader {
 public:
  BatchTable(std::string name, const std::shared_ptr<arrow::Schema>& schema, std::vector<WantedColumn> columns,
             const BatchInHand* hand)
      : name_(std::move(name)), columns_(std::move(columns)), hand_(hand) {
    for (const WantedColumn& column : columns_) {
      codes_.emplace_back(name_, column.name);
      const int place = schema->GetFieldIndex(column.name);
      if (place < 0) refuse_missing(name_, column.name, schema->field_names());
      const arrow::DataType& type = *schema->field(place)->type();
      const std::string words = describe_type(type);
      if (holds_texts(type)) refuse_texts(name_, column.name, words);
      if (!holds_numbers(type))
        throw data_error(fmt::format("[data] {}: column '{}' is {}, not numbers", name_, column.name, words));
      places_.push_back(place);
      stored_.push_back({.words = words,
                         .is_number = list_depth(type) == 0,
                         .is_boolean = holds_booleans(type),
                         .axes = list_depth(type)});
    }
  }

  int64_t events() const override { return -1; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    if (!hand_->batch) return;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = rows_of(hand_->batch->column(places_[i]), name_, columns_[i], hand_->first);
  }

 private:
  std::string name_;
  std::vector<WantedColumn> columns_;
  const BatchInHand* hand_;
  std::vector<int> places_;
  std::vector<StoredColumn> stored_;
};

}  // namespace

std::unique_ptr<TableReader> open_batch_table(const std::string& name, const std::shared_ptr<arrow::Schema>& schema,
                                              const std::vector<WantedColumn>& columns, const BatchInHand* hand) {
  return std::make_unique<BatchTable>(name, schema, columns, hand);
}

}  // namespace linac::data
