#include "linac/io/root/file.h"

#include <algorithm>
#include <map>

#include "linac/io/root/blocks.h"

namespace linac::root {
namespace {

constexpr int32_t kLargeFileVersion = 1'000'000;
constexpr uint16_t kLargeKeyVersion = 1000;
constexpr uint64_t kHeadBytesMax = 75;
constexpr uint64_t kFolderBytesMax = 60;

uint64_t place(Cursor& cursor, bool large) {
  return large ? cursor.big<uint64_t>() : cursor.big<uint32_t>();
}

}  // namespace

std::string read_string(Cursor& cursor) {
  const auto small = cursor.big<uint8_t>();
  return cursor.text(small == 255 ? cursor.big<uint32_t>() : small);
}

Key read_key(Cursor& cursor) {
  Key key;
  const auto bytes = cursor.big<int32_t>();
  if (bytes < 0) cursor.fail("has a record that was deleted");
  key.bytes = static_cast<uint32_t>(bytes);
  const bool large = cursor.big<uint16_t>() > kLargeKeyVersion;
  key.unpacked = cursor.big<uint32_t>();
  cursor.skip(4);  // date
  key.head = cursor.big<uint16_t>();
  key.cycle = cursor.big<uint16_t>();
  key.seek = place(cursor, large);
  place(cursor, large);  // of the folder
  key.class_name = read_string(cursor);
  key.name = read_string(cursor);
  key.title = read_string(cursor);
  return key;
}

File::File(std::unique_ptr<storage::Reader> reader, std::string name)
    : reader_(std::move(reader)), name_(std::move(name)), size_(static_cast<uint64_t>(reader_->size())) {
  std::vector<std::byte> bytes;
  read(0, std::min(size_, kHeadBytesMax), bytes);
  Cursor head(bytes, say("the file's head"));
  if (head.text(4) != "root") head.fail("is not that of a ROOT file");
  const bool large = head.big<int32_t>() >= kLargeFileVersion;
  const uint64_t begin = head.big<uint32_t>();
  const uint64_t end = place(head, large);
  if (end > size_) {
    throw data_error(
        say(fmt::format("the file ends at byte {}, its content at {}; copy it again, or wait until it is "
                        "written",
                        size_, end)));
  }
  place(head, large);  // free segments
  head.skip(8);
  const uint64_t name_bytes = head.big<uint32_t>();
  read_folder(begin + name_bytes, "", 0);
}

std::string File::say(const std::string& what) const {
  return fmt::format("[root] {}: {}", name_, what);
}

void File::read(uint64_t offset, uint64_t bytes, std::vector<std::byte>& out) const {
  if (offset > size_ || bytes > size_ - offset) {
    throw data_error(
        say(fmt::format("a record of {} bytes at byte {} lies beyond the end of the file; copy or write "
                        "the file again",
                        bytes, offset)));
  }
  out.resize(bytes);
  reader_->read(static_cast<int64_t>(offset), out);
}

std::vector<std::byte> File::content(const Key& key) const {
  std::vector<std::byte> record, room;
  read(key.seek, key.bytes, record);
  if (key.head > key.bytes)
    throw data_error(
        say(fmt::format("the key of '{}' is longer than its record; copy or write the file again", key.name)));
  const auto content =
      unpacked(std::span(record).subspan(key.head), key.unpacked, room, say(fmt::format("'{}'", key.name)));
  return {content.begin(), content.end()};
}

void File::read_folder(uint64_t at, const std::string& path, int depth) {
  const std::string where = say(path.empty() ? "the list of keys" : fmt::format("the folder '{}'", path));
  if (depth > kFoldersDeepMax) throw data_error(where + " lies too deep; write the file again");
  if (std::ranges::find(folders_, at) != folders_.end()) throw data_error(where + " holds itself; write it again");
  folders_.push_back(at);
  std::map<std::string, uint16_t> newest;
  const std::vector<Key> found = folder_keys(at, where);
  for (const Key& key : found) {
    uint16_t& cycle = newest[key.name];
    cycle = std::max(cycle, key.cycle);
  }
  for (Key key : found) {
    if (key.cycle != newest[key.name]) continue;
    if (!path.empty()) key.name = path + "/" + key.name;
    if (key.class_name == "TDirectory" || key.class_name == "TDirectoryFile")
      read_folder(key.seek + key.head, key.name, depth + 1);
    else
      keys_.push_back(std::move(key));
  }
}

std::vector<Key> File::folder_keys(uint64_t at, const std::string& where) {
  std::vector<std::byte> bytes;
  read(at, at < size_ ? std::min(size_ - at, kFolderBytesMax) : kFolderBytesMax, bytes);
  Cursor folder(bytes, where);
  const bool large = folder.big<uint16_t>() > kLargeKeyVersion;
  folder.skip(8);  // dates
  const uint64_t list_bytes = folder.big<uint32_t>();
  folder.skip(4);
  place(folder, large);
  place(folder, large);
  const uint64_t list = place(folder, large);
  std::vector<Key> found;
  if (list == 0) return found;
  read(list, list_bytes, bytes);
  Cursor cursor(bytes, where);
  cursor.go_to(read_key(cursor).head);
  const auto count = cursor.big<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    if (++seen_ > kKeysMax) cursor.fail("has more keys than are read");
    found.push_back(read_key(cursor));
  }
  return found;
}

}  // namespace linac::root
