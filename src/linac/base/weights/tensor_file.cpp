#include "linac/base/weights/tensor_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <optional>

#include "linac/base/base/error.h"

namespace linac::weights {
namespace {

constexpr const char* kDigestName = "_digest";
constexpr size_t kDigestBytes = 16, kSizeBytes = 8, kAlignment = 64, kPieceBytes = 1 << 20;
// Without a digest a header is believed up to what safetensors' own reader takes (its MAX_HEADER_SIZE).
constexpr uint64_t kHeaderBytesMax = 100'000'000;

std::string canonical(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return {reinterpret_cast<const char*>(canonical.digest), kDigestBytes};
}

std::string digest_of(std::string_view bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

// The digest of what comes in pieces.
class Digester {
 public:
  Digester() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string digest() const { return canonical(XXH3_128bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

nlohmann::json entry(const char* type, const std::vector<int64_t>& shape, size_t begin, size_t end) {
  return {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

[[noreturn]] void damaged(const std::string& where, const std::string& why) {
  throw data_error(fmt::format("[checkpoint] {}: damaged ({})", where, why));
}

std::vector<float> floats_at(std::string_view data, const nlohmann::json& offsets, const std::string& where) {
  if (!offsets.at(0).is_number_unsigned() || !offsets.at(1).is_number_unsigned())
    damaged(where, "the place of a tensor is no count of bytes");
  const auto begin = offsets.at(0).get<uint64_t>(), end = offsets.at(1).get<uint64_t>();
  if (begin > end || end > data.size() || (end - begin) % sizeof(float) != 0)
    damaged(where, "a tensor lies outside the file");
  std::vector<float> values((end - begin) / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), data.data() + begin, end - begin);
  return values;
}

size_t bytes_of(const std::vector<TensorView>& tensors) {
  size_t bytes = 0;
  for (const TensorView& tensor : tensors) bytes += tensor.values.size_bytes();
  return bytes;
}

// All before the data: its size, then the JSON, padded so that the data are aligned.
std::string header_of(const std::vector<TensorView>& tensors, const nlohmann::json& meta, Digest digest) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "linac"}, {"linac", meta.dump()}};
  size_t offset = 0;
  for (const TensorView& tensor : tensors) {
    header[tensor.name] = entry("F32", tensor.shape, offset, offset + tensor.values.size_bytes());
    offset += tensor.values.size_bytes();
  }
  if (digest == Digest::kLast) header[kDigestName] = entry("U8", {kDigestBytes}, offset, offset + kDigestBytes);
  std::string text = header.dump();
  text.resize((text.size() + kSizeBytes + kAlignment - 1) / kAlignment * kAlignment - kSizeBytes, ' ');
  if (digest == Digest::kNone && text.size() > kHeaderBytesMax) {
    throw data_error(
        fmt::format("[model] the notes beside the weights take {} bytes, more than the {} that readers of "
                    "safetensors take; shorten the lists of texts in the job",
                    text.size(), kHeaderBytesMax));
  }
  const uint64_t size = text.size();
  // Little-endian, as every machine linac runs on.
  return std::string(reinterpret_cast<const char*>(&size), kSizeBytes) + text;
}

}  // namespace

std::string encode_tensors(const std::vector<TensorView>& tensors, const nlohmann::json& meta, Digest digest) {
  std::string bytes;
  const auto take = [&](std::span<const std::byte> piece) {
    if (bytes.empty()) bytes.reserve(piece.size() + bytes_of(tensors) + kDigestBytes);  // the header comes first
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  };
  tell_tensors(tensors, meta, digest, take);
  return bytes;
}

void tell_tensors(const std::vector<TensorView>& tensors, const nlohmann::json& meta, Digest digest,
                  const std::function<void(std::span<const std::byte>)>& take) {
  std::optional<Digester> digester;
  if (digest == Digest::kLast) digester.emplace();
  const auto tell = [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
      if (digester) digester->add(piece);
      take(piece);  // while a cache still has it
      bytes = bytes.subspan(piece.size());
    }
  };
  const std::string header = header_of(tensors, meta, digest);
  tell(std::as_bytes(std::span(header)));
  for (const TensorView& tensor : tensors) tell(std::as_bytes(tensor.values));
  if (!digester) return;
  const std::string last = digester->digest();
  take(std::as_bytes(std::span(last)));
}

const std::vector<float>& TensorFile::find(const std::string& name, size_t size) const {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw data_error(fmt::format("[checkpoint] no tensor '{}'; was it written for another model?", name));
  if (found->second.size() != size) {
    throw data_error(
        fmt::format("[checkpoint] tensor '{}' has {} values, the model needs {}", name, found->second.size(), size));
  }
  return found->second;
}

TensorFile decode_tensors(std::string_view bytes, const std::string& where, Digest digest) {
  const size_t digest_bytes = digest == Digest::kLast ? kDigestBytes : 0;
  if (bytes.size() < kSizeBytes + digest_bytes) damaged(where, "too short");
  const std::string_view body = bytes.substr(0, bytes.size() - digest_bytes);
  if (digest == Digest::kLast && digest_of(body) != bytes.substr(body.size()))
    damaged(where, "its checksum does not match: truncated or altered");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kSizeBytes);
  if (header_bytes > body.size() - kSizeBytes || (digest == Digest::kNone && header_bytes > kHeaderBytesMax))
    damaged(where, "impossible header size");
  const std::string_view data = bytes.substr(kSizeBytes + header_bytes);
  TensorFile file;
  size_t values = 0;
  try {
    const auto header = nlohmann::json::parse(bytes.substr(kSizeBytes, header_bytes));
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        file.meta = nlohmann::json::parse(value.at("linac").get<std::string>());
      } else if (name != kDigestName) {
        const auto& tensor = file.tensors[name] = floats_at(data, value.at("data_offsets"), where);
        values += tensor.size();
        if (values > data.size() / sizeof(float)) damaged(where, "its tensors overlap");
      }
    }
  } catch (const nlohmann::json::exception& error) {
    damaged(where, error.what());
  }
  return file;
}

nlohmann::json read_meta(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, kSizeBytes> size{};
  uint64_t header_bytes = 0;
  if (in.read(size.data(), size.size())) std::memcpy(&header_bytes, size.data(), size.size());
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error || header_bytes == 0 || header_bytes > bytes) damaged(file.string(), "impossible header size");
  std::string header(header_bytes, '\0');
  if (!in.read(header.data(), static_cast<std::streamsize>(header.size()))) damaged(file.string(), "too short");
  try {
    return nlohmann::json::parse(nlohmann::json::parse(header).at("__metadata__").at("linac").get<std::string>());
  } catch (const nlohmann::json::exception& what) {
    damaged(file.string(), what.what());
  }
}

}  // namespace linac::weights
