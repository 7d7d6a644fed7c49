#pragma once
// Where files are, by the scheme of their address: one Store a scheme, in the table of store.cpp. A new scheme is a
// class and a line there. Stores have no state of their own: all functions are thread-safe, and safe against other
// processes. Errors: user errors for addresses that make no sense or that the scheme cannot serve, data errors for
// files that are not there or not as they should be, environment errors for network, permissions and space.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::storage {

/// What may go well later: a network that breaks, a server that is busy, after all attempts.
class Temporary : public Error {
 public:
  using Error::Error;
};
/// The server cannot be reached, after all attempts.
class Unreachable : public Temporary {
 public:
  using Temporary::Temporary;
};
/// A file is another one than it was when it was looked at.
class Changed : public Error {
 public:
  using Error::Error;
};

/// A file that is read in pieces. Not thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual int64_t size() const = 0;
  /// Fills `bytes` from `offset` on; they lie within the file. Where version() says something: the bytes of that
  /// version, or Changed.
  virtual void read(int64_t offset, std::span<std::byte> bytes) = 0;
  /// Of a file of another host: what tells its content from any other under this address, as the server says it (an
  /// ETag, else a date). Empty: it says nothing, or sends no parts of files; then the file is fetched whole.
  virtual std::string version() const { return {}; }
  /// A reader of the same version for another thread, which may ask while this one reads; null: Store::open() makes
  /// one.
  virtual std::unique_ptr<Reader> another() const { return nullptr; }
};

struct Listed {
  std::string url;
  int64_t size = 0;
  std::string version = {};  // as Reader::version(); empty where the listing does not say it
};

/// A small file, whole, as it was at one moment.
struct SmallFile {
  std::string content;
  std::string version;          // tells it from one with another content
  std::optional<double> age_s;  // since it was written, by the clock of who keeps it, where that is said
};
inline constexpr size_t kSmallFileBytesMax = size_t{16} << 20;

class Store {
 public:
  virtual ~Store() = default;

  /// The files that the pattern names, sorted; a name without wildcards stays as it is, whether there or not.
  virtual std::vector<std::string> glob(const std::string& pattern) const = 0;
  /// The same, with size and version where the listing itself says them; else the version is empty.
  virtual std::vector<Listed> find(const std::string& pattern) const;
  /// The files directly in a folder, sorted; its folders are left out.
  virtual std::vector<Listed> list(const std::string& folder) const = 0;
  virtual int64_t size(const std::string& url) const = 0;
  virtual std::unique_ptr<Reader> open(const std::string& url) const = 0;
  /// A readable file of this host with the content: the file itself, or a copy in the cache that stays there while this
  /// process lives.
  virtual std::filesystem::path local(const std::string& url) const = 0;
  /// All or nothing: nobody sees a part, and what was there before stays if it fails. Makes the folders on the way.
  virtual void write(const std::string& url, std::string_view content) const = 0;
  /// The same with the content of a local file.
  virtual void put(const std::string& url, const std::filesystem::path& file) const = 0;
  /// Fails where writing must fail, as far as that can be known before: for what is computed for hours first.
  virtual void need_writable(const std::string& url) const = 0;
  /// What is not there is as good as removed.
  virtual void remove(const std::string& url) const = 0;

  // --- files that several write, each on condition that nobody else has: what folders at a store rest on (folder/)

  /// Whether this store has the two functions below; without, they throw a user error.
  virtual bool has_conditions() const { return false; }
  /// Nothing if there is none.
  virtual std::optional<SmallFile> read_small(const std::string& url) const;
  /// Writes it if the file still is of this version, or, where `version` is empty, if there is none. Returns the new
  /// version; nothing if the condition does not hold, or somebody else writes at this moment. After a lost answer a
  /// condition that held may seem not to: whoever asks looks whether the content is its own. A server that knows no
  /// conditions writes whatever is there.
  virtual std::optional<std::string> replace(const std::string& url, std::string_view content,
                                             const std::string& version) const;
};

/// "http" of "http://host/file", in small letters; nothing for a plain path.
std::optional<std::string> scheme_of(std::string_view url);

/// Whether the scheme is in the table.
bool is_read(std::string_view scheme);

/// By the scheme; a plain path is of the file system. User error for a scheme that is not in the table.
const Store& store_of(const std::string& url);

}  // namespace linac::storage
