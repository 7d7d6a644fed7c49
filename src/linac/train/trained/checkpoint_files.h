#pragma once
// Where a run's checkpoints lie and what they call the values in them, for whoever writes and whoever reads them.
// Thread-safe functions.

#include <filesystem>
#include <string>
#include <vector>

namespace linac::trained {

/// The checkpoints of the folder from oldest to newest, without the best one.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);
/// The copy of the best one; may be absent.
std::filesystem::path best_checkpoint(const std::filesystem::path& folder);

/// The tensor with the values of a slot: "generator/weights/conv_1/kernel". `group`: "weights", or "optimizer/" and
/// what the optimiser keeps.
std::string value_name(const std::string& network, const std::string& group, const std::string& slot);

}  // namespace linac::trained
