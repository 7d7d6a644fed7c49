#include "linac/io/data/formats/zipped_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"

namespace linac::data {
namespace {

class ZippedRows : public TableReader {
 public:
  ZippedRows(std::unique_ptr<TableReader> reader, std::string name, const std::vector<WantedColumn>& columns)
      : reader_(std::move(reader)), name_(std::move(name)), columns_(columns) {
    for (const WantedColumn& column : columns_) {
      firsts_.push_back(firsts_.empty() ? 0 : firsts_.back() + parts_of(firsts_.size() - 1));
      stored_.push_back(reader_->columns()[firsts_.back()]);
      if (!column.zipped.empty())
        stored_.back() = {
            .words = fmt::format("lists of {}", plural(static_cast<int64_t>(column.zipped.size()), "column")),
            .axes = 2};
    }
  }

  int64_t events() const override { return reader_->events(); }
  const std::vector<StoredColumn>& columns() const override { return stored_; }
  const std::vector<StoredText>& texts(size_t i) const override { return reader_->texts(firsts_.at(i)); }

  void next(std::vector<RaggedColumn>& out) override {
    reader_->next(block_);
    out.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].zipped.empty())
        std::swap(out[i], block_[firsts_[i]]);
      else
        zip(i, out[i]);
    }
    first_ += static_cast<int64_t>(out.front().rows.size());
  }

 private:
  size_t parts_of(size_t i) const { return std::max<size_t>(1, columns_[i].zipped.size()); }

  void zip(size_t i, RaggedColumn& out) const {
    const size_t parts = parts_of(i);
    const RaggedColumn& leader = block_[firsts_[i]];
    out = {.values = std::vector<float>(leader.values.size() * parts), .rows = leader.rows};
    for (size_t part = 0; part < parts; ++part) {
      const RaggedColumn& column = block_[firsts_[i] + part];
      if (column.rows != leader.rows) refuse(i, part);
      LINAC_CHECK(column.values.size() == leader.values.size());
      for (size_t row = 0; row < column.values.size(); ++row) out.values[row * parts + part] = column.values[row];
    }
  }

  [[noreturn]] void refuse(size_t i, size_t part) const {
    const std::vector<uint32_t>&one = block_[firsts_[i]].rows, &other = block_[firsts_[i] + part].rows;
    const auto at = std::ranges::mismatch(one, other).in1 - one.begin();
    throw data_error(
        fmt::format("[data] {}: event {}: column '{}' holds {} and '{}' {}; columns that make rows have as many values "
                    "each in an event: give the other an input of its own",
                    name_, first_ + at, columns_[i].zipped.front(), list_of(one[static_cast<size_t>(at)]),
                    columns_[i].zipped[part], list_of(other[static_cast<size_t>(at)])));
  }

  const std::unique_ptr<TableReader> reader_;
  const std::string name_;
  const std::vector<WantedColumn> columns_;
  std::vector<StoredColumn> stored_;
  std::vector<size_t> firsts_;  // where each column begins among the reader's
  std::vector<RaggedColumn> block_;
  int64_t first_ = 0;  // the event that the next block begins with
};

}  // namespace

std::vector<WantedColumn> unzipped(const std::vector<WantedColumn>& columns) {
  std::vector<WantedColumn> asked;
  for (const WantedColumn& column : columns) {
    if (column.zipped.empty()) asked.push_back(column);
    for (const std::string& name : column.zipped) asked.push_back({.name = name, .shape = {}, .joined = true});
  }
  return asked;
}

std::unique_ptr<TableReader> zipped_rows(std::unique_ptr<TableReader> reader, std::string name,
                                         const std::vector<WantedColumn>& columns) {
  if (std::ranges::all_of(columns, [](const auto& one) { return one.zipped.empty(); })) return reader;
  return std::make_unique<ZippedRows>(std::move(reader), std::move(name), columns);
}

}  // namespace linac::data
