#pragma once
// What is written down of a model when it is registered: what it takes and gives, found by running it, and where it
// comes from.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace linac::cli {

struct ModelFacts {
  std::filesystem::path file;  // of the model
  std::map<std::string, std::string> tags;
  nlohmann::json provenance;
};

/// `name`: a run that came to its end, one of its states, or a file that load_trained() takes, or a .chain file.
/// Computes two events of noise, or two showers, and compares what comes out with the model's own schema. User error
/// for what is no model, numeric error if it does not compute.
ModelFacts model_facts(const std::string& name);

}  // namespace linac::cli
