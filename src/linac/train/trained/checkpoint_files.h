#pragma once
// Where a run's checkpoints lie and what they call the values in them, for whoever writes and whoever reads them.
// Thread-safe functions.

#include <filesystem>
#include <string>
#include <vector>

namespace linac::trained {

/// The checkpoints of the folder from oldest to newest, without the chosen ones.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);
/// The copy of the best one; may be absent.
std::filesystem::path best_checkpoint(const std::filesystem::path& folder);
/// The copy of the one that train.early_stopping.restore_best hands over, where that is not always the best one.
std::filesystem::path restored_checkpoint(const std::filesystem::path& folder);
/// Both.
std::vector<std::filesystem::path> chosen_checkpoints(const std::filesystem::path& folder);

/// The tensor with the values of a slot: "generator/weights/conv_1/kernel". `group`: "weights", or "optimizer/" and
/// what the optimiser keeps.
std::string value_name(const std::string& network, const std::string& group, const std::string& slot);

}  // namespace linac::trained
