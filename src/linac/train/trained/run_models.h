#pragma once
// The trained models that a run leaves in its folder `models` when it comes to its end. Thread-safe functions.

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace linac::trained {

/// Under which names, the first that is there.
std::span<const char* const> model_names();

/// The file of the model that load_trained() takes; nothing if the run has left none.
std::optional<std::filesystem::path> model_of_run(const std::filesystem::path& run);

/// Where the run was started, by its run.json: relative paths of its job count from there. `model`: the run's folder,
/// or a file in its folder models. Empty if that is not known.
std::filesystem::path started_in(const std::filesystem::path& model);

/// For a message about a folder that was given for another: "its trained model is ...", with the commands that take it,
/// or that it has none, with what to do.
std::string advice_on_run(const std::filesystem::path& run);

}  // namespace linac::trained
