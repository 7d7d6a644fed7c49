#pragma once
// From what a user names (a path, a glob, a URL) to local files; store.h has the schemes. What lies elsewhere is
// downloaded once into a cache of bounded size (cache.h) and checked against the server on every later use. All
// functions are thread-safe and safe against other processes that use the same cache.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linac::storage {

struct Listed;  // store.h

/// The files that `url` names: a plain path, a file:// URL or a shell glob (sorted; `~` is the home folder), or
/// one of s3://; an http(s) URL stays as it is. Data error when a pattern matches nothing, user error for a scheme that
/// is not read.
std::vector<std::string> expand(const std::string& url);
/// All files of all `urls`, in this order. User error if there are none.
std::vector<std::string> expand_all(const std::vector<std::string>& urls);

/// The same with size and version of each where a listing says them, so that thousands of files cost a few requests:
/// of s3://. `version` is empty for the others.
std::vector<Listed> find_all(const std::vector<std::string>& urls);

/// A readable local file with the content of `url`, which is one of expand()'s results: the path itself, or the cached
/// copy of what a URL names. Data error when there is no such file, environment error when network or permissions fail.
std::filesystem::path fetch(const std::string& url);

/// Whether it is of another host, as its scheme says; nothing is asked. User error for a scheme that is not read.
bool is_remote(const std::string& url);

/// For the file of a model or the folder of a run: a plain path as it is, whether there or not; for a URL fetch(), or a
/// copy of the folder (folder/folder_copy.h), or of its file.
std::string local_copy(const std::string& name);

/// User error "[where] OUT: is also an input ..." if one of `outs` is one of the files of `inputs`, by whatever path or
/// link. One of another host is what its URL names.
void need_other_files(std::span<const std::string> outs, std::span<const std::string> inputs, std::string_view where);
void need_another_file(const std::string& out, std::span<const std::string> inputs, std::string_view where);

struct Fingerprint {
  int64_t size = 0;
  int64_t mtime_ns = 0;
  /// Of the file under this name, and of its last change, which nobody can set: what replaces a file with its size and
  /// date (tar, rsync -t) has others. ctime_ns is 0 in the cache, whose files change with each use.
  uint64_t inode = 0;
  int64_t ctime_ns = 0;
  std::string content = {};  // XXH3, 128 bits, hexadecimal

  /// The same but for the content. Not the same is also a file whose attributes or links alone have changed.
  bool is_state_of(const Fingerprint& other) const;
  /// "SIZE:MTIME:INODE:CTIME"
  std::string state() const;
};

/// Reads the whole file once; constant memory.
Fingerprint fingerprint(const std::filesystem::path& path);
/// The same without reading the file: `content` stays empty.
Fingerprint quick_fingerprint(const std::filesystem::path& path);
/// Whether the file is still the one of `known`, which becomes its state of now. It is read only where its size and its
/// date are those, and something else of its state is not: then by `content`.
bool is_still(const std::filesystem::path& path, const std::string& content, Fingerprint& known);
/// XXH3, 128 bits, of a text, hexadecimal.
std::string content_hash(std::string_view text);
/// The same of bytes that come in pieces. One thread.
class ContentHash {
 public:
  ContentHash();
  void add(std::span<const std::byte> bytes);
  std::string text() const;

 private:
  std::shared_ptr<void> state_;
};
/// XXH3, 64 bits: for checksums of small pieces.
uint64_t checksum(std::span<const std::byte> bytes);

/// $LINAC_CACHE, else $XDG_CACHE_HOME/linac, else ~/.cache/linac. May not exist yet. Of a user whose home cannot be
/// written, as in many containers, a folder below TMPDIR that is his alone; environment error if that is another's.
std::filesystem::path cache_folder();

}  // namespace linac::storage
