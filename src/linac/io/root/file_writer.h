#pragma once
// A ROOT file in the making, whole or absent: records one after the other, with places of 64 bits throughout. No time
// of writing is in it: the same content makes the same bytes. Used by one thread. Layout: as of file.h.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/io/root/file.h"
#include "linac/io/root/record.h"

namespace linac::root {

class FileWriter {
 public:
  /// Environment error when the file cannot be made. It is made beside `path`, hidden until close().
  explicit FileWriter(std::filesystem::path path);
  /// Without close() nothing is left of the file.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Writes a record that the list of keys names. Environment error when the disk is full, here and below.
  void add(const Record& record);
  /// Writes a basket of `events` events, all of as many bytes; where it lies.
  Key add_basket(const std::string& tree, const std::string& branch, std::span<const std::byte> values, int64_t events);
  /// Completes the file and puts it in its place, over a former one.
  void close();

 private:
  enum class Pack { kNo, kIfSmaller };
  Key write_record(const RecordName& name, std::span<const std::byte> more_head, std::span<const std::byte> content,
                   Pack pack);
  Key write_keys();
  Key write_free();
  BigEndianBytes begin(const Key& infos, const Key& keys, const Key& free) const;
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  [[noreturn]] void fail() const;

  const std::filesystem::path path_, part_;
  const RecordName itself_;
  Descriptor file_;
  std::vector<Key> keys_;
  uint64_t end_ = 0;
  uint64_t hash_[2] = {0, 0};  // of all records
  bool in_place_ = false;
};

}  // namespace linac::root
