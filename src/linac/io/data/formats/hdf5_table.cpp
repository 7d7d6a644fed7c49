// Arrays [events, ...] of any number type, through EventArrays, lists of any length, and lists of texts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/hdf5_lists.h"
#include "linac/io/data/formats/hdf5_texts.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockValues = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 4096;
constexpr int64_t kFirstEventsOfLists = 64;  // which tell how long lists are

bool takes_any(const WantedColumn& column) {
  return column.as_stored || column.any_form;
}

bool is_rounded(double value) {
  return std::abs(value) >= WantedColumn::kExactMax;
}

class Hdf5Table : public TableReader {
 public:
  Hdf5Table(const std::filesystem::path& path, const std::string& name, const std::vector<WantedColumn>& columns)
      : name_(name), columns_(columns) {
    const std::vector<std::string> of_texts = text_names(path), of_lists = list_names(path);
    std::vector<std::string> of_numbers;
    for (const WantedColumn& column : columns) {
      codes_.emplace_back(name, column.name);
      texts_.emplace_back();
      lists_.emplace_back();
      if (std::ranges::find(of_lists, column.name) != of_lists.end()) {
        lists_.back() = std::make_unique<EventLists>(path, name, column.name);
        need_events(column.name, lists_.back()->events());
        continue;
      }
      if (std::find(of_texts.begin(), of_texts.end(), column.name) == of_texts.end()) {
        of_numbers.push_back(column.name);
        continue;
      }
      if (!column.texts) refuse_texts(name, column.name, "a list of texts");
      texts_.back() = std::make_unique<EventTexts>(path, column.name);
      need_events(column.name, texts_.back()->events());
    }
    if (!of_numbers.empty()) {
      arrays_ = std::make_unique<EventArrays>(path, of_numbers, "name one of these");
      need_events(of_numbers.front(), arrays_->events());
    }
    int64_t number = 0;
    for (size_t i = 0; i < columns.size(); ++i)
      event_values_ += lists_[i] ? add_lists(i) : texts_[i] ? add_text() : add(columns[i], number++);
    block_events_ = std::clamp<int64_t>(kBlockValues / event_values_, 1, kBlockEventsMax);
    if (std::ranges::any_of(lists_, [](const auto& lists) { return lists != nullptr; }))
      block_events_ = std::min(block_events_, kFirstEventsOfLists);
  }

  int64_t events() const override { return events_; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    const int64_t count = std::min(block_events_, events() - next_);
    out.assign(stored_.size(), {});
    if (count == 0) return;
    size_t number = 0;
    int64_t in_lists = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      if (lists_[i]) {
        in_lists += read_lists(i, count, out[i]);
        continue;
      }
      if (texts_[i])
        out[i].values = codes(i, count);
      else if (columns_[i].exact)
        out[i].exact = exact(i, number++, count);
      else
        out[i].values = arrays_->read(number++, next_, count);
      out[i].row_size = row_sizes_[i];
      out[i].rows.assign(static_cast<size_t>(count), rows_[i]);
      if (columns_[i].any_form) out[i].sizes.assign(static_cast<size_t>(count), rows_[i] * row_sizes_[i]);
    }
    next_ += count;
    if (in_lists > 0)
      block_events_ = std::clamp<int64_t>(kBlockValues / (event_values_ + in_lists / count), 1, kBlockEventsMax);
  }

 private:
  void need_events(const std::string& column, int64_t events) {
    if (events_ < 0) {
      events_ = events;
      first_ = column;
    }
    if (events == events_) return;
    throw data_error(
        fmt::format("[hdf5] {}: '{}' holds {} events but '{}' holds {}", name_, column, events, first_, events_));
  }

  int64_t add_text() {
    stored_.push_back({.words = "one text", .is_number = true, .is_text = true});
    rows_.push_back(1);
    row_sizes_.push_back(1);
    return 1;
  }

  int64_t add_lists(size_t i) {
    const std::vector<int64_t>& extents = lists_[i]->row_extents();
    const std::string words =
        extents.empty() ? "lists of numbers" : fmt::format("lists of rows [{}]", fmt::join(extents, ", "));
    if (lists_[i]->row_values() == 0) refuse_column(name_, columns_[i], words);
    if (!extents.empty() && !takes_any(columns_[i]) && !rows_fit(columns_[i], extents))
      refuse_column(name_, columns_[i], words);
    const bool plain = extents.empty() && !takes_any(columns_[i]);
    row_sizes_.push_back(static_cast<uint32_t>(plain ? columns_[i].row_size() : lists_[i]->row_values()));
    rows_.push_back(0);
    stored_.push_back(
        {.words = words, .is_boolean = lists_[i]->holds_booleans(), .axes = 1 + static_cast<int>(extents.size())});
    return 1;
  }

  // Returns how many values came.
  int64_t read_lists(size_t i, int64_t count, RaggedColumn& out) const {
    const WantedColumn& column = columns_[i];
    if (column.exact)
      out.exact = lists_[i]->read<double>(next_, count, out.rows);
    else
      out.values = lists_[i]->read<float>(next_, count, out.rows);
    out.row_size = row_sizes_[i];
    const auto row_values = static_cast<uint32_t>(lists_[i]->row_values());
    int64_t event = next_;
    for (uint32_t& rows : out.rows) {
      if (column.any_form) out.sizes.push_back(rows * row_values);
      if (!takes_any(column) && row_values == 1) rows = rows_of_list(name_, column, rows, event);
      ++event;
    }
    if (column.exact && lists_[i]->holds_integers()) {
      const auto bad = std::ranges::find_if(out.exact, is_rounded);
      int64_t left = bad - out.exact.begin();
      for (event = 0; bad != out.exact.end(); ++event) {
        left -= static_cast<int64_t>(out.rows[static_cast<size_t>(event)]) * row_sizes_[i];
        if (left < 0) refuse_integer(name_, column.name, next_ + event);
      }
    }
    return static_cast<int64_t>(out.values.size() + out.exact.size());
  }

  // Array `number` of those that hold numbers. Returns how many values of an event it has.
  int64_t add(const WantedColumn& column, int64_t number) {
    const std::vector<int64_t> shape = arrays_->shape(static_cast<size_t>(number));
    const std::string words = shape.empty() ? "one number" : fmt::format("[{}]", fmt::join(shape, ", "));
    const int64_t values = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    const bool fits = shape.size() < 2 || takes_any(column) || rows_fit(column, std::span(shape).subspan(1));
    if (!fits || values == 0) refuse_column(name_, column, words);
    const int64_t row = takes_any(column) && !shape.empty() ? values / shape.front() : column.row_size();
    row_sizes_.push_back(static_cast<uint32_t>(row));
    rows_.push_back(takes_any(column) ? static_cast<uint32_t>(values / row)
                                      : rows_of_list(name_, column, static_cast<uint64_t>(values), -1));
    stored_.push_back({.words = words,
                       .is_number = shape.empty(),
                       .is_boolean = arrays_->holds_booleans(static_cast<size_t>(number)),
                       .axes = static_cast<int>(shape.size())});
    return values;
  }

  // Array `number`, which is column i.
  std::vector<double> exact(size_t i, size_t number, int64_t count) const {
    std::vector<double> values = arrays_->read_exact(number, next_, count);
    if (!arrays_->holds_integers(number)) return values;
    const auto bad = std::ranges::find_if(values, is_rounded);
    const auto event_values = static_cast<int64_t>(values.size()) / count;
    if (bad != values.end()) refuse_integer(name_, columns_[i].name, next_ + (bad - values.begin()) / event_values);
    return values;
  }

  std::vector<float> codes(size_t i, int64_t count) {
    std::vector<float> values;
    for (const std::string& text : texts_[i]->read(next_, count))
      values.push_back(codes_[i].code(text, next_ + static_cast<int64_t>(values.size())));
    return values;
  }

  std::string name_, first_;                        // first_: the column that says how many events there are
  std::unique_ptr<EventArrays> arrays_;             // of numbers; null without any
  std::vector<std::unique_ptr<EventTexts>> texts_;  // one a column, null for numbers
  std::vector<std::unique_ptr<EventLists>> lists_;  // one a column, null for what is none
  std::vector<StoredColumn> stored_;
  std::vector<WantedColumn> columns_;
  std::vector<uint32_t> rows_, row_sizes_;
  int64_t events_ = -1, block_events_ = 1, next_ = 0;
  int64_t event_values_ = 1;  // but for those in lists
};

}  // namespace

TableContents hdf5_contents(const SourcePtr& source) {
  const std::filesystem::path path = source->local();
  DescribedArrays arrays = described_arrays(path);
  const std::vector<std::string> names = array_names(path);
  for (const std::string& name : list_names(path)) {
    const EventLists lists(path, path.string(), name);
    const auto place = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
    const std::vector<int64_t>& row = lists.row_extents();
    arrays.words.at(place) = fmt::format("{} [{}] of lists{}", name, lists.events(),
                                         row.empty() ? "" : fmt::format(" of [{}]", fmt::join(row, ", ")));
    arrays.events = lists.events();
  }
  return {.format = {}, .events = arrays.events, .columns = arrays.words, .of_texts = text_names(path), .names = names};
}

std::vector<int64_t> hdf5_event_shape(const SourcePtr& source, const std::string& column) {
  return EventArrays(source->local(), {column}, "name one of these").shape(0);
}

std::unique_ptr<TableReader> open_hdf5_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return std::make_unique<Hdf5Table>(source->local(), source->url(), columns);
}

}  // namespace linac::data
