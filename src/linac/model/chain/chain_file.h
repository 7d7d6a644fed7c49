#pragma once
// A trained cell_chain as a file: tensors (tensor_file.h) and in their notes the detector, units and the range of the
// training. Thread-safe functions.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "linac/model/chain/shower_chain.h"
#include "linac/model/primaries/trained_range.h"

namespace linac::chain {

struct ChainFile {
  ChainParts parts;
  std::optional<primaries::TrainedRange> range;
};

/// By its ending, .chain.
bool is_chain_file(const std::filesystem::path& path);

/// Environment error if it cannot be read, data error naming the file if it is no such model. Whether its parts fit
/// together is told by ShowerChain.
ChainFile load_chain(const std::filesystem::path& path);
/// The same of a file's bytes.
ChainFile decode_chain(std::string_view bytes, const std::string& where);

/// The file appears whole or not at all.
void save_chain(const ChainFile& model, const std::filesystem::path& path);

}  // namespace linac::chain
