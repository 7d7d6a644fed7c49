#pragma once
// Objects of a bucket: described, read in ranges, listed, written. One thread a session.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/storage/s3/request.h"
#include "linac/io/storage/store.h"

namespace linac::storage::s3 {

struct ObjectState {
  int64_t size = 0;
  std::string etag;      // quoted, as the server gives it; changes with the content; empty: it keeps none
  std::string modified;  // as the server says it, in whole seconds
};

/// What Reader::version() says of an object; empty where its server names none.
std::string version_of(const Access& access, const std::string& etag, const std::string& modified);

/// Data error if there is no such object.
ObjectState look(Session& session, const Address& address);
/// Nothing if there is none.
std::optional<ObjectState> look_if_there(Session& session, const Address& address);

/// Ranges of the object as it was when it was looked at: data error if it changed since. A transfer that breaks goes on
/// where it stopped.
class ObjectReader : public Reader {
 public:
  ObjectReader(Access access, Address address, Patience patience = {});
  /// Of an object that was looked at already: several may read it side by side.
  ObjectReader(Access access, Address address, ObjectState state, Patience patience = {});
  int64_t size() const override { return state_.size; }
  const ObjectState& state() const { return state_; }
  void read(int64_t offset, std::span<std::byte> bytes) override;
  std::string version() const override;
  std::unique_ptr<Reader> another() const override;

 private:
  Session session_;
  Address address_;
  ObjectState state_;
};

/// One level of a bucket: the objects and the "folders" (up to the next slash) whose keys begin with `prefix`.
struct Level {
  std::vector<ListedObject> objects;
  std::vector<std::string> folders;
};
/// User error beyond kListedMax of both.
Level list_level(Session& session, const Address& prefix);
inline constexpr size_t kListedMax = 1'000'000;

inline constexpr size_t kPartBytes = size_t{16} << 20;  // more than that is written in parts

/// `content`, all or nothing: readers see the former object until all parts are there. What fails is aborted, so that
/// the server keeps no parts.
void write_object(Session& session, const Address& address, std::string_view content,
                  size_t part_bytes_least = kPartBytes);
/// The same with a file's.
void write_file_object(Session& session, const Address& address, const std::filesystem::path& file);

}  // namespace linac::storage::s3
