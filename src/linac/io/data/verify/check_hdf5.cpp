// Every data set of the file, chunk by chunk: HDF5's filters compare checksums and unpack.

#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>

#include "linac/base/base/plural.h"
#include "linac/io/data/verify/child_check.h"
#include "linac/io/data/verify/findings.h"
#include "linac/io/hdf5/handle.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Extents = std::vector<hsize_t>;

constexpr uint64_t kBlockBytes = uint64_t{8} << 20;
constexpr hsize_t kChunksListedMax = 4096;  // HDF5 1.10 counts from the first one for each

uint64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), uint64_t{1}, std::multiplies<>());
}

herr_t add_link(hid_t, const char* name, const H5L_info_t* info, void* names) {
  // Soft and external links lead to what is read under its own name, or to another file.
  if (info->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// The largest block that is no more than kBlockBytes, whole along the last axes.
Extents block_of(const Extents& extents, size_t value_bytes) {
  Extents block = extents;
  for (size_t axis = 0; axis < block.size(); ++axis) {
    const uint64_t bytes = product(block) * value_bytes;
    if (bytes <= kBlockBytes) break;
    const uint64_t below = bytes / block[axis];
    block[axis] = std::max<hsize_t>(1, kBlockBytes / std::max<uint64_t>(below, 1));
  }
  return block;
}

/// One data set. Its members are used under a Lock.
class SetCheck {
 public:
  SetCheck(hid_t file, const std::string& name) : set_(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose) {
    if (!set_) throw data_error(fmt::format("cannot be opened ({})", hdf5::last_error()));
    const Handle stored(H5Dget_type(set_.get()), H5Tclose);
    type_ = Handle(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND), H5Tclose);
    if (!type_) type_ = Handle(H5Tcopy(stored.get()), H5Tclose);
    value_bytes_ = H5Tget_size(type_.get());
    owns_memory_ = H5Tdetect_class(stored.get(), H5T_VLEN) > 0 || H5Tdetect_class(stored.get(), H5T_STRING) > 0;
    extents_ = hdf5::shape_of(set_.get());
    const Handle space(H5Dget_space(set_.get()), H5Sclose);
    is_empty_ = H5Sget_simple_extent_npoints(space.get()) <= 0;
    const Handle properties(H5Dget_create_plist(set_.get()), H5Pclose);
    look_at_filters(properties.get());
    if (H5Pget_layout(properties.get()) == H5D_CHUNKED) {
      block_.resize(extents_.size());
      H5Pget_chunk(properties.get(), static_cast<int>(block_.size()), block_.data());
      list_chunks();
    } else {
      block_ = block_of(extents_, value_bytes_);
    }
    next_.assign(extents_.size(), 0);
  }

  ~SetCheck() {
    const hdf5::Lock lock;
    type_ = Handle();
    set_ = Handle();
  }
  SetCheck(const SetCheck&) = delete;
  SetCheck& operator=(const SetCheck&) = delete;

  /// Data error where a filter of the set is not installed.
  void need_filters() const {
    if (!missing_filter_.empty()) throw data_error(missing_filter_);
  }
  bool has_checksum() const { return has_checksum_; }
  int64_t stored_bytes() const { return static_cast<int64_t>(H5Dget_storage_size(set_.get())); }
  double blocks() const {
    if (chunks_) return static_cast<double>(chunks_->size());
    double blocks = 1;
    for (size_t axis = 0; axis < extents_.size(); ++axis)
      blocks *= static_cast<double>((extents_[axis] + block_[axis] - 1) / block_[axis]);
    return blocks;
  }

  /// Where the next block begins; nothing at the end.
  std::optional<Extents> next() {
    if (is_empty_) return std::nullopt;
    if (chunks_) return place_ < chunks_->size() ? std::optional((*chunks_)[place_++]) : std::nullopt;
    if (at_end_) return std::nullopt;
    const Extents now = next_;
    at_end_ = true;
    for (size_t axis = extents_.size(); axis-- > 0;) {
      next_[axis] += block_[axis];
      if (next_[axis] < extents_[axis]) {
        at_end_ = false;
        break;
      }
      next_[axis] = 0;
    }
    return now;
  }

  /// Data error with HDF5's reason.
  void read(const Extents& begin) {
    Extents count = block_;
    for (size_t axis = 0; axis < count.size(); ++axis)
      count[axis] = std::min(count[axis], extents_[axis] - begin[axis]);
    const Handle space(H5Dget_space(set_.get()), H5Sclose);
    const auto rank = static_cast<int>(count.size());
    const Handle memory(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, count.data(), nullptr), H5Sclose);
    if (rank > 0) H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    room_.resize(product(count) * value_bytes_);
    if (H5Dread(set_.get(), type_.get(), memory.get(), space.get(), H5P_DEFAULT, room_.data()) < 0)
      throw data_error(hdf5::last_error());
    if (owns_memory_) H5Dvlen_reclaim(type_.get(), memory.get(), H5P_DEFAULT, room_.data());
  }

  std::string where(const Extents& begin) const {
    if (begin.empty()) return "its value";
    const auto first = static_cast<int64_t>(begin[0]);
    return events_in_words(first, static_cast<int64_t>(std::min(block_[0], extents_[0] - begin[0])));
  }

 private:
  void look_at_filters(hid_t properties) {
    missing_filter_ = hdf5::missing_filter(set_.get());
    for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
      unsigned flags = 0, config = 0;
      size_t values = 0;
      if (H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config) ==
          H5Z_FILTER_FLETCHER32)
        has_checksum_ = true;
    }
  }

  /// Only what is stored: a set may be said to be larger than any disk.
  void list_chunks() {
    hsize_t count = 0;
    const Handle space(H5Dget_space(set_.get()), H5Sclose);
    if (H5Dget_num_chunks(set_.get(), space.get(), &count) < 0 || count > kChunksListedMax) return;
    chunks_.emplace();
    for (hsize_t i = 0; i < count; ++i) {
      Extents begin(extents_.size());
      if (H5Dget_chunk_info(set_.get(), space.get(), i, begin.data(), nullptr, nullptr, nullptr) < 0)
        throw data_error(fmt::format("its list of chunks cannot be read ({})", hdf5::last_error()));
      const bool inside = std::ranges::equal(begin, extents_, std::less<>());
      if (!inside) throw data_error("has a chunk beyond its end");
      chunks_->push_back(std::move(begin));
    }
  }

  Handle set_, type_;
  size_t value_bytes_ = 0;
  bool owns_memory_ = false, has_checksum_ = false, is_empty_ = false, at_end_ = false;
  std::string missing_filter_;
  Extents extents_, block_, next_;
  std::optional<std::vector<Extents>> chunks_;
  size_t place_ = 0;
  std::vector<std::byte> room_;
};

class Hdf5Check {
 public:
  /// `name` is what messages call the file.
  Hdf5Check(const std::filesystem::path& path, const std::string& name, Findings& findings) : findings_(findings) {
    const hdf5::Lock lock;
    file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file_) throw data_error(fmt::format("[hdf5] {}: cannot be opened as HDF5 ({})", name, hdf5::last_error()));
    if (H5Lvisit(file_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, add_link, &names_) < 0)
      findings.damaged("its groups", hdf5::last_error());
  }
  ~Hdf5Check() {
    const hdf5::Lock lock;
    file_ = Handle();
  }
  Hdf5Check(const Hdf5Check&) = delete;
  Hdf5Check& operator=(const Hdf5Check&) = delete;

  void run() {
    int64_t sets = 0, with_checksum = 0;
    for (const std::string& name : names_) {
      const std::string where = fmt::format("data set '{}'", name);
      findings_.at(where);
      findings_.guarded(where, [&] {
        const auto set = opened(name);
        if (!set) return;
        set->need_filters();
        ++sets;
        if (set->has_checksum()) ++with_checksum;
        check_set(*set, where);
      });
    }
    const std::string words = plural(sets, "data set");
    findings_.checked(with_checksum == 0
                          ? fmt::format("all values of {} (without checksums)", words)
                          : fmt::format("all values of {}, {} of them with Fletcher-32", words, with_checksum),
                      with_checksum > 0);
  }

 private:
  /// Null for what is no data set.
  std::unique_ptr<SetCheck> opened(const std::string& name) const {
    const hdf5::Lock lock;
    const Handle object(H5Oopen(file_.get(), name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object) throw data_error(fmt::format("cannot be opened ({})", hdf5::last_error()));
    if (H5Iget_type(object.get()) != H5I_DATASET) return nullptr;
    return std::make_unique<SetCheck>(file_.get(), name);
  }

  void check_set(SetCheck& set, const std::string& where) {
    int64_t bytes = 0;
    double blocks = 1;
    {
      const hdf5::Lock lock;
      bytes = set.stored_bytes();
      blocks = set.blocks();
    }
    while (const auto begin = set.next()) {
      findings_.guarded(where + ", " + set.where(*begin), [&] {
        const hdf5::Lock lock;
        set.read(*begin);
      });
      findings_.read(static_cast<int64_t>(static_cast<double>(bytes) / blocks));
    }
  }

  Findings& findings_;
  Handle file_;
  std::vector<std::string> names_;
};

}  // namespace

void check_hdf5(const SourcePtr& source, Findings& findings) {
  const std::filesystem::path path = source->local();
  check_in_child(findings, [&](Findings& told) { Hdf5Check(path, source->url(), told).run(); });
}

}  // namespace linac::data
