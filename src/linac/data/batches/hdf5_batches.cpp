// The data sets [events, ...] in the root of an HDF5 file, of the type that they have.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/error.h"
#include "linac/data/batches/batch_reader.h"
#include "linac/data/hdf5_texts.h"
#include "linac/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;

constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 16384;

struct Numbers {
  std::shared_ptr<arrow::DataType> type;
  Handle memory;  // the type in memory
};

std::shared_ptr<arrow::DataType> integer_type(size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? arrow::int8() : arrow::uint8();
    case 2:
      return is_signed ? arrow::int16() : arrow::uint16();
    case 4:
      return is_signed ? arrow::int32() : arrow::uint32();
    case 8:
      return is_signed ? arrow::int64() : arrow::uint64();
    default:
      return nullptr;
  }
}

/// h5py writes booleans as an enumeration of FALSE and TRUE in one byte.
bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2 || H5Tget_size(type) != 1) return false;
  std::string names;
  for (unsigned i = 0; i < 2; ++i) {
    char* const name = H5Tget_member_name(type, i);
    names += name;
    H5free_memory(name);
  }
  return names == "FALSETRUE";
}

bool is_half(hid_t type) {
  size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_size(type) == 2 &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 && exponent_bits == 5 &&
         mantissa_bits == 10;
}

/// Nothing for a type without a form in Arrow. Under the lock.
Numbers numbers_in(hid_t stored) {
  const H5T_class_t kind = H5Tget_class(stored);
  const size_t bytes = H5Tget_size(stored);
  Handle memory(H5Tcopy(stored), H5Tclose);
  if (is_boolean(stored)) return {arrow::boolean(), std::move(memory)};
  if (kind == H5T_INTEGER) {
    const auto type = integer_type(bytes, H5Tget_sign(stored) != H5T_SGN_NONE);
    return {type, Handle(H5Tget_native_type(stored, H5T_DIR_ASCEND), H5Tclose)};
  }
  if (kind != H5T_FLOAT) return {};
  if (bytes == 4) return {arrow::float32(), Handle(H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose)};
  if (bytes == 8) return {arrow::float64(), Handle(H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose)};
  if (!is_half(stored) || H5Tset_order(memory.get(), H5T_ORDER_LE) < 0) return {};
  return {arrow::float16(), std::move(memory)};
}

struct Column {
  std::string name;
  Handle set;
  Numbers numbers;
  std::vector<int64_t> extents;  // of an event
  std::unique_ptr<EventTexts> texts;

  int64_t bytes() const {
    if (texts) return 32;
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()) *
           static_cast<int64_t>(H5Tget_size(numbers.memory.get()));
  }
};

class Hdf5Batches : public BatchReader {
 public:
  Hdf5Batches(const std::filesystem::path& path, const std::string& name, std::vector<std::string> names,
              const EventRange& range)
      : name_(name) {
    const std::vector<std::string> of_texts = text_names(path);
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
      add(path, column, std::ranges::find(of_texts, column) != of_texts.end());
      const Column& last = columns_.back();
      fields.push_back(arrow::field(column, last.texts ? arrow::utf8() : fixed_type(last.extents, last.numbers.type)));
    }
    schema_ = arrow::schema(fields);
    int64_t bytes = 1;
    {
      const hdf5::Lock lock;
      for (const Column& column : columns_) bytes += column.bytes();
    }
    block_events_ = std::clamp(kBlockBytes / bytes, int64_t{1}, kBlockEventsMax);
    next_ = range.first;
    end_ = range.count < 0 ? events_ : range.first + range.count;
  }

  ~Hdf5Batches() override {
    const hdf5::Lock lock;
    for (Column& column : columns_) {
      column.set = Handle();
      column.numbers.memory = Handle();
    }
    file_.close();
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t count = std::min(block_events_, end_ - next_);
    if (count <= 0) return nullptr;
    arrow::ArrayVector arrays;
    for (const Column& column : columns_)
      arrays.push_back(column.texts ? texts_of(column.texts->read(next_, count), true) : numbers(column, count));
    next_ += count;
    return arrow::RecordBatch::Make(schema_, count, arrays);
  }

 private:
  void add(const std::filesystem::path& path, const std::string& name, bool texts) {
    if (texts) {
      columns_.push_back({.name = name, .set = {}, .numbers = {}, .extents = {}, .texts = {}});
      columns_.back().texts = std::make_unique<EventTexts>(path, name);
      return need_events(name, columns_.back().texts->events());
    }
    std::vector<hsize_t> shape;
    {
      const hdf5::Lock lock;
      Handle set(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
      const Handle stored(set ? H5Dget_type(set.get()) : -1, H5Tclose);
      if (!stored)
        throw data_error(fmt::format("[hdf5] {}: '{}' cannot be opened ({})", name_, name, hdf5::last_error()));
      shape = hdf5::shape_of(set.get());
      columns_.push_back(
          {.name = name, .set = std::move(set), .numbers = numbers_in(stored.get()), .extents = {}, .texts = {}});
    }
    Column& column = columns_.back();
    if (!column.numbers.type) refuse_form(name_, name, "neither numbers nor texts that are known");
    if (shape.empty()) refuse_form(name_, name, "one value for the whole file");
    column.extents.assign(shape.begin() + 1, shape.end());
    if (std::ranges::any_of(column.extents, [](int64_t extent) { return extent == 0 || extent > INT32_MAX; }))
      refuse_form(name_, name, "its shape is " + hdf5::to_string(shape));
    need_events(name, static_cast<int64_t>(shape.front()));
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
          H5Dread(column.set.get(), column.numbers.memory.get(), memory.get(), space.get(), H5P_DEFAULT,
                  bytes.data()) >= 0;
      if (!read)
        throw data_error(fmt::format("[hdf5] {}: '{}' cannot be read at event {} ({})", name_, column.name, next_,
                                     hdf5::last_error()));
    }
    return fixed_of(column.extents, numbers_of(column.numbers.type, bytes));
  }

  std::string name_;
  Handle file_;
  std::vector<Column> columns_;
  int64_t events_ = 0, next_ = 0, end_ = 0, block_events_ = 1;
};

}  // namespace

std::unique_ptr<BatchReader> open_hdf5_batches(const std::shared_ptr<const storage::Source>& source,
                                               const BatchColumns& columns, const EventRange& range) {
  return std::make_unique<Hdf5Batches>(source->local(), source->url(), columns.names, range);
}

}  // namespace linac::data
