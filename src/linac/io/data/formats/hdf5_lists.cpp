#include "linac/io/data/formats/hdf5_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <type_traits>

#include "linac/base/base/error.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Extents = std::vector<hsize_t>;

constexpr int64_t kMarkEvents = 4096;  // between those whose first row is known

Handle opened(const std::filesystem::path& path, const std::string& name) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) throw data_error(fmt::format("[hdf5] {}: cannot be opened as HDF5 ({})", name, hdf5::last_error()));
  return file;
}

/// The group of the numbers of rows; none in a file without lists.
Handle rows_group(hid_t file) {
  if (H5Lexists(file, kEventRows, H5P_DEFAULT) <= 0) return {};
  Handle group(H5Oopen(file, kEventRows, H5P_DEFAULT), H5Oclose);
  return group && H5Iget_type(group.get()) == H5I_GROUP ? std::move(group) : Handle();
}

/// Reads `count` elements of the first axis, from `first` on; false if HDF5 fails.
bool read_some(hid_t set, hid_t type, int64_t first, int64_t count, void* values) {
  Extents extent = hdf5::shape_of(set), start(extent.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  const Handle space(H5Dget_space(set), H5Sclose);
  const Handle memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
  return H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0 &&
         H5Dread(set, type, memory.get(), space.get(), H5P_DEFAULT, values) >= 0;
}

}  // namespace

std::vector<std::string> list_names(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  const Handle file = opened(path, path.string());
  const Handle group = rows_group(file.get());
  if (!group) return {};
  const std::vector<std::string> counted = hdf5::dataset_names(group.get());
  std::vector<std::string> names = hdf5::dataset_names(file.get());
  std::erase_if(names, [&](const std::string& name) { return std::ranges::find(counted, name) == counted.end(); });
  return names;
}

class EventLists::File {
 public:
  File(const std::filesystem::path& path, const std::string& file, const std::string& name) : path_(file), name_(name) {
    const hdf5::Lock lock;
    file_ = opened(path, file);
    values_ = Handle(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (const Handle group = rows_group(file_.get()); group)
      counts_ = Handle(H5Dopen2(group.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!values_ || !counts_) fail(fmt::format("cannot be opened ({})", hdf5::last_error()));
    number_ = Handle(H5Dget_type(values_.get()), H5Tclose);
    booleans_ = hdf5::is_boolean(number_.get());
    integers_ = H5Tget_class(number_.get()) == H5T_INTEGER;
    const Handle of_counts(H5Dget_type(counts_.get()), H5Tclose);
    const Extents shape = hdf5::shape_of(values_.get()), events = hdf5::shape_of(counts_.get());
    if ((!integers_ && !booleans_ && H5Tget_class(number_.get()) != H5T_FLOAT) || shape.empty() ||
        H5Tget_class(of_counts.get()) != H5T_INTEGER || events.size() != 1)
      fail(fmt::format("and {}/{} are not lists of numbers and their lengths", kEventRows, name));
    row_extents_.assign(shape.begin() + 1, shape.end());
    events_ = static_cast<int64_t>(events.front());
    find_marks(shape.front());
  }

  ~File() {
    const hdf5::Lock lock;
    number_ = Handle();
    counts_.close();
    values_.close();
    file_.close();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t events() const { return events_; }
  hid_t number() const { return number_.get(); }
  const std::vector<int64_t>& row_extents() const { return row_extents_; }
  bool integers() const { return integers_; }
  bool booleans() const { return booleans_; }
  int64_t row_values() const {
    return std::accumulate(row_extents_.begin(), row_extents_.end(), int64_t{1}, std::multiplies<>());
  }

  std::vector<std::byte> read(int64_t first, int64_t count, hid_t number, std::vector<uint32_t>& rows) const {
    const hdf5::Lock lock;
    const int64_t mark = first / kMarkEvents;
    std::vector<uint32_t> before = counts(mark * kMarkEvents, first - mark * kMarkEvents);
    rows = counts(first, count);
    const auto begin = std::accumulate(before.begin(), before.end(), marks_[static_cast<size_t>(mark)]);
    const auto wanted = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    const Handle boolean = booleans_ ? hdf5::boolean_type() : Handle();
    if (booleans_) number = boolean.get();
    std::vector<std::byte> bytes(wanted * static_cast<uint64_t>(row_values()) * H5Tget_size(number));
    if (!bytes.empty() &&
        !read_some(values_.get(), number, static_cast<int64_t>(begin), static_cast<int64_t>(wanted), bytes.data()))
      fail(fmt::format("cannot be read at event {} ({})", first, hdf5::last_error()));
    return bytes;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[hdf5] {}: '{}' {}; copy or write the file again", path_, name_, what));
  }

  std::vector<uint32_t> counts(int64_t first, int64_t count) const {
    std::vector<uint32_t> rows(static_cast<size_t>(count));
    if (count > 0 && !read_some(counts_.get(), H5T_NATIVE_UINT32, first, count, rows.data()))
      fail(fmt::format("does not tell the rows of event {} ({})", first, hdf5::last_error()));
    return rows;
  }

  /// All rows belong to events; so whatever is read lies in the data set.
  void find_marks(uint64_t rows) {
    uint64_t begin = 0;
    for (int64_t first = 0; first <= events_; first += kMarkEvents) {
      marks_.push_back(begin);
      for (const uint32_t one : counts(first, std::min(kMarkEvents, events_ - first))) begin += one;
      if (begin > rows) break;
    }
    if (begin != rows)
      fail(fmt::format("has {} rows, and its events have {}{}", rows, begin > rows ? "more than " : "",
                       std::min(begin, rows)));
  }

  std::string path_, name_;
  Handle file_, values_, counts_, number_;
  std::vector<int64_t> row_extents_;
  std::vector<uint64_t> marks_;  // the first row of every kMarkEvents-th event
  int64_t events_ = 0;
  bool integers_ = false, booleans_ = false;
};

EventLists::EventLists(const std::filesystem::path& path, const std::string& file, const std::string& name)
    : file_(std::make_unique<File>(path, file, name)) {}

EventLists::~EventLists() = default;

int64_t EventLists::events() const {
  return file_->events();
}

const std::vector<int64_t>& EventLists::row_extents() const {
  return file_->row_extents();
}

int64_t EventLists::row_values() const {
  return file_->row_values();
}

bool EventLists::holds_integers() const {
  return file_->integers();
}

bool EventLists::holds_booleans() const {
  return file_->booleans();
}

hid_t EventLists::stored_type() const {
  return file_->number();
}

std::vector<std::byte> EventLists::read(int64_t first, int64_t count, hid_t memory, std::vector<uint32_t>& rows) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  return file_->read(first, count, memory, rows);
}

template <class T>
std::vector<T> EventLists::read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const {
  const auto bytes = read(first, count, std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, rows);
  if (holds_booleans()) {
    std::vector<T> values;
    for (const std::byte one : bytes) values.push_back(static_cast<T>(std::to_integer<int>(one)));
    return values;
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template std::vector<float> EventLists::read(int64_t, int64_t, std::vector<uint32_t>&) const;
template std::vector<double> EventLists::read(int64_t, int64_t, std::vector<uint32_t>&) const;

}  // namespace linac::data
