#include "linac/io/data/formats/tfrecord.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"

namespace linac::data {
namespace {

constexpr uint64_t kFrameBytes = kTfrecordHeaderBytes + kTfrecordFooterBytes;

/// Length of the record whose frame begins at `offset`; it fits into the source.
uint64_t checked_length(const ByteSource& source, uint64_t offset, uint64_t record, const std::string& name) {
  const char* const cut = "the file ends inside it";
  if (offset > source.size() || source.size() - offset < kFrameBytes) refuse_record(name, record, offset, cut);
  std::array<std::byte, kTfrecordHeaderBytes> header;
  source.read(offset, header);
  const uint64_t length = length_of_record(header, name, record, offset);
  if (length > source.size() - offset - kFrameBytes) refuse_record(name, record, offset, cut);
  return length;
}

}  // namespace

void refuse_record(const std::string& name, uint64_t record, uint64_t offset, const std::string& why) {
  throw data_error(
      fmt::format("[tfrecord] {}: record {} at byte {}: {}; copy or write the file again", name, record, offset, why));
}

uint64_t length_of_record(std::span<const std::byte> header, const std::string& name, uint64_t record,
                          uint64_t offset) {
  try {
    return tfrecord_length(header);
  } catch (const Error& error) {
    if (record == 0) {
      throw data_error(fmt::format(
          "[tfrecord] {}: neither HDF5 nor Parquet nor Arrow nor ROOT nor TFRecord, or damaged at its start; check the file", name));
    }
    refuse_record(name, record, offset, error.what());
  }
}

void need_intact(std::span<const std::byte> data, std::span<const std::byte> footer, const std::string& name,
                 uint64_t record, uint64_t offset) {
  if (tfrecord_data_intact(data, footer)) return;
  refuse_record(name, record, offset, "its checksum (CRC-32C) does not fit, the file is damaged");
}

FileSource::FileSource(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw environment_error(fmt::format("[tfrecord] {}: cannot be opened ({}); check that it is there and readable",
                                        path.string(), std::strerror(reason)));
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

FileSource::~FileSource() {
  ::close(descriptor_);
}

void FileSource::read(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t size = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      throw environment_error(
          fmt::format("[tfrecord] {}: cannot be read at byte {} ({}); did somebody change the file?", path_.string(),
                      offset, size < 0 ? std::strerror(errno) : "it ends there"));
    }
    out = out.subspan(static_cast<size_t>(size));
    offset += static_cast<uint64_t>(size);
  }
}

void MemorySource::read(uint64_t offset, std::span<std::byte> out) const {
  LINAC_CHECK(offset <= bytes_.size() && out.size() <= bytes_.size() - offset);
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

std::vector<uint64_t> index_records(const ByteSource& source, const std::string& name) {
  std::vector<uint64_t> offsets;
  for (uint64_t offset = 0; offset < source.size();) {
    const uint64_t length = checked_length(source, offset, offsets.size(), name);
    offsets.push_back(offset);
    offset += length + kFrameBytes;
  }
  return offsets;
}

void read_record(const ByteSource& source, uint64_t offset, uint64_t record, const std::string& name,
                 std::vector<std::byte>& out) {
  const uint64_t length = checked_length(source, offset, record, name);
  out.resize(length + kTfrecordFooterBytes);
  source.read(offset + kTfrecordHeaderBytes, out);
  const std::span<const std::byte> bytes(out);
  need_intact(bytes.first(length), bytes.subspan(length), name, record, offset);
  out.resize(length);
}

}  // namespace linac::data
