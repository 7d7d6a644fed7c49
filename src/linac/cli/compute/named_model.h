#pragma once
// The model that a verb is given. Thread-safe function.

#include <string>

namespace linac::cli {

/// What trained::chosen_model() takes of this machine: a model of the catalog (catalog://NAME@ALIAS) and what lies at a
/// URL are fetched; a choice of a run's states stays behind its folder. `fixed`: see client::local_model().
std::string named_model(const std::string& text, std::string* fixed = nullptr);

}  // namespace linac::cli
