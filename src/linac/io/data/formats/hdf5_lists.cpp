#include "linac/io/data/formats/hdf5_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/hdf5_events.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Extents = std::vector<hsize_t>;

constexpr int64_t kMarkEvents = 4096;  // between those whose first row is known

/// The group of the numbers of rows; none in a file without lists.
Handle rows_group(hid_t file) {
  if (H5Lexists(file, kEventRows, H5P_DEFAULT) <= 0) return {};
  Handle group(H5Oopen(file, kEventRows, H5P_DEFAULT), H5Oclose);
  return group && H5Iget_type(group.get()) == H5I_GROUP ? std::move(group) : Handle();
}

}  // namespace

class EventLists::File {
 public:
  File(const std::filesystem::path& path, const std::string& file, const std::string& name,
       const std::function<Handle()>& memory)
      : path_(file), name_(name) {
    const hdf5::Lock lock;
    file_ = open_hdf5(path, file);
    values_ = Handle(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (const Handle group = rows_group(file_.get()); group)
      counts_ = Handle(H5Dopen2(group.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!values_ || !counts_) fail(fmt::format("cannot be opened ({})", hdf5::last_error()));
    const Handle of_values(H5Dget_type(values_.get()), H5Tclose), of_counts(H5Dget_type(counts_.get()), H5Tclose);
    const bool numbers = hdf5::is_boolean(of_values.get()) || H5Tget_class(of_values.get()) == H5T_INTEGER ||
                         H5Tget_class(of_values.get()) == H5T_FLOAT;
    shape_ = hdf5::shape_of(values_.get());
    const Extents events = hdf5::shape_of(counts_.get());
    if (!numbers || shape_.empty() || H5Tget_class(of_counts.get()) != H5T_INTEGER || events.size() != 1)
      fail(fmt::format("and {}/{} are not lists of numbers and their lengths", kEventRows, name));
    events_ = static_cast<int64_t>(events.front());
    find_marks(shape_.front());
    number_ = memory();
  }

  ~File() {
    const hdf5::Lock lock;
    number_.close();
    counts_.close();
    values_.close();
    file_.close();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t events() const { return events_; }

  std::vector<std::byte> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const {
    const hdf5::Lock lock;
    const int64_t mark = first / kMarkEvents;
    std::vector<uint32_t> before = counts(mark * kMarkEvents, first - mark * kMarkEvents);
    rows = counts(first, count);
    const auto begin = std::accumulate(before.begin(), before.end(), marks_[static_cast<size_t>(mark)]);
    const auto wanted = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    const auto row_values = std::accumulate(shape_.begin() + 1, shape_.end(), uint64_t{1}, std::multiplies<>());
    std::vector<std::byte> bytes(wanted * row_values * H5Tget_size(number_.get()));
    if (!bytes.empty() && !read_events(values_.get(), shape_, number_.get(), static_cast<int64_t>(begin),
                                       static_cast<int64_t>(wanted), bytes.data()))
      fail(fmt::format("cannot be read at event {} ({})", first, hdf5::last_error()));
    return bytes;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw data_error(fmt::format("[hdf5] {}: '{}' {}; copy or write the file again", path_, name_, what));
  }

  std::vector<uint32_t> counts(int64_t first, int64_t count) const {
    std::vector<uint32_t> rows(static_cast<size_t>(count));
    if (count > 0 &&
        !read_events(counts_.get(), {static_cast<hsize_t>(events_)}, H5T_NATIVE_UINT32, first, count, rows.data()))
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
  Extents shape_;                // of the values
  std::vector<uint64_t> marks_;  // the first row of every kMarkEvents-th event
  int64_t events_ = 0;
};

EventLists::EventLists(const std::filesystem::path& path, const std::string& file, const std::string& name,
                       const std::function<Handle()>& memory)
    : file_(std::make_unique<File>(path, file, name, memory)) {}

EventLists::~EventLists() = default;

std::vector<std::byte> EventLists::read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= file_->events() - count);
  return file_->read(first, count, rows);
}

}  // namespace linac::data
