#include "linac/io/root/file_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/file_bytes.h"
#include "linac/io/root/blocks.h"
#include "linac/io/root/streamer_infos.h"

namespace linac::root {
namespace {

constexpr uint64_t kBegin = 100;  // of the first record, which is the file's folder
// As ROOT 6.24 writes them; 1000 and 1'000'000 more say that places have 64 bits.
constexpr uint32_t kFileVersion = 1'062'400;
constexpr uint16_t kKeyVersion = 1004, kFolderVersion = 1005, kFreeVersion = 1001, kBasketVersion = 3, kUuidVersion = 1;
constexpr uint32_t kDate = 1 << 22 | 1 << 17;  // TDatime of 1995-01-01, its first day
constexpr uint64_t kFreeStep = 1'000'000'000;
constexpr size_t kBasketHeadBytes = 19, kHeadBytesMax = 32767;

Key key_of(const RecordName& name, uint64_t seek, size_t head, size_t stored, size_t unpacked) {
  return {.seek = seek,
          .bytes = static_cast<uint32_t>(head + stored),
          .unpacked = static_cast<uint32_t>(unpacked),
          .head = static_cast<uint16_t>(head),
          .cycle = 1,
          .class_name = name.class_name,
          .name = name.name,
          .title = name.title};
}

void put_key(BigEndianBytes& out, const Key& key) {
  out.put(key.bytes, kKeyVersion, key.unpacked, kDate, key.head, key.cycle, key.seek, kBegin);
  out.put_text(key.class_name);
  out.put_text(key.name);
  out.put_text(key.title);
}

}  // namespace

FileWriter::FileWriter(std::filesystem::path path)
    : path_(std::move(path)),
      part_(path_.string() + fmt::format(".tmp.{}", ::getpid())),
      itself_{"TFile", path_.filename().string(), ""},
      file_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (!file_) fail();
  end_ = begin({}, {}, {}).size();  // which comes last
}

FileWriter::~FileWriter() {
  if (!in_place_) ::unlink(part_.c_str());
}

void FileWriter::add(const Record& record) {
  keys_.push_back(write_record(record.name(), {}, record.bytes(), Pack::kIfSmaller));
}

Key FileWriter::add_basket(const std::string& tree, const std::string& branch, std::span<const std::byte> values,
                           int64_t events) {
  const RecordName name{"TBasket", branch, tree};
  const size_t last = name.head() + kBasketHeadBytes + values.size();
  const auto count = static_cast<uint32_t>(events);
  BigEndianBytes more;
  more.put(kBasketVersion, static_cast<uint32_t>(last), static_cast<uint32_t>(values.size() / count), count,
           static_cast<uint32_t>(last), uint8_t{0});
  LINAC_CHECK(more.size() == kBasketHeadBytes);
  return write_record(name, more.bytes(), values, Pack::kIfSmaller);
}

Key FileWriter::write_record(const RecordName& name, std::span<const std::byte> more_head,
                             std::span<const std::byte> content, Pack pack) {
  const size_t head = name.head() + more_head.size();
  LINAC_CHECK(head <= kHeadBytesMax && content.size() <= kUnpackedBytesMax);
  std::vector<std::byte> smaller;
  if (pack == Pack::kIfSmaller) smaller = packed(content);
  const std::span<const std::byte> stored = smaller.empty() ? content : std::span<const std::byte>(smaller);
  const Key key = key_of(name, end_, head, stored.size(), content.size());
  BigEndianBytes record;
  put_key(record, key);
  record.put_bytes(more_head);
  record.put_bytes(stored);
  write_at(end_, record.bytes());
  end_ += record.size();
  const XXH128_hash_t hash = XXH3_128bits_withSeed(record.bytes().data(), record.size(), hash_[0]);
  hash_[0] = hash.low64;
  hash_[1] = hash.high64;
  return key;
}

void FileWriter::close() {
  const Record infos = streamer_infos();
  const Key infos_key = write_record(infos.name(), {}, infos.bytes(), Pack::kIfSmaller);
  const Key keys_key = write_keys();
  const Key free_key = write_free();
  write_at(0, begin(infos_key, keys_key, free_key).bytes());
  file_.reset();
  in_place_ = put_in_place(part_, path_);
  if (!in_place_) fail();
}

Key FileWriter::write_keys() {
  BigEndianBytes keys;
  keys.put(static_cast<uint32_t>(keys_.size()));
  for (const Key& key : keys_) put_key(keys, key);
  return write_record(itself_, {}, keys.bytes(), Pack::kNo);
}

/// One free segment: what is behind the end, which is behind this record.
Key FileWriter::write_free() {
  const uint64_t end = end_ + itself_.head() + sizeof kFreeVersion + 2 * sizeof end;
  BigEndianBytes free;
  free.put(kFreeVersion, end, (end / kFreeStep + 2) * kFreeStep);
  const Key key = write_record(itself_, {}, free.bytes(), Pack::kNo);
  LINAC_CHECK(end == end_);
  return key;
}

/// The head and the folder, of the same size whatever they say.
BigEndianBytes FileWriter::begin(const Key& infos, const Key& keys, const Key& free) const {
  BigEndianBytes folder;
  folder.put_text(itself_.name);
  folder.put_text(itself_.title);
  const auto named = static_cast<uint32_t>(itself_.head() + folder.size());
  folder.put(kFolderVersion, kDate, kDate, keys.bytes, named, kBegin, uint64_t{0}, keys.seek, kUuidVersion, hash_[0],
             hash_[1]);
  BigEndianBytes begin;
  begin.put_bytes(std::as_bytes(std::span(std::string_view("root"))));
  begin.put(kFileVersion, static_cast<uint32_t>(kBegin), end_, free.seek, free.bytes, uint32_t{1}, named, uint8_t{8},
            kPackedAs, infos.seek, infos.bytes, kUuidVersion, hash_[0], hash_[1]);
  while (begin.size() < kBegin) begin.put(uint8_t{0});
  put_key(begin, key_of(itself_, kBegin, itself_.head(), folder.size(), folder.size()));
  begin.put_bytes(folder.bytes());
  return begin;
}

void FileWriter::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  if (!linac::write_at(file_.get(), bytes, static_cast<int64_t>(offset))) fail();
}

void FileWriter::fail() const {
  throw environment_error(fmt::format("[root] {}: cannot be written ({}); check folder, permissions and space",
                                      path_.string(), std::generic_category().message(errno)));
}

}  // namespace linac::root
