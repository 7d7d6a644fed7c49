// Arrays [events, ...] of any number type, through EventArrays.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/error.h"
#include "linac/data/event_arrays.h"
#include "linac/data/table_reader.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockValues = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 4096;

std::vector<std::string> names_of(const std::vector<WantedColumn>& columns) {
  std::vector<std::string> names;
  for (const WantedColumn& column : columns) names.push_back(column.name);
  return names;
}

class Hdf5Table : public TableReader {
 public:
  Hdf5Table(const std::filesystem::path& path, const std::string& name, const std::vector<WantedColumn>& columns)
      : arrays_(path, names_of(columns), "name one of these") {
    int64_t event_values = 1;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::vector<int64_t> shape = arrays_.shape(i);
      std::string words = fmt::format("[{}]", fmt::join(shape, ", "));
      words = shape.empty() ? "one number" : std::move(words);
      const int64_t values = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      if (shape.size() >= 2 && !rows_fit(columns[i], std::span(shape).subspan(1)))
        refuse_column(name, columns[i], words);
      if (values == 0) refuse_column(name, columns[i], words);
      rows_.push_back(rows_of_list(name, columns[i], static_cast<uint64_t>(values), -1));
      stored_.push_back({words, shape.empty()});
      event_values += values;
    }
    block_events_ = std::clamp<int64_t>(kBlockValues / event_values, 1, kBlockEventsMax);
  }

  int64_t events() const override { return arrays_.events(); }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    const int64_t count = std::min(block_events_, events() - next_);
    out.assign(stored_.size(), {});
    if (count == 0) return;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].values = arrays_.read(i, next_, count);
      out[i].rows.assign(static_cast<size_t>(count), rows_[i]);
    }
    next_ += count;
  }

 private:
  EventArrays arrays_;
  std::vector<StoredColumn> stored_;
  std::vector<uint32_t> rows_;
  int64_t block_events_ = 1, next_ = 0;
};

}  // namespace

TableContents hdf5_contents(const std::filesystem::path& path) {
  const DescribedArrays arrays = described_arrays(path);
  return {.format = {}, .events = arrays.events, .columns = arrays.words};
}

std::unique_ptr<TableReader> open_hdf5_table(const std::filesystem::path& path, const std::string& name,
                                             const std::vector<WantedColumn>& columns) {
  return std::make_unique<Hdf5Table>(path, name, columns);
}

}  // namespace linac::data
