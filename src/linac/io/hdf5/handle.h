#pragma once
// HDF5's C handles with an owner, and its errors as ours. HDF5 is treated as a library that only one thread may be in:
// hold a Lock during every call and while a Handle is destroyed.

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace linac::hdf5 {

/// The turn to use HDF5; also stops it from printing its error stack.
class Lock {
 public:
  Lock();

 private:
  std::scoped_lock<std::mutex> lock_;
};

/// Owns one identifier.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }
  /// Closes now; negative on failure (a file is flushed here).
  herr_t close() { return id_ >= 0 ? close_(std::exchange(id_, -1)) : 0; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Properties for H5Dcreate2() that leave times out: the same values are the same bytes.
Handle timeless_creation();

/// Properties for H5Fcreate() and H5Fopen() of a file that is kept in memory.
Handle memory_access();
/// A name for such a file, another one each time: two of one name are one file to HDF5. It looks for a file of that
/// name on the disk as well, and there is none.
std::string memory_file();

/// The innermost reason HDF5 gives for the last failure on this thread, e.g. "truncated file: eof = 96, ...".
std::string last_error();

/// What a data set is packed by that HDF5 lacks, with the way out; empty: nothing.
std::string missing_filter(hid_t dataset);
/// That, or else last_error(), behind a read that failed.
std::string read_error(hid_t dataset);
/// Makes last_error() say this again behind calls that clear it, as closing a handle does.
void restore_error(const std::string& reason);

/// A text as an attribute of a file, group or data set. False if it cannot be written.
bool write_text(hid_t object, const std::string& name, const std::string& text);

/// The same of a list of texts.
bool write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts);

/// Names of the data sets in the file's root, or in a group.
std::vector<std::string> dataset_names(hid_t file);
/// The same with their shapes: "ECAL [100, 51, 51, 25]".
std::vector<std::string> describe_datasets(hid_t file);

/// Whether a type is h5py's of booleans: an enumeration of FALSE and TRUE in one byte.
bool is_boolean(hid_t type);
/// That type, with 0 and 1.
Handle boolean_type();
/// h5py's type of half-precision numbers, which HDF5 itself does not name.
bool is_half(hid_t type);
Handle half_type();

std::vector<hsize_t> shape_of(hid_t dataset);
std::string to_string(const std::vector<hsize_t>& shape);

}  // namespace linac::hdf5
