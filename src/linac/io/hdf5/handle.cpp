#include "linac/io/hdf5/handle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>

#include "linac/io/hdf5/lzf.h"

namespace linac::hdf5 {
namespace {

constexpr size_t kNamesMax = 10'000;
constexpr size_t kMemoryIncrementBytes = size_t{1} << 20;  // growth of a file in memory

/// At the end of a process HDF5 writes what is left of files that could not be closed on a full disk, and crashes. All
/// files that can be closed are closed by their owners.
struct Library {
  Library() {
    H5dont_atexit();
    register_lzf();
  }
  std::mutex mutex;
};

std::mutex& library_mutex() {
  static Library library;
  return library.mutex;
}

herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* context) {
  if (error->desc != nullptr) *static_cast<std::string*>(context) = error->desc;
  return 0;
}

herr_t add_name(hid_t group, const char* name, const H5L_info_t*, void* context) {
  auto& names = *static_cast<std::vector<std::string>*>(context);
  const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
  if (object && H5Iget_type(object.get()) == H5I_DATASET) names.emplace_back(name);
  return names.size() < kNamesMax ? 0 : 1;
}

bool write_texts_of(hid_t object, const std::string& name, const Handle& space, const char* const* values) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const Handle attribute(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute && H5Awrite(attribute.get(), type.get(), values) >= 0;
}

}  // namespace

// The error stack belongs to the thread in thread-safe builds of HDF5, so the setting is made on every turn.
Lock::Lock() : lock_(library_mutex()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Handle timeless_creation() {
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);
  return properties;
}

Handle memory_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), kMemoryIncrementBytes, 0);
  return access;
}

std::string memory_file() {
  static std::atomic<int64_t> files{0};
  return fmt::format("/dev/null/{}.h5", files++);
}

std::string last_error() {
  std::string reason = "no reason given";
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* context) -> herr_t {
        return n == 0 ? keep_innermost(n, error, context) : 0;
      },
      &reason);
  if (reason.find("version number") != std::string::npos)
    reason +=
        "; a later HDF5 has written it, unless it is damaged: h5py's libver=('earliest', 'v110') writes what is read";
  return reason;
}

std::string missing_filter(hid_t dataset) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  for (int i = 0; i < H5Pget_nfilters(properties.get()); ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags, &values, nullptr,
                                               name.size(), name.data(), &config);
    if (filter <= 0 || H5Zfilter_avail(filter) > 0) continue;
    return fmt::format(
        "it is packed by the filter {}{}, which is not installed here: set HDF5_PLUGIN_PATH to its folder, or write "
        "the file with h5py's compression='gzip' or 'lzf'",
        filter, name[0] == '\0' ? "" : fmt::format(" ({})", name.data()));
  }
  return "";
}

std::string read_error(hid_t dataset) {
  const std::string reason = last_error();
  const std::string missing = missing_filter(dataset);
  return missing.empty() ? reason : missing;
}

void restore_error(const std::string& reason) {
  H5Eclear2(H5E_DEFAULT);
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_DATASET, H5E_READERROR, "%s", reason.c_str());
}

bool write_text(hid_t object, const std::string& name, const std::string& text) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const char* value = text.c_str();
  return write_texts_of(object, name, space, &value);
}

bool write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts) {
  const hsize_t count = texts.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  std::vector<const char*> values;
  for (const std::string& text : texts) values.push_back(text.c_str());
  return write_texts_of(object, name, space, values.data());
}

std::vector<std::string> dataset_names(hid_t file) {
  std::vector<std::string> names;
  H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &names);
  return names;
}

std::vector<std::string> describe_datasets(hid_t file) {
  std::vector<std::string> described;
  for (const std::string& name : dataset_names(file)) {
    const Handle set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    described.push_back(fmt::format("{} {}", name, set ? to_string(shape_of(set.get())) : "[?]"));
  }
  return described;
}

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

Handle boolean_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  for (const auto& [name, number] : {std::pair("FALSE", int8_t{0}), std::pair("TRUE", int8_t{1})})
    H5Tenum_insert(type.get(), name, &number);
  return type;
}

// IEEE 754-2008, binary16: a sign, 5 bits of exponent, 10 of mantissa.
bool is_half(hid_t type) {
  size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == 2 &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 && exponent_bits == 5 &&
         mantissa_bits == 10;
}

Handle half_type() {
  Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

std::vector<hsize_t> shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank <= 0) return {};
  std::vector<hsize_t> shape(static_cast<size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  return shape;
}

std::string to_string(const std::vector<hsize_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace linac::hdf5
