#include "linac/io/data/formats/hdf5_variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <unordered_map>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/data/formats/hdf5_references.h"

namespace linac::data {
namespace {

using hdf5::Handle;

/// An element on the disk, little endian: its length, the address of a heap, and which of its objects it is.
constexpr size_t kAddressBytes = 8, kElementBytes = 4 + kAddressBytes + 4;
/// "GCOL", version, three bytes, size of all; of an object index, references, four bytes, size.
constexpr size_t kHeapHead = 16, kObjectHead = 16;
constexpr uint64_t kHeapsBytes = uint64_t{64} << 20;  // that are kept, but for the last one

template <class T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Heap {
  uint64_t address = 0;
  std::vector<std::byte> bytes;
  std::unordered_map<uint32_t, std::span<const std::byte>> objects;
};

/// Those of a file, as far as they are wanted.
class Heaps {
 public:
  explicit Heaps(const FileSource& file) : file_(file) {}

  /// The bytes of an object; none where there is no such one.
  std::span<const std::byte> find(uint64_t address, uint32_t object) {
    auto heap = std::ranges::find(heaps_, address, &Heap::address);
    if (heap == heaps_.end()) {
      add(address);
      heap = heaps_.end() - 1;
    }
    const auto found = heap->objects.find(object);
    return found == heap->objects.end() ? std::span<const std::byte>() : found->second;
  }

 private:
  void add(uint64_t address) {
    Heap heap{.address = address, .bytes = std::vector<std::byte>(kHeapHead), .objects = {}};
    if (address <= file_.size() && file_.size() - address >= kHeapHead) file_.read(address, heap.bytes);
    const bool is_one = std::memcmp(heap.bytes.data(), "GCOL\1", 5) == 0;
    const uint64_t size = is_one ? number_at<uint64_t>(heap.bytes, 8) : 0;
    if (size >= kHeapHead && size <= file_.size() - address) {
      heap.bytes.resize(size);
      file_.read(address, heap.bytes);
      list_objects(heap);
    }
    heaps_.push_back(std::move(heap));
    held_ += heaps_.back().bytes.size();
    for (; held_ > kHeapsBytes && heaps_.size() > 1; heaps_.pop_front()) held_ -= heaps_.front().bytes.size();
  }

  static void list_objects(Heap& heap) {
    const std::span<const std::byte> all(heap.bytes);
    for (size_t at = kHeapHead; at + kObjectHead <= all.size();) {
      const auto index = number_at<uint16_t>(all, at);
      const auto size = number_at<uint64_t>(all, at + 8);
      if (index == 0 || size > all.size() - at - kObjectHead) return;  // what is free, at the end
      heap.objects[index] = all.subspan(at + kObjectHead, size);
      at += kObjectHead + (size + 7) / 8 * 8;
    }
  }

  const FileSource& file_;
  std::deque<Heap> heaps_;  // the newest last
  uint64_t held_ = 0;       // bytes
};

}  // namespace

class VariableLists::File {
 public:
  File(const std::filesystem::path& path, const std::string& file, const std::string& name,
       const std::function<Handle()>& memory)
      : where_(fmt::format("[hdf5] {}: '{}'", file, name)), bytes_(path), heaps_(bytes_) {
    const hdf5::Lock lock;
    file_ = open_hdf5(path, file);
    set_ = Handle(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!set_) throw data_error(fmt::format("{} cannot be opened ({})", where_, hdf5::last_error()));
    const Handle creation(H5Fget_create_plist(file_.get()), H5Pclose), stored(H5Dget_type(set_.get()), H5Tclose);
    size_t address = 0, length = 0;
    hsize_t user_block = 0;
    H5Pget_sizes(creation.get(), &address, &length);
    H5Pget_userblock(creation.get(), &user_block);
    if (address != kAddressBytes || length != sizeof(uint64_t) || user_block != 0)
      throw data_error(
          fmt::format("{} cannot be read: the file has addresses of another size, or a user block", where_));
    value_ = Handle(H5Tget_super(stored.get()), H5Tclose);
    number_ = memory();
    value_bytes_ = H5Tget_size(value_.get());
    number_bytes_ = H5Tget_size(number_.get());
    elements_ = std::make_unique<StoredElements>(set_.get(), bytes_, kElementBytes, where_);
  }

  ~File() {
    const hdf5::Lock lock;
    elements_.reset();
    number_.close();
    value_.close();
    set_.close();
    file_.close();
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::vector<std::byte> read(int64_t first, int64_t count, std::vector<uint32_t>& rows) {
    const hdf5::Lock lock;
    const std::vector<std::byte> elements = elements_->read(first, count);
    std::vector<std::byte> values;
    rows.assign(static_cast<size_t>(count), 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = number_at<uint32_t>(elements, i * kElementBytes);
      if (rows[i] == 0) continue;
      const std::span<const std::byte> found =
          heaps_.find(number_at<uint64_t>(elements, i * kElementBytes + 4),
                      number_at<uint32_t>(elements, i * kElementBytes + 4 + kAddressBytes));
      const uint64_t wanted = rows[i] * uint64_t{value_bytes_};
      if (found.size() != wanted)
        throw data_error(
            fmt::format("{}: event {} has a list of {}, and {} bytes are stored for it in place of {}; copy or write "
                        "the file again",
                        where_, first + static_cast<int64_t>(i), plural(rows[i], "value"), found.size(), wanted));
      // Heaps are not packed, and each list has an object of its own.
      if (wanted > bytes_.size() - values.size())
        throw data_error(
            fmt::format("{}: event {} and those before it have more values than the file has room for; copy "
                        "or write the file again",
                        where_, first + static_cast<int64_t>(i)));
      values.insert(values.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted));
    }
    convert(values);
    return values;
  }

 private:
  /// In place, which wants room for the larger ones.
  void convert(std::vector<std::byte>& values) const {
    const size_t count = values.size() / value_bytes_;
    values.resize(count * std::max(value_bytes_, number_bytes_));
    if (count > 0 && H5Tconvert(value_.get(), number_.get(), count, values.data(), nullptr, H5P_DEFAULT) < 0)
      throw data_error(fmt::format("{}: its numbers cannot be converted ({})", where_, hdf5::last_error()));
    values.resize(count * number_bytes_);
  }

  const std::string where_;
  const FileSource bytes_;
  Heaps heaps_;
  Handle file_, set_, value_, number_;  // value_: as stored
  size_t value_bytes_ = 1, number_bytes_ = 1;
  std::unique_ptr<StoredElements> elements_;
};

VariableLists::VariableLists(const std::filesystem::path& path, const std::string& file, const std::string& name,
                             const std::function<Handle()>& memory)
    : file_(std::make_unique<File>(path, file, name, memory)) {}

VariableLists::~VariableLists() = default;

std::vector<std::byte> VariableLists::read(int64_t first, int64_t count, std::vector<uint32_t>& rows) const {
  return file_->read(first, count, rows);
}

}  // namespace linac::data
