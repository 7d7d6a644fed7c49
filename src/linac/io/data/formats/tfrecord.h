#pragma once
// Reading the records of a TFRecord file in any order. The format has no index: it is made by walking the file once.
// Thread-safe. The frame of a record is in base/base/tfrecord_frame.h.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace linac::data {

/// Bytes that can be read at any place: a file, or memory in tests and fuzzing.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  /// Fills `out` from `offset`; the range lies inside the source.
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
};

class FileSource : public ByteSource {
 public:
  /// Environment error when the file cannot be opened.
  explicit FileSource(const std::filesystem::path& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::filesystem::path path_;
  int descriptor_;
  uint64_t size_ = 0;
};

/// Borrows the bytes.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::span<const std::byte> bytes_;
};

/// Throws the data error for the record number `record`, whose frame begins at `offset`, of the file called `name`.
[[noreturn]] void refuse_record(const std::string& name, uint64_t record, uint64_t offset, const std::string& why);
/// The length that a frame's header says; data error when its checksum does not fit.
uint64_t length_of_record(std::span<const std::byte> header, const std::string& name, uint64_t record, uint64_t offset);
/// Data error when the footer does not fit the data.
void need_intact(std::span<const std::byte> data, std::span<const std::byte> footer, const std::string& name,
                 uint64_t record, uint64_t offset);

/// Where each record's frame begins. Checks the lengths and their checksums, not the data. Data error naming `name`
/// and the record for a truncated or damaged file.
std::vector<uint64_t> index_records(const ByteSource& source, const std::string& name);

/// The record number `record`, whose frame begins at `offset`, into `out` (whose memory is used again). Checks both
/// checksums; data error naming `name` and the record.
void read_record(const ByteSource& source, uint64_t offset, uint64_t record, const std::string& name,
                 std::vector<std::byte>& out);

}  // namespace linac::data
