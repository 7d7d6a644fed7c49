#include "linac/io/data/formats/hdf5_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/hdf5_types.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/data/formats/hdf5_lists.h"
#include "linac/io/data/formats/hdf5_text_bytes.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Kind = Hdf5Column::Kind;

constexpr size_t kColumnsMax = 10'000;
constexpr int kDepthMax = 16;                 // of groups, and of records
constexpr std::string_view kIndices = "_i_";  // PyTables keeps the indices of a table in a group of this name

/// What is stored at a place of an element, and why it is not read.
void describe_leaf(hid_t type, Hdf5Column& column) {
  switch (H5Tget_class(type)) {
    case H5T_STRING: {
      column.kind = Kind::kTexts;
      const auto all = column.event_values();
      if (all != 1 || column.extents.size() > 1) column.refused = "lists of texts";
      if (!column.fields.empty() && H5Tis_variable_str(type) > 0)
        column.refused = "texts of variable length in records";
      return;
    }
    case H5T_VLEN: {
      const Handle value(H5Tget_super(type), H5Tclose);
      const H5T_class_t kind = H5Tget_class(value.get());
      if (hdf5::is_boolean(value.get()) || kind == H5T_INTEGER || kind == H5T_FLOAT)
        column.number = arrow_type_of(value.get());
      if (!column.number) column.refused = "lists of variable length of other than numbers";
      if (!column.fields.empty() || !column.extents.empty())
        column.refused = "lists of variable length in records, or several an event";
      column.kind = Kind::kLists;
      column.is_variable = true;
      return;
    }
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_ENUM:
    case H5T_BITFIELD:
      column.number = arrow_type_of(type);
      column.is_coded = H5Tget_class(type) == H5T_ENUM || H5Tget_class(type) == H5T_BITFIELD;
      if (!column.number && column.is_coded) column.refused = "codes of an unusual size";
      break;
    default:
      column.refused = "neither numbers nor texts";
      return;
  }
  double values = 1;
  for (const int64_t extent : column.extents) values *= static_cast<double>(extent);
  if (values < 1) column.refused = "no values in an event";
  if (values > INT32_MAX) column.refused = "more than 2^31 values in an event";
}

/// The columns of a data set whose elements are of this type, or of its field.
void add_columns(const Handle& type, const Hdf5Column& of, int depth, std::vector<Hdf5Column>& out) {
  if (!type || depth > kDepthMax || out.size() >= kColumnsMax) return;
  Hdf5Column column = of;
  if (H5Tget_class(type.get()) == H5T_ARRAY) {
    std::vector<hsize_t> axes(static_cast<size_t>(std::max(H5Tget_array_ndims(type.get()), 0)));
    H5Tget_array_dims2(type.get(), axes.data());
    column.extents.insert(column.extents.end(), axes.begin(), axes.end());
    const Handle value(H5Tget_super(type.get()), H5Tclose);
    if (H5Tget_class(value.get()) == H5T_ARRAY || H5Tget_class(value.get()) == H5T_COMPOUND)
      column.refused = "arrays of arrays or of records";
    else
      describe_leaf(value.get(), column);
    out.push_back(std::move(column));
    return;
  }
  if (H5Tget_class(type.get()) != H5T_COMPOUND) {
    describe_leaf(type.get(), column);
    out.push_back(std::move(column));
    return;
  }
  for (int i = 0; i < H5Tget_nmembers(type.get()); ++i) {
    char* const name = H5Tget_member_name(type.get(), static_cast<unsigned>(i));
    if (name == nullptr) continue;
    Hdf5Column field = of;
    field.name += std::string(".") + name;
    field.fields.emplace_back(name);
    H5free_memory(name);
    add_columns(Handle(H5Tget_member_type(type.get(), static_cast<unsigned>(i)), H5Tclose), field, depth + 1, out);
  }
}

/// Whether every part of the path is there; HDF5 itself says so of the last one alone.
bool is_there(hid_t file, const std::string& path) {
  for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (part.empty() || part.back() == '/' || H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return true;
  }
}

/// What HDF5 has just failed to open.
Hdf5Column not_opened(const std::string& name, const std::string& path) {
  return {.name = name,
          .set = path,
          .fields = {},
          .extents = {},
          .number = {},
          .refused = fmt::format("cannot be opened: {}", hdf5::last_error())};
}

/// Whether it has the numbers of rows of a data set that has lists (hdf5_lists.h).
bool counts_rows(hid_t file, const std::string& path) {
  const std::string beginning = std::string(kEventRows) + "/";
  return path.starts_with(beginning) && is_there(file, path.substr(beginning.size()));
}

std::vector<Hdf5Column> columns_of_set(hid_t file, const std::string& path) {
  std::vector<Hdf5Column> columns;
  const Handle set(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set) return {not_opened(path, path)};
  Hdf5Column column{.name = path, .set = path, .fields = {}, .extents = {}, .number = {}, .refused = {}};
  const std::vector<hsize_t> shape = hdf5::shape_of(set.get());
  if (!shape.empty()) {
    column.events = static_cast<int64_t>(shape.front());
    column.extents.assign(shape.begin() + 1, shape.end());
  }
  add_columns(Handle(H5Dget_type(set.get()), H5Tclose), column, 0, columns);
  const std::string rows = std::string(kEventRows) + "/" + path;
  if (columns.size() == 1 && columns[0].fields.empty() && !columns[0].is_variable && is_there(file, rows)) {
    const Handle counts(H5Dopen2(file, rows.c_str(), H5P_DEFAULT), H5Dclose);
    const std::vector<hsize_t> events = counts ? hdf5::shape_of(counts.get()) : std::vector<hsize_t>{};
    columns[0].kind = Kind::kLists;
    columns[0].events = events.empty() ? 0 : static_cast<int64_t>(events.front());
  }
  for (Hdf5Column& one : columns)
    if (shape.empty() && one.refused.empty()) one.refused = "one value for the whole file";
  return columns;
}

/// The groups of a file, from its root on.
class Walk {
 public:
  explicit Walk(hid_t file) : file_(file) {}

  std::vector<Hdf5Column> run() {
    is_new(file_);
    visit(file_, "", 0);
    return std::move(columns_);
  }

 private:
  struct Link {
    std::string name;
    bool is_hard;
  };

  static herr_t add_link(hid_t, const char* name, const H5L_info_t* info, void* links) {
    static_cast<std::vector<Link>*>(links)->push_back({name, info->type == H5L_TYPE_HARD});
    return 0;
  }

  void visit(hid_t group, const std::string& path, int depth) {
    std::vector<Link> links;
    H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_link, &links);
    for (const Link& link : links) {
      if (columns_.size() >= kColumnsMax) return;
      const Handle object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), H5Oclose);
      if (!object) {
        columns_.push_back(not_opened(path + link.name, path + link.name));
        continue;
      }
      const H5I_type_t kind = H5Iget_type(object.get());
      if (kind == H5I_DATASET) {
        if (!counts_rows(file_, path + link.name))
          std::ranges::move(columns_of_set(file_, path + link.name), std::back_inserter(columns_));
      } else if (kind == H5I_GROUP && link.is_hard && depth < kDepthMax && !link.name.starts_with(kIndices) &&
                 is_new(object.get())) {
        visit(object.get(), path + link.name + "/", depth + 1);
      }
    }
  }

  /// A group may lie within itself.
  bool is_new(hid_t group) {
    H5O_info_t info{};
    return H5Oget_info(group, &info) >= 0 && seen_.insert(info.addr).second;
  }

  const hid_t file_;
  std::vector<Hdf5Column> columns_;
  std::set<haddr_t> seen_;
};

}  // namespace

int64_t Hdf5Column::event_values() const {
  if (kind == Kind::kLists) return 1;
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

std::string Hdf5Column::words() const {
  if (kind == Kind::kTexts) return extents.empty() || extents == std::vector<int64_t>{1} ? "one text" : "texts";
  if (kind == Kind::kLists)
    return extents.empty() ? "lists of numbers" : fmt::format("lists of rows [{}]", fmt::join(extents, ", "));
  return extents.empty() ? "one number" : fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string Hdf5Column::described() const {
  const std::string row = extents.empty() ? "" : fmt::format("{}", fmt::join(extents, ", "));
  std::string text = kind == Kind::kLists
                         ? fmt::format("{} [{}] of lists{}", name, events, row.empty() ? "" : " of [" + row + "]")
                         : fmt::format("{} [{}{}{}]", name, events, row.empty() ? "" : ", ", row);
  return refused.empty() ? text : fmt::format("{} (not read: {})", text, refused);
}

std::vector<Hdf5Column> hdf5_columns(hid_t file) {
  return Walk(file).run();
}

std::optional<Hdf5Column> hdf5_column(hid_t file, const std::string& name) {
  // A name of a data set may have points; so the longest path is looked for first.
  for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    const std::string path = name.substr(0, end);
    if (path.front() == '/' || !is_there(file, path)) continue;
    const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object) return not_opened(name, path);
    if (H5Iget_type(object.get()) != H5I_DATASET) continue;
    for (Hdf5Column& column : columns_of_set(file, path))
      if (column.name == name) return std::move(column);
  }
  return std::nullopt;
}

Hdf5Set::Hdf5Set(hid_t file, const Hdf5Column& column)
    : path_(column.set),
      nested_(column.fields.size() > 1),
      set_(H5Dopen2(file, column.set.c_str(), H5P_DEFAULT), H5Dclose),
      shape_(set_ ? hdf5::shape_of(set_.get()) : std::vector<hsize_t>{}) {}

bool Hdf5Set::takes(const Hdf5Column& column) const {
  const auto is_it = [&](const Part& part) { return part.fields == column.fields; };
  return path_ == column.set && !nested_ && column.fields.size() == 1 && std::ranges::none_of(parts_, is_it);
}

size_t Hdf5Set::add(const Hdf5Column& column, const std::shared_ptr<arrow::DataType>& type) {
  Handle stored(H5Dget_type(set_.get()), H5Tclose);
  for (const std::string& field : column.fields) {
    const int member = H5Tget_member_index(stored.get(), field.c_str());
    stored = Handle(H5Tget_member_type(stored.get(), static_cast<unsigned>(member)), H5Tclose);
  }
  std::vector<hsize_t> axes;
  if (H5Tget_class(stored.get()) == H5T_ARRAY) {
    axes.resize(static_cast<size_t>(H5Tget_array_ndims(stored.get())));
    H5Tget_array_dims2(stored.get(), axes.data());
    stored = Handle(H5Tget_super(stored.get()), H5Tclose);
  }
  // HDF5 makes no numbers of enumerations and bit fields, and texts stay as they are.
  const H5T_class_t kind = H5Tget_class(stored.get());
  Handle memory = kind == H5T_STRING || kind == H5T_BITFIELD ? Handle(H5Tcopy(stored.get()), H5Tclose)
                  : column.is_coded ? Handle(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND), H5Tclose)
                                    : hdf5_type_of(*type);
  Handle whole =
      axes.empty() ? std::move(memory)
                   : Handle(H5Tarray_create2(memory.get(), static_cast<unsigned>(axes.size()), axes.data()), H5Tclose);
  const size_t bytes = H5Tget_size(whole.get());
  parts_.push_back({std::move(whole), column.fields, bytes, element_bytes_});
  element_bytes_ += bytes;
  record_ = Handle();
  return parts_.size() - 1;
}

int64_t Hdf5Set::event_bytes() const {
  return static_cast<int64_t>(element_bytes_) *
         static_cast<int64_t>(std::accumulate(shape_.begin() + 1, shape_.end(), hsize_t{1}, std::multiplies<>()));
}

int64_t Hdf5Set::chunk_events() const {
  const Handle properties(H5Dget_create_plist(set_.get()), H5Pclose);
  if (H5Pget_layout(properties.get()) != H5D_CHUNKED) return 1;
  std::vector<hsize_t> chunk(shape_.size(), 1);
  H5Pget_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
  return static_cast<int64_t>(chunk.front());
}

/// A record in memory has the wanted fields alone: HDF5 leaves out the others.
void Hdf5Set::describe() {
  if (parts_.front().fields.empty()) {
    record_ = Handle(H5Tcopy(parts_.front().memory.get()), H5Tclose);
    return;
  }
  record_ = Handle(H5Tcreate(H5T_COMPOUND, element_bytes_), H5Tclose);
  for (const Part& part : parts_) {
    Handle inner(H5Tcopy(part.memory.get()), H5Tclose);
    for (size_t level = part.fields.size(); level-- > 1;) {
      Handle outer(H5Tcreate(H5T_COMPOUND, part.bytes), H5Tclose);
      H5Tinsert(outer.get(), part.fields[level].c_str(), 0, inner.get());
      inner = std::move(outer);
    }
    H5Tinsert(record_.get(), part.fields.front().c_str(), part.offset, inner.get());
  }
}

bool Hdf5Set::read(size_t place, int64_t first, int64_t count, std::vector<std::byte>& bytes) {
  if (!record_) describe();
  const auto elements = static_cast<size_t>(count * event_bytes()) / element_bytes_;
  if (parts_.size() == 1) {
    bytes.resize(elements * element_bytes_);
    return read_events(set_.get(), shape_, record_.get(), first, count, bytes.data());
  }
  if (first != first_ || count != count_) {
    block_.resize(elements * element_bytes_);
    count_ = 0;
    if (!read_events(set_.get(), shape_, record_.get(), first, count, block_.data())) return false;
    first_ = first;
    count_ = count;
  }
  const Part& part = parts_[place];
  bytes.resize(elements * part.bytes);
  for (size_t i = 0; i < elements; ++i)
    std::memcpy(bytes.data() + i * part.bytes, block_.data() + i * element_bytes_ + part.offset, part.bytes);
  return true;
}

std::vector<std::string> Hdf5Set::texts_in(size_t place, const std::vector<std::byte>& bytes) const {
  const Part& part = parts_[place];
  std::vector<std::string> texts;
  for (size_t at = 0; part.bytes > 0 && at + part.bytes <= bytes.size(); at += part.bytes)
    texts.push_back(
        unpadded(reinterpret_cast<const char*>(bytes.data()) + at, part.bytes, H5Tget_strpad(part.memory.get())));
  return texts;
}

}  // namespace linac::data
