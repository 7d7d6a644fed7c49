// Files of named tensors as a killed writer, a full disk or a stranger may leave them: what is read is written again as
// the same, and a sound file that lacks its end, or has one bit turned over, is refused.

#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"

namespace {

using namespace linac::weights;

void need(bool condition) {
  if (!condition) std::abort();
}

std::optional<TensorFile> decoded(std::string_view bytes, Digest digest) {
  try {
    return decode_tensors(bytes, "fuzz", digest);
  } catch (const linac::Error&) {  // any other exception is a finding
    return std::nullopt;
  }
}

std::string encoded(const TensorFile& file, Digest digest) {
  std::vector<TensorView> tensors;
  for (const auto& [name, values] : file.tensors)
    tensors.push_back({name, {static_cast<int64_t>(values.size())}, values});
  return encode_tensors(tensors, file.meta, digest);
}

/// As if a checkpoint's writer had written it.
std::string with_digest(std::string_view body) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(body.data(), body.size()));
  return std::string(body) + std::string(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
}

void read_meta_of(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  need(::ftruncate(file, 0) == 0 &&
       ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  try {
    read_meta(path);
  } catch (const linac::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  decoded(body, Digest::kLast);
  decoded(body, Digest::kNone);
  read_meta_of(body);
  const auto file = decoded(with_digest(body), Digest::kLast);
  if (!file) return 0;
  const std::string written = encoded(*file, Digest::kLast);
  const auto again = decoded(written, Digest::kLast);
  need(again && encoded(*again, Digest::kLast) == written);
  const size_t at = size * 31 % written.size();
  need(!decoded(std::string_view(written).substr(0, at), Digest::kLast));
  std::string turned = written;
  turned[at] = static_cast<char>(turned[at] ^ (1 << size % 8));
  need(!decoded(turned, Digest::kLast));
  return 0;
}
