#include "linac/io/data/formats/hdf5_texts.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/data/formats/hdf5_text_bytes.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;

bool is_list_of_texts(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (!type || H5Tget_class(type.get()) != H5T_STRING) return false;
  const auto shape = hdf5::shape_of(dataset);
  return shape.size() == 1 || (shape.size() == 2 && shape[1] == 1);
}

}  // namespace

std::string unpadded(const char* text, size_t size, H5T_str_t padding) {
  std::string_view view(text, size);
  if (padding == H5T_STR_NULLTERM) return std::string(view.substr(0, view.find('\0')));
  const size_t last = view.find_last_not_of(padding == H5T_STR_SPACEPAD ? ' ' : '\0');
  return std::string(view.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

class EventTexts::File {
 public:
  File(const std::filesystem::path& path, const std::string& name) : path_(path.string()), name_(name) {
    const hdf5::Lock lock;
    file_ = open_hdf5(path, path_);
    dataset_ = Handle(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset_ || !is_list_of_texts(dataset_.get()))
      throw data_error(fmt::format("[hdf5] {}: '{}' is not a list of texts", path_, name_));
    shape_ = hdf5::shape_of(dataset_.get());
  }

  ~File() {
    const hdf5::Lock lock;
    dataset_ = Handle();
    file_.close();
  }

  int64_t events() const { return static_cast<int64_t>(shape_.front()); }

  std::vector<std::string> read(int64_t first, int64_t count) const {
    if (count == 0) return {};
    const hdf5::Lock lock;
    const Handle stored(H5Dget_type(dataset_.get()), H5Tclose);
    const EventSpaces spaces(dataset_.get(), shape_, first, count);
    if (!stored || !spaces) fail(first);
    return H5Tis_variable_str(stored.get()) > 0
               ? variable(stored.get(), spaces.memory.get(), spaces.file.get(), first, count)
               : fixed(stored.get(), spaces.memory.get(), spaces.file.get(), first, count);
  }

 private:
  [[noreturn]] void fail(int64_t first) const {
    throw data_error(fmt::format("[hdf5] {}: '{}' cannot be read at event {} ({})", path_, name_, first,
                                 hdf5::read_error(dataset_.get())));
  }

  std::vector<std::string> fixed(hid_t stored, hid_t memory, hid_t space, int64_t first, int64_t count) const {
    const size_t size = H5Tget_size(stored);
    std::string bytes(size * static_cast<size_t>(count), '\0');
    if (size == 0 || H5Dread(dataset_.get(), stored, memory, space, H5P_DEFAULT, bytes.data()) < 0) fail(first);
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i)
      texts.push_back(unpadded(bytes.data() + static_cast<size_t>(i) * size, size, H5Tget_strpad(stored)));
    return texts;
  }

  std::vector<std::string> variable(hid_t stored, hid_t memory, hid_t space, int64_t first, int64_t count) const {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5Tget_cset(stored));  // HDF5 converts no characters
    std::vector<char*> texts(static_cast<size_t>(count), nullptr);
    if (H5Dread(dataset_.get(), type.get(), memory, space, H5P_DEFAULT, texts.data()) < 0) fail(first);
    std::vector<std::string> read;
    for (const char* text : texts) read.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type.get(), memory, H5P_DEFAULT, texts.data());
    return read;
  }

  std::string path_, name_;
  Handle file_, dataset_;
  std::vector<hsize_t> shape_;
};

std::vector<std::string> text_names(const std::filesystem::path& path) {
  const hdf5::Lock lock;
  const Handle file = open_hdf5(path, path.string());
  std::vector<std::string> names;
  for (const std::string& name : hdf5::dataset_names(file.get())) {
    const Handle dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (dataset && is_list_of_texts(dataset.get())) names.push_back(name);
  }
  return names;
}

EventTexts::EventTexts(const std::filesystem::path& path, const std::string& name)
    : file_(std::make_unique<File>(path, name)) {}

EventTexts::~EventTexts() = default;

int64_t EventTexts::events() const {
  return file_->events();
}

std::vector<std::string> EventTexts::read(int64_t first, int64_t count) const {
  LINAC_CHECK(first >= 0 && count >= 0 && first <= events() - count);
  return file_->read(first, count);
}

}  // namespace linac::data
