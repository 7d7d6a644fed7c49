#include "linac/io/data/formats/event_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/io/data/formats/event_arrays_file.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/hdf5/handle.h"
#include "linac/io/storage/source.h"

namespace linac::data {
namespace {

using hdf5::Handle;

/// A dataset and its extents, the events first.
struct Array {
  std::string name;
  Handle dataset;
  std::vector<hsize_t> extent;
  bool integers = false, booleans = false;

  int64_t event_size() const {
    return static_cast<int64_t>(std::accumulate(extent.begin() + 1, extent.end(), hsize_t{1}, std::multiplies<>()));
  }
};

constexpr char kEventNumbers[] = "event_numbers";
constexpr int64_t kNumbersAtATime = int64_t{1} << 16;

/// False if HDF5 fails.
bool write_events(const Array& array, int64_t first, int64_t count, const void* values, hid_t type = H5T_NATIVE_FLOAT) {
  const EventSpaces spaces(array.dataset.get(), array.extent, first, count);
  return spaces &&
         H5Dwrite(array.dataset.get(), type, spaces.memory.get(), spaces.file.get(), H5P_DEFAULT, values) >= 0;
}

}  // namespace

class EventArrays::File {
 public:
  File(const std::filesystem::path& path, const std::vector<std::string>& names, const std::string& way_out)
      : path_(path.string()) {
    const hdf5::Lock lock;
    file_ = open_hdf5(path, path_);
    for (const std::string& name : names) open(name, way_out);
  }

  ~File() {
    const hdf5::Lock lock;
    arrays_.clear();
    file_.close();
  }

  const Array& array(size_t i) const { return arrays_.at(i); }

  template <class T>
  std::vector<T> read(size_t i, int64_t first, int64_t count) const {
    const Array& from = array(i);
    std::vector<T> values(static_cast<size_t>(count * from.event_size()));
    const hdf5::Lock lock;
    if (from.booleans) {  // HDF5 makes no numbers of them
      std::vector<int8_t> bytes(values.size());
      const Handle type = hdf5::boolean_type();
      need_read(read_events(from.dataset.get(), from.extent, type.get(), first, count, bytes.data()), from, first);
      std::ranges::copy(bytes, values.begin());
      return values;
    }
    const hid_t type = std::is_same_v<T, float> ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    need_read(read_events(from.dataset.get(), from.extent, type, first, count, values.data()), from, first);
    return values;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw data_error(fmt::format("[hdf5] {}: {}", path_, why)); }

  void need_read(bool holds, const Array& from, int64_t first) const {
    if (!holds) fail(fmt::format("'{}' cannot be read at event {} ({})", from.name, first, hdf5::last_error()));
  }

  void open(const std::string& name, const std::string& way_out) {
    const bool there = !name.empty() && H5Lexists(file_.get(), name.c_str(), H5P_DEFAULT) > 0;
    Array array{name, Handle(there ? H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT) : -1, H5Dclose), {}};
    if (!array.dataset) {
      fail(fmt::format("no data set '{}' (found: {}); {}", name, fmt::join(hdf5::describe_datasets(file_.get()), ", "),
                       way_out));
    }
    const Handle type(H5Dget_type(array.dataset.get()), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.get());
    array.extent = hdf5::shape_of(array.dataset.get());
    array.integers = kind == H5T_INTEGER;
    array.booleans = hdf5::is_boolean(type.get());
    if ((kind != H5T_FLOAT && kind != H5T_INTEGER && !array.booleans) || array.extent.empty())
      fail(fmt::format("'{}' is not a list of numbers", name));
    if (!arrays_.empty() && arrays_[0].extent[0] != array.extent[0]) {
      fail(fmt::format("'{}' holds {} events but '{}' holds {}", name, array.extent[0], arrays_[0].name,
                       arrays_[0].extent[0]));
    }
    arrays_.push_back(std::move(array));
  }

  std::string path_;
  Handle file_;
  std::vector<Array> arrays_;
};

std::vector<std::string> array_names(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  return hdf5::dataset_names(open_hdf5(path, path.string()).get());
}

std::vector<std::string> array_texts(const std::filesystem::path& path, const std::string& array,
                                     const std::string& attribute) {
  const std::string_view format = format_of(*storage::Source::open(path.string())).name;
  if (format == "parquet") return parquet_array_texts(path, array, attribute);
  if (format == "root") return root_array_texts(path, array, attribute);
  if (format != "hdf5") return {};
  constexpr hssize_t kMost = 1 << 16;
  const hdf5::Lock lock;
  const Handle file = open_hdf5(path, path.string());
  const Handle set(H5Dopen2(file.get(), array.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set || H5Aexists(set.get(), attribute.c_str()) <= 0) return {};
  const Handle opened_attribute(H5Aopen(set.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(opened_attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(opened_attribute.get()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Tis_variable_str(type.get()) <= 0 || count < 1 || count > kMost) return {};
  std::vector<char*> read(static_cast<size_t>(count), nullptr);
  if (H5Aread(opened_attribute.get(), type.get(), read.data()) < 0) return {};
  std::vector<std::string> texts;
  for (const char* const text : read) texts.emplace_back(text == nullptr ? "" : text);
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, read.data());
  return texts;
}

std::vector<std::string> texts_in(const std::string& json) {
  std::vector<std::string> texts;
  const nlohmann::json found = nlohmann::json::parse(json, nullptr, false);
  if (!found.is_array()) return {};
  for (const nlohmann::json& text : found) {
    if (!text.is_string()) return {};
    texts.push_back(text);
  }
  return texts;
}

EventArrays::EventArrays(const std::filesystem::path& path, const std::vector<std::string>& names,
                         const std::string& way_out)
    : file_(std::make_unique<File>(path, names, way_out)) {}

EventArrays::~EventArrays() = default;

int64_t EventArrays::events() const {
  return static_cast<int64_t>(file_->array(0).extent[0]);
}

std::vector<int64_t> EventArrays::shape(size_t i) const {
  const auto& extent = file_->array(i).extent;
  return {extent.begin() + 1, extent.end()};
}

std::vector<float> EventArrays::read(size_t i, int64_t first, int64_t count) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  return file_->read<float>(i, first, count);
}

std::vector<double> EventArrays::read_exact(size_t i, int64_t first, int64_t count) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  return file_->read<double>(i, first, count);
}

bool EventArrays::holds_integers(size_t i) const {
  return file_->array(i).integers;
}

bool EventArrays::holds_booleans(size_t i) const {
  return file_->array(i).booleans;
}

namespace {

class Hdf5Arrays : public EventArraysFile {
 public:
  Hdf5Arrays(const std::filesystem::path& path, const std::vector<EventArrayShape>& arrays, int64_t events)
      : path_(path), part_(path.string() + fmt::format(".tmp.{}", ::getpid())) {
    const hdf5::Lock lock;
    file_ = Handle(H5Fcreate(part_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    need(static_cast<bool>(file_), "cannot be created");
    for (const EventArrayShape& shape : arrays) {
      std::vector<hsize_t> extent{static_cast<hsize_t>(events)};
      extent.insert(extent.end(), shape.shape.begin(), shape.shape.end());
      Handle set = made(file_.get(), shape.name, H5T_IEEE_F32LE, extent);
      arrays_.push_back({shape.name, std::move(set), std::move(extent)});
    }
  }

  ~Hdf5Arrays() override {
    const hdf5::Lock lock;
    arrays_.clear();
    file_.close();
    if (!in_place_) ::unlink(part_.c_str());
  }

  void set_attribute(const std::string& name, const std::string& text) override {
    const hdf5::Lock lock;
    need(hdf5::write_text(file_.get(), name, text), "attribute " + name + " cannot be written");
  }

  void set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts) override {
    const hdf5::Lock lock;
    const Array& array = arrays_.at(i);
    need(hdf5::write_texts(array.dataset.get(), name, texts),
         fmt::format("attribute {} of '{}' cannot be written", name, array.name));
  }

  std::string name(size_t i) const override { return arrays_.at(i).name; }

  void number_events(std::span<const int64_t> events) override {
    const hdf5::Lock lock;
    const Handle group(H5Gcreate2(file_.get(), kEventNumbers, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    need(static_cast<bool>(group), fmt::format("the group {} cannot be made", kEventNumbers));
    const auto all = static_cast<hsize_t>(std::accumulate(events.begin(), events.end(), int64_t{0}));
    Array file{"file", made(group.get(), "file", H5T_STD_I32LE, {all}), {all}};
    Array row{"row", made(group.get(), "row", H5T_STD_I64LE, {all}), {all}};
    std::vector<int64_t> numbers;
    int64_t begin = 0;
    for (size_t place = 0; place < events.size(); begin += events[place], ++place) {
      for (int64_t first = 0; first < events[place]; first += kNumbersAtATime) {
        numbers.resize(static_cast<size_t>(std::min(kNumbersAtATime, events[place] - first)));
        const auto count = static_cast<int64_t>(numbers.size());
        std::iota(numbers.begin(), numbers.end(), first);
        bool written = write_events(row, begin + first, count, numbers.data(), H5T_NATIVE_INT64);
        std::fill(numbers.begin(), numbers.end(), static_cast<int64_t>(place));
        written = written && write_events(file, begin + first, count, numbers.data(), H5T_NATIVE_INT64);
        need(written, "the numbers of the events cannot be written");
      }
    }
  }

  void write(size_t i, int64_t first, std::span<const float> values) override {
    const Array& to = arrays_.at(i);
    const int64_t count = static_cast<int64_t>(values.size()) / to.event_size();
    LINAC_CHECK(count * to.event_size() == static_cast<int64_t>(values.size()));
    const hdf5::Lock lock;
    need(write_events(to, first, count, values.data()), "'" + to.name + "' cannot be written");
  }

  void close() override {
    const hdf5::Lock lock;
    arrays_.clear();
    need(file_.close() >= 0, "cannot be completed");
    in_place_ = put_in_place(part_, path_);
    need(in_place_, "cannot be put in its place");
  }

 private:
  void need(bool holds, const std::string& what) const {
    if (holds) return;
    throw environment_error(fmt::format("[hdf5] {}: {} ({}); check folder, permissions and space", path_.string(), what,
                                        hdf5::last_error()));
  }

  Handle made(hid_t place, const std::string& name, hid_t type, const std::vector<hsize_t>& extent) const {
    const Handle space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose);
    const Handle properties = hdf5::timeless_creation();
    Handle set(H5Dcreate2(place, name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
               H5Dclose);
    need(static_cast<bool>(set), "'" + name + "' cannot be made");
    return set;
  }

  std::filesystem::path path_, part_;
  Handle file_;
  std::vector<Array> arrays_;
  bool in_place_ = false;
};

}  // namespace

std::unique_ptr<EventArraysFile> open_hdf5_arrays(const std::filesystem::path& path,
                                                  const std::vector<EventArrayShape>& arrays, int64_t events) {
  return std::make_unique<Hdf5Arrays>(path, arrays, events);
}

namespace {

std::unique_ptr<EventArraysFile> open_arrays(const std::filesystem::path& path,
                                             const std::vector<EventArrayShape>& arrays, int64_t events) {
  if (path.extension() == ".parquet") return open_parquet_arrays(path, arrays, events);
  if (path.extension() == ".root") return open_root_arrays(path, arrays, events);
  return open_hdf5_arrays(path, arrays, events);
}

}  // namespace

EventArraysWriter::EventArraysWriter(const std::filesystem::path& path, const std::vector<EventArrayShape>& arrays,
                                     int64_t events)
    : file_(open_arrays(path, arrays, events)) {}

EventArraysWriter::~EventArraysWriter() = default;

void EventArraysWriter::set_attribute(const std::string& name, const std::string& text) {
  file_->set_attribute(name, text);
}

void EventArraysWriter::set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts) {
  file_->set_attribute(i, name, texts);
}

void EventArraysWriter::set_steps(size_t i, size_t of_steps) {
  file_->set_attribute(i, kStepsAttribute, {file_->name(of_steps)});
}

void EventArraysWriter::number_events(std::span<const int64_t> events) {
  file_->number_events(events);
}

void EventArraysWriter::write(size_t i, int64_t first, std::span<const float> values) {
  file_->write(i, first, values);
}

void EventArraysWriter::close() {
  file_->close();
  file_.reset();
}

}  // namespace linac::data
