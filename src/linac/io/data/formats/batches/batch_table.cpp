#include "linac/io/data/formats/batches/batch_table.h"

#include <fmt/format.h>

#include <numeric>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"

namespace linac::data {
namespace {

class BatchTable : public TableReader {
 public:
  using Next = std::function<BatchInHand()>;
  /// Column i is column places[i] of a batch.
  BatchTable(std::string name, std::vector<WantedColumn> columns, std::vector<StoredColumn> stored,
             std::vector<int> places, int64_t events, Next next)
      : name_(std::move(name)),
        columns_(std::move(columns)),
        stored_(std::move(stored)),
        places_(std::move(places)),
        events_(events),
        next_(std::move(next)) {
    for (const WantedColumn& column : columns_) codes_.emplace_back(name_, column.name);
  }

  int64_t events() const override { return events_; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    const BatchInHand hand = next_();
    if (!hand.batch) return;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto column = hand.batch->column(places_[i]);
      out[i] = stored_[i].is_text ? codes_of(*column, hand.first, codes_[i])
                                  : rows_of(column, name_, columns_[i], hand.first);
    }
  }

 private:
  const std::string name_;
  const std::vector<WantedColumn> columns_;
  const std::vector<StoredColumn> stored_;
  const std::vector<int> places_;
  const int64_t events_;
  const Next next_;
};

}  // namespace

StoredColumn stored_as(const arrow::DataType& type) {
  const bool texts = holds_texts(type);
  const arrow::Type::type leaf = leaf_of(type).id();
  return {.words = describe_type(type),
          .is_number = texts || list_depth(type) == 0,
          .is_text = texts,
          .is_boolean = !texts && holds_booleans(type),
          .axes = texts ? 0 : list_depth(type),
          .is_double = leaf == arrow::Type::DOUBLE,
          .is_float = leaf == arrow::Type::FLOAT || leaf == arrow::Type::HALF_FLOAT};
}

StoredColumn stored_for(const std::string& name, const WantedColumn& wanted, const arrow::DataType& type) {
  StoredColumn stored = stored_as(type);
  if (stored.is_text && !wanted.texts) refuse_texts(name, wanted.name, stored.words);
  if (!stored.is_text && !holds_numbers(type))
    throw data_error(fmt::format("[data] {}: column '{}' is {}, not numbers", name, wanted.name, stored.words));
  return stored;
}

void need_fit(const std::string& name, const WantedColumn& wanted, int lists, std::span<const int64_t> extents,
              const std::string& words) {
  if (wanted.any_form || wanted.as_stored) return;
  const bool fits = lists == 0   ? extents.size() < 2 || rows_fit(wanted, extents.subspan(1))
                    : lists == 1 ? extents.empty() || rows_fit(wanted, extents)
                                 : true;
  if (!fits) refuse_column(name, wanted, words);
  if (lists > 0) return;
  const int64_t values = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  rows_of_list(name, wanted, static_cast<uint64_t>(values), -1);
}

std::unique_ptr<TableReader> open_batch_table(const std::string& name, const std::shared_ptr<arrow::Schema>& schema,
                                              const std::vector<WantedColumn>& columns, const BatchInHand* hand) {
  std::vector<StoredColumn> stored;
  std::vector<int> places;
  for (const WantedColumn& column : columns) {
    places.push_back(schema->GetFieldIndex(column.name));
    if (places.back() < 0) refuse_missing(name, column.name, schema->field_names());
    stored.push_back(stored_for(name, column, *schema->field(places.back())->type()));
    if (stored.back().is_text) refuse_texts(name, column.name, stored.back().words);
  }
  return std::make_unique<BatchTable>(name, columns, std::move(stored), std::move(places), -1,
                                      [hand] { return *hand; });
}

std::unique_ptr<TableReader> table_of(std::unique_ptr<BatchReader> batches, const std::string& name,
                                      std::vector<WantedColumn> columns, std::vector<StoredColumn> stored) {
  std::vector<int> places(columns.size());
  std::iota(places.begin(), places.end(), 0);
  const int64_t events = batches->events();
  return std::make_unique<BatchTable>(
      name, std::move(columns), std::move(stored), std::move(places), events,
      [batches = std::shared_ptr<BatchReader>(std::move(batches)), done = int64_t{0}]() mutable {
        BatchInHand hand{batches->next(), done};
        if (hand.batch) done += hand.batch->num_rows();
        return hand;
      });
}

}  // namespace linac::data
