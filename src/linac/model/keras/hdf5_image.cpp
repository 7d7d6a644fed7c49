#include "linac/model/keras/hdf5_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/io/hdf5/handle.h"

namespace linac::keras {
namespace {

using hdf5::Handle;

constexpr int kRankMax = 32;                 // HDF5's own limit
constexpr hssize_t kStringsMax = 1'000'000;  // in one attribute
// An array may state a shape and store almost nothing. All weights together may take this many times the file ...
constexpr int64_t kExpansionMax = 100;
// ... but small models always pass.
constexpr int64_t kExpansionFloorBytes = int64_t{64} << 20;

// Opens a direct member of `parent`. Links that lead elsewhere (another file, another place) are not followed.
Handle open_child(hid_t parent, const std::string& name) {
  H5L_info_t info;
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) <= 0 || H5Lget_info(parent, name.c_str(), &info, H5P_DEFAULT) < 0 ||
      info.type != H5L_TYPE_HARD) {
    return {-1, H5Oclose};
  }
  return {H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose};
}

Handle open_path(hid_t file, const std::string& path) {
  Handle current(H5Gopen2(file, "/", H5P_DEFAULT), H5Oclose);
  for (const std::string& part : hdf5_path_parts(path)) {
    if (!current || H5Iget_type(current.get()) != H5I_GROUP) return {-1, H5Oclose};
    current = open_child(current.get(), part);
  }
  return current;
}

graph::Shape shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  hsize_t extents[kRankMax];
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0 || rank > kRankMax || H5Sget_simple_extent_dims(space.get(), extents, nullptr) < 0) return {-1};
  return {extents, extents + rank};
}

/// Integers are welcome where a weight is not trained: Keras counts in them.
bool holds_numbers_itself(hid_t dataset, bool trainable) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  return (kind == H5T_FLOAT || (kind == H5T_INTEGER && !trainable)) && H5Pget_external_count(creation.get()) == 0 &&
         H5Pget_layout(creation.get()) != H5D_VIRTUAL;
}

std::string up_to_its_end(const char* text, size_t size) {
  return {text, std::find(text, text + size, '\0')};
}

/// Strings of one length, padded. They lie in the file as they are, so they cannot be longer than it.
std::optional<std::vector<std::string>> padded_strings(hid_t attribute, hid_t type, size_t count, int64_t file_bytes) {
  const size_t size = H5Tget_size(type);
  if (size == 0 || count > static_cast<size_t>(file_bytes) / size) return std::nullopt;
  std::string all(size * count, '\0');
  if (H5Aread(attribute, type, all.data()) < 0) return std::nullopt;
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) strings.push_back(up_to_its_end(all.data() + i * size, size));
  return strings;
}

std::optional<std::vector<std::string>> free_strings(hid_t attribute, hid_t space, size_t count, int64_t file_bytes) {
  if (count > static_cast<size_t>(file_bytes)) return std::nullopt;
  const Handle file_type(H5Aget_type(attribute), H5Tclose), type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5Tget_cset(file_type.get()));
  std::vector<char*> read(count, nullptr);
  if (H5Aread(attribute, type.get(), read.data()) < 0) return std::nullopt;
  std::vector<std::string> strings;
  for (const char* const text : read) strings.emplace_back(text == nullptr ? "" : text);
  H5Dvlen_reclaim(type.get(), space, H5P_DEFAULT, read.data());
  return strings;
}

}  // namespace

std::vector<std::string> hdf5_path_parts(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '/');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool is_hdf5(std::string_view first_bytes) {
  return first_bytes.starts_with("\x89HDF\r\n\x1a\n");
}

Hdf5Image::Hdf5Image(std::string_view bytes, const std::string& what)
    : file_bytes_(static_cast<int64_t>(bytes.size())),
      budget_bytes_(std::max(kExpansionFloorBytes, kExpansionMax * file_bytes_)) {
  const hdf5::Lock lock;
  const Handle access = hdf5::memory_access();
  // HDF5 takes a mutable pointer, and copies from it.
  void* const image = const_cast<char*>(bytes.data());
  if (!bytes.empty() && H5Pset_file_image(access.get(), image, bytes.size()) >= 0) {
    file_ = H5Fopen(hdf5::memory_file().c_str(), H5F_ACC_RDONLY, access.get());
  }
  if (file_ < 0) {
    throw user_error(
        fmt::format("[keras] {} is not a readable HDF5 file ({} bytes); is it complete?", what, bytes.size()));
  }
}

Hdf5Image::~Hdf5Image() {
  const hdf5::Lock lock;
  H5Fclose(file_);
}

int64_t Hdf5Image::children(const std::string& group) const {
  const hdf5::Lock lock;
  const Handle found = open_path(file_, group);
  H5G_info_t info;
  if (!found || H5Iget_type(found.get()) != H5I_GROUP || H5Gget_info(found.get(), &info) < 0) return -1;
  return static_cast<int64_t>(info.nlinks);
}

std::optional<std::vector<std::string>> Hdf5Image::strings(const std::string& group,
                                                           const std::string& attribute) const {
  const hdf5::Lock lock;
  const Handle place = open_path(file_, group);
  if (!place || H5Aexists(place.get(), attribute.c_str()) <= 0) return std::nullopt;
  const Handle found(H5Aopen(place.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(found.get()), H5Sclose), type(H5Aget_type(found.get()), H5Tclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count == 0) return std::vector<std::string>{};  // whatever its type: numpy's empty list is one of numbers
  std::optional<std::vector<std::string>> result;
  if (count > 0 && count <= kStringsMax && H5Tget_class(type.get()) == H5T_STRING) {
    const auto strings = static_cast<size_t>(count);
    result = H5Tis_variable_str(type.get()) > 0 ? free_strings(found.get(), space.get(), strings, file_bytes_)
                                                : padded_strings(found.get(), type.get(), strings, file_bytes_);
  }
  if (!result) {
    throw user_error(fmt::format("[keras] the attribute '{}' of '/{}' is not text that can be read; is it complete?",
                                 attribute, group));
  }
  return result;
}

std::optional<std::vector<std::string>> Hdf5Image::list(const std::string& group, const std::string& attribute) const {
  constexpr int kPartsMax = 10'000;
  if (auto names = strings(group, attribute)) return names;
  std::vector<std::string> all;
  for (int part = 0; part < kPartsMax; ++part) {
    const auto names = strings(group, fmt::format("{}{}", attribute, part));
    if (!names) return part == 0 ? std::nullopt : std::optional(all);
    all.insert(all.end(), names->begin(), names->end());
  }
  throw user_error(fmt::format("[keras] '{}' of '/{}' has too many parts (limit {})", attribute, group, kPartsMax));
}

std::vector<float> Hdf5Image::read_array(const std::string& path, const graph::Node& node,
                                         const graph::Weight& weight) {
  const auto refuse = [&](const std::string& why) {
    throw user_error(
        fmt::format("[keras] layer '{}' ({}): weight '{}' ({}) {}", node.name, node.op, weight.name, path, why));
  };
  const hdf5::Lock lock;
  const Handle dataset = open_path(file_, path);
  if (!dataset || H5Iget_type(dataset.get()) != H5I_DATASET) refuse("is missing; save the whole model, built");
  const graph::Shape found = shape_of(dataset.get());
  if (found != weight.shape) {
    refuse(fmt::format("has the shape {} where the layer needs {}", graph::to_string(found),
                       graph::to_string(weight.shape)));
  }
  if (!holds_numbers_itself(dataset.get(), weight.trainable))
    refuse("is not an array of floating point numbers; save it as float32");
  // A product of checked factors: each partial product stays within the budget.
  int64_t bytes = static_cast<int64_t>(sizeof(float));
  for (const int64_t extent : weight.shape) {
    if (extent > 0 && bytes > budget_bytes_ / extent) refuse("is larger than the file can hold");
    bytes *= extent;
  }
  budget_bytes_ -= bytes;
  std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
  if (H5Dread(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    refuse("cannot be read; is the file complete?");
  }
  return values;
}

}  // namespace linac::keras
