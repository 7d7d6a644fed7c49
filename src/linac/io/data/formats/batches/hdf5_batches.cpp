// The data sets [events, ...] in the root of an HDF5 file, of the type that they have.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/batches/hdf5_types.h"
#include "linac/io/data/formats/hdf5_lists.h"
#include "linac/io/data/formats/hdf5_texts.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;

constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 16384;

constexpr int64_t kFirstEventsOfLists = 64;  // which tell how long lists are

/// One of texts, lists and numbers.
struct Column {
  std::string name;
  std::unique_ptr<EventTexts> texts = {};
  std::unique_ptr<EventLists> lists = {};
  Handle set = {};
  std::shared_ptr<arrow::DataType> number = {};
  Handle memory = {};                 // the type of a number in memory
  std::vector<int64_t> extents = {};  // of an event, or of a row in lists

  std::shared_ptr<arrow::DataType> type() const {
    if (texts) return arrow::utf8();
    return lists ? arrow::list(fixed_type(extents, number)) : fixed_type(extents, number);
  }

  int64_t bytes() const {
    if (texts || lists) return 32;
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()) *
           static_cast<int64_t>(H5Tget_size(memory.get()));
  }
};

class Hdf5Batches : public BatchReader {
 public:
  Hdf5Batches(const std::filesystem::path& path, const std::string& name, std::vector<std::string> names,
              const EventRange& range)
      : name_(name) {
    const std::vector<std::string> of_texts = text_names(path), of_lists = list_names(path);
    std::vector<std::string> found;
    {
      const hdf5::Lock lock;
      file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
      if (!file_) throw data_error(fmt::format("[hdf5] {}: cannot be opened as HDF5 ({})", name_, hdf5::last_error()));
      found = hdf5::dataset_names(file_.get());
    }
    if (names.empty()) names = found;
    if (names.empty()) throw data_error(fmt::format("[hdf5] {}: no data set in its root", name_));
    arrow::FieldVector fields;
    for (const std::string& column : names) {
      if (std::ranges::find(found, column) == found.end()) refuse_missing(name_, column, found);
      columns_.push_back({.name = column});
      if (std::ranges::find(of_texts, column) != of_texts.end())
        columns_.back().texts = std::make_unique<EventTexts>(path, column);
      else if (std::ranges::find(of_lists, column) != of_lists.end())
        columns_.back().lists = std::make_unique<EventLists>(path, name_, column);
      complete(columns_.back());
      fields.push_back(arrow::field(column, columns_.back().type()));
    }
    schema_ = arrow::schema(fields);
    int64_t bytes = 1;
    {
      const hdf5::Lock lock;
      for (const Column& column : columns_) bytes += column.bytes();
    }
    block_events_ = std::clamp(kBlockBytes / bytes, int64_t{1}, kBlockEventsMax);
    if (std::ranges::any_of(columns_, [](const Column& column) { return column.lists != nullptr; }))
      block_events_ = std::min(block_events_, kFirstEventsOfLists);
    event_bytes_ = bytes;
    next_ = range.first;
    end_ = range.count < 0 ? events_ : range.first + range.count;
  }

  ~Hdf5Batches() override {
    const hdf5::Lock lock;
    for (Column& column : columns_) {
      column.set = Handle();
      column.memory = Handle();
    }
    file_.close();
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t count = std::min(block_events_, end_ - next_);
    if (count <= 0) return nullptr;
    arrow::ArrayVector arrays;
    int64_t in_lists = 0;
    for (const Column& column : columns_)
      arrays.push_back(column.texts   ? texts_of(column.texts->read(next_, count), true)
                       : column.lists ? lists(column, count, in_lists)
                                      : numbers(column, count));
    next_ += count;
    if (in_lists > 0)
      block_events_ = std::clamp(kBlockBytes / (event_bytes_ + in_lists / count), int64_t{1}, kBlockEventsMax);
    return arrow::RecordBatch::Make(schema_, count, arrays);
  }

 private:
  void complete(Column& column) {
    if (column.texts) return need_events(column.name, column.texts->events());
    const hdf5::Lock lock;
    if (column.lists) {
      take_type(column, column.lists->stored_type());
      column.extents = column.lists->row_extents();
      if (std::ranges::find(column.extents, 0) != column.extents.end())
        refuse_form(name_, column.name, "its rows hold no values");
      return need_events(column.name, column.lists->events());
    }
    column.set = Handle(H5Dopen2(file_.get(), column.name.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle stored(column.set ? H5Dget_type(column.set.get()) : -1, H5Tclose);
    if (!stored)
      throw data_error(fmt::format("[hdf5] {}: '{}' cannot be opened ({})", name_, column.name, hdf5::last_error()));
    take_type(column, stored.get());
    const std::vector<hsize_t> shape = hdf5::shape_of(column.set.get());
    if (shape.empty()) refuse_form(name_, column.name, "one value for the whole file");
    column.extents.assign(shape.begin() + 1, shape.end());
    if (std::ranges::any_of(column.extents, [](int64_t extent) { return extent == 0 || extent > INT32_MAX; }))
      refuse_form(name_, column.name, "its shape is " + hdf5::to_string(shape));
    need_events(column.name, static_cast<int64_t>(shape.front()));
  }

  void take_type(Column& column, hid_t stored) const {
    column.number = arrow_type_of(stored);
    if (!column.number) refuse_form(name_, column.name, "neither numbers nor texts that are known");
    column.memory = hdf5_type_of(*column.number);
  }

  void need_events(const std::string& column, int64_t events) {
    if (columns_.size() == 1) events_ = events;
    if (events == events_) return;
    throw data_error(fmt::format(
        "[hdf5] {}: '{}' holds {} events but '{}' holds {}; name columns of as many events each (--columns)", name_,
        column, events, columns_.front().name, events_));
  }

  std::shared_ptr<arrow::Array> numbers(const Column& column, int64_t count) const {
    std::vector<std::byte> bytes;
    {
      const hdf5::Lock lock;
      bytes.resize(static_cast<size_t>(column.bytes() * count));
      const Handle space(H5Dget_space(column.set.get()), H5Sclose);
      std::vector<hsize_t> start(column.extents.size() + 1, 0), extent{static_cast<hsize_t>(count)};
      start[0] = static_cast<hsize_t>(next_);
      extent.insert(extent.end(), column.extents.begin(), column.extents.end());
      const Handle memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
      const bool read =
          H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0 &&
          H5Dread(column.set.get(), column.memory.get(), memory.get(), space.get(), H5P_DEFAULT, bytes.data()) >= 0;
      if (!read)
        throw data_error(fmt::format("[hdf5] {}: '{}' cannot be read at event {} ({})", name_, column.name, next_,
                                     hdf5::last_error()));
    }
    return fixed_of(column.extents, numbers_of(column.number, bytes));
  }

  std::shared_ptr<arrow::Array> lists(const Column& column, int64_t count, int64_t& read_bytes) const {
    std::vector<uint32_t> rows;
    const auto bytes = column.lists->read(next_, count, column.memory.get(), rows);
    read_bytes += static_cast<int64_t>(bytes.size());
    return lists_of(rows, fixed_of(column.extents, numbers_of(column.number, bytes)));
  }

  std::string name_;
  Handle file_;
  std::vector<Column> columns_;
  int64_t events_ = 0, next_ = 0, end_ = 0, block_events_ = 1, event_bytes_ = 1;
};

}  // namespace

std::unique_ptr<BatchReader> open_hdf5_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* /*marks*/) {
  return std::make_unique<Hdf5Batches>(source->local(), source->url(), columns.names, range);
}

}  // namespace linac::data
