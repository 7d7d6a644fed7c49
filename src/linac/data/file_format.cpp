#include "linac/data/file_format.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "linac/base/error.h"

namespace linac::data {
namespace {

constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kGzipSignature("\x1f\x8b", 2);
constexpr std::string_view kRootSignature("root", 4);
constexpr std::string_view kParquetSignature("PAR1", 4);
constexpr size_t kSignatureBytesMax = 8;

std::string first_bytes(const std::filesystem::path& path, const std::string& name) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw environment_error(fmt::format("[data] {}: cannot be opened ({}); check that it is there and readable", name,
                                        std::strerror(errno)));
  }
  std::array<char, kSignatureBytesMax> bytes{};
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(stream.gcount())};
}

}  // namespace

const char* to_string(FileFormat format) {
  switch (format) {
    case FileFormat::kHdf5:
      return "hdf5";
    case FileFormat::kParquet:
      return "parquet";
    case FileFormat::kRoot:
      return "root";
    case FileFormat::kTfrecord:
      return "tfrecord";
  }
  return "";
}

FileFormat format_of(const std::filesystem::path& path, const std::string& name) {
  const std::string start = first_bytes(path, name);
  if (start.empty()) throw data_error(fmt::format("[data] {}: the file is empty; copy or write it again", name));
  if (start.starts_with(kHdf5Signature)) return FileFormat::kHdf5;
  if (start.starts_with(kParquetSignature)) return FileFormat::kParquet;
  if (start.starts_with(kGzipSignature)) {
    throw data_error(fmt::format(
        "[data] {}: compressed as a whole, so events cannot be picked from it; unpack it with gunzip", name));
  }
  if (start.starts_with(kRootSignature)) return FileFormat::kRoot;
  return FileFormat::kTfrecord;
}

}  // namespace linac::data
