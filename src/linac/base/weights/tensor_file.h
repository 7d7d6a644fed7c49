#pragma once
// Named float tensors and a JSON text in one file of the safetensors format (huggingface.co/docs/safetensors: 8-byte
// header size, JSON header, data), so that Python reads a checkpoint without linac. The last tensor, "_digest", is an
// XXH3-128 of every byte before it: a truncated or altered file is noticed on load. Pure functions, thread-safe.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linac::weights {

struct TensorView {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values;
};

enum class Digest { kLast, kNone };

/// The bytes of the file. Without its digest it holds nothing but the tensors, as others want it; a data error then if
/// its header is larger than 100,000,000 bytes, which no reader of the format takes.
std::string encode_tensors(const std::vector<TensorView>& tensors, const nlohmann::json& meta,
                           Digest digest = Digest::kLast);

/// The same bytes in pieces, in their order, without a copy of the tensors.
void tell_tensors(const std::vector<TensorView>& tensors, const nlohmann::json& meta, Digest digest,
                  const std::function<void(std::span<const std::byte>)>& take);

struct TensorFile {
  nlohmann::json meta;
  std::map<std::string, std::vector<float>> tensors;

  /// Throws a data error if there is no such tensor or it has another number of values.
  const std::vector<float>& find(const std::string& name, size_t size) const;
};

/// Throws a data error (naming `where`) if the bytes are damaged in any way; without a digest, if they cannot be read
/// or their header is larger than encode_tensors writes.
TensorFile decode_tensors(std::string_view bytes, const std::string& where, Digest digest = Digest::kLast);

/// The JSON text of a file, without reading its tensors, whose checksum is not looked at. Data error if it cannot be
/// read.
nlohmann::json read_meta(const std::filesystem::path& file);

}  // namespace linac::weights
