#include "linac/model/keras/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"
#include "linac/model/keras/hdf5_image.h"

namespace linac::keras {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kH5Group = "optimizer_weights";
constexpr const char* kWayOut = "give train.optimizer.name to start with a fresh one";

bool is_kept(const OptimizerVariable& variable) {
  return variable.name != "iteration" && variable.name != "learning_rate" && variable.name != "product";
}

std::vector<float> read_variable(Hdf5Image& file, const std::string& path, const OptimizerVariable& variable) {
  const graph::Node optimizer{
      .name = "optimizer", .op = "Optimizer", .attributes = {}, .inputs = {}, .output = {}, .weights = {}};
  // Not trained: the number of updates is an integer.
  const graph::Weight weight{.name = variable.name, .shape = variable.shape, .initializer = "", .trainable = false};
  return file.read_array(path, optimizer, weight);
}

/// Of what Keras 2 called a variable, since 2.11 and before; empty for what is not needed.
std::string modern_name(const std::string& role) {
  static const std::map<std::string, std::string> names{{"iteration", "iteration"},
                                                        {"iter", "iteration"},
                                                        {"m", "momentum"},
                                                        {"momentum", "momentum"},
                                                        {"v", "velocity"},
                                                        {"velocity", "velocity"},
                                                        {"rms", "velocity"},
                                                        {"u", "velocity"},
                                                        {"vhat", "largest_velocity"},
                                                        {"average_gradient", "mean_gradient"},
                                                        {"mg", "mean_gradient"},
                                                        {"accumulator", "accumulator"},
                                                        {"accumulated_grad", "accumulated_gradient"},
                                                        {"accum_grad", "accumulated_gradient"},
                                                        {"accumulated_delta_var", "accumulated_change"},
                                                        {"accum_var", "accumulated_change"}};
  const auto found = names.find(role);
  return found == names.end() ? "" : found->second;
}

/// "iteration:0" and "Adam/m/dense/kernel:0" of Keras 2.11 and later; before, "Adam/iter:0" and
/// "Adam/dense/kernel/m:0", behind "training/" in TensorFlow 1, which numbers what is made twice: "m_1:0".
std::string keras2_role(const std::string& name, bool recent) {
  Names parts = hdf5_path_parts(name.substr(0, name.rfind(':')));
  if (parts.empty()) return "";
  if (recent) return parts.size() > 2 ? parts[1] : parts.back();
  std::string& role = parts.back();
  const size_t last = role.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < role.size() && role[last] == '_') role.erase(last);
  return role;
}

}  // namespace

bool read_archive_optimizer(std::string_view weights, bool keras2, std::vector<OptimizerVariable>& variables) {
  Hdf5Image file(weights, "model.weights.h5");
  std::vector<OptimizerVariable*> stored;
  for (OptimizerVariable& variable : variables)
    if (!keras2 || variable.name == "iteration" || is_kept(variable)) stored.push_back(&variable);
  const int64_t found = file.children(kOptimizerGroup), wanted = static_cast<int64_t>(stored.size());
  // Compiled and never trained: the number of updates and the rate.
  if (found <= 0 || (found == (keras2 ? 1 : 2) && found < wanted)) return false;
  const bool unused_momentum = keras2 && wanted == 1;  // Keras 2 kept it for SGD without momentum
  if (found != wanted && !unused_momentum) {
    throw user_error(
        fmt::format("[keras] its optimizer has {} variables where {} are expected; {}", found, wanted, kWayOut));
  }
  for (size_t i = 0; i < stored.size(); ++i)
    stored[i]->values = read_variable(file, fmt::format("{}/{}", kOptimizerGroup, i), *stored[i]);
  return true;
}

bool read_h5_optimizer(std::string_view bytes, std::vector<OptimizerVariable>& variables) {
  Hdf5Image file(bytes, "the file");
  const Names listed = file.list(kH5Group, "weight_names").value_or(Names{});
  if (listed.empty()) return false;
  const bool recent = std::any_of(listed.begin(), listed.end(),
                                  [](const std::string& name) { return keras2_role(name, false) == "iteration"; });
  std::map<std::string, Names> stored;  // by our names
  for (const std::string& name : listed) stored[modern_name(keras2_role(name, recent))].push_back(name);
  std::map<std::string, size_t> wanted{{"iteration", 1}};
  for (const OptimizerVariable& variable : variables)
    if (is_kept(variable)) ++wanted[variable.name];
  if (listed.size() == 1 && wanted.size() > 1) return false;  // never trained
  for (const auto& [name, count] : wanted) {
    if (stored[name].size() == count) continue;
    throw user_error(fmt::format("[keras] its optimizer has {} variables for '{}' where {} are expected ({}, ...); {}",
                                 stored[name].size(), name, count, listed[0], kWayOut));
  }
  std::map<std::string, size_t> next;
  for (OptimizerVariable& variable : variables) {
    if (!wanted.contains(variable.name)) continue;
    const std::string& name = stored[variable.name][next[variable.name]++];
    variable.values = read_variable(file, std::string(kH5Group) + "/" + name, variable);
  }
  return true;
}

}  // namespace linac::keras
