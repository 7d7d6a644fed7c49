#pragma once
// A ROOT file as a container: records with keys in folders. Of keys with the same name the newest counts. Not
// thread-safe. Layout: "TFile" and "TKey" of ROOT's io/doc/TFile.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/root/bytes.h"
#include "linac/io/storage/store.h"

namespace linac::root {

inline constexpr size_t kKeysMax = 1'000'000;
inline constexpr int kFoldersDeepMax = 32;

/// The head of a record.
struct Key {
  uint64_t seek = 0;      // of the record, which begins with its key
  uint32_t bytes = 0;     // of the record
  uint32_t unpacked = 0;  // bytes of the content
  uint16_t head = 0;      // bytes of the key
  uint16_t cycle = 0;
  std::string class_name, name, title;
};

Key read_key(Cursor& cursor);
/// A length of one byte, or 255 and four bytes; then the characters.
std::string read_string(Cursor& cursor);

class File {
 public:
  /// Data error for what is no ROOT file or is damaged; `name` is what messages call it.
  File(std::unique_ptr<storage::Reader> reader, std::string name);

  const std::string& name() const { return name_; }
  /// All but folders, in the file's order; names have their folders, "folder/Events".
  const std::vector<Key>& keys() const { return keys_; }
  /// Into `out`, whose memory is used again. Data error unless the range lies in the file.
  void read(uint64_t offset, uint64_t bytes, std::vector<std::byte>& out) const;
  /// The content of a record, unpacked.
  std::vector<std::byte> content(const Key& key) const;
  /// "[root] a.root: " and `what`.
  std::string say(const std::string& what) const;

 private:
  void read_folder(uint64_t at, const std::string& path, int depth);
  std::vector<Key> folder_keys(uint64_t at, const std::string& path);

  std::unique_ptr<storage::Reader> reader_;
  std::string name_;
  uint64_t size_ = 0;
  std::vector<Key> keys_;
  std::vector<uint64_t> folders_;  // that were read
  size_t seen_ = 0;                // keys, of all cycles
};

}  // namespace linac::root
