#pragma once
// A model of a plug-in (model/plugin/plugin.h) as a network of linac. A training run holds a lock of the process while
// forward() draws random numbers (torch_random.h).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "linac/model/nn/foreign_module.h"
#include "linac/model/plugin/instances.h"
#include "linac/model/plugin/library.h"

namespace linac::nn {

class PluginModule : public ForeignModule {
 public:
  /// The initial weights are what the class's constructor draws from torch's generator, seeded by the job's seed. User
  /// error naming the file for whatever the plug-in throws.
  PluginModule(std::shared_ptr<const plugin::Library> library, uint64_t seed);

  /// In an instance of the class, which is the caller's until these weights are gone.
  Weights weights(const graph::Parameters& parameters, Gradients gradients) const override;
  std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                              const RunOptions& options) const override;
  /// None: a C++ class has no file but its weights.
  std::optional<std::filesystem::path> save(const graph::Parameters&, const std::filesystem::path&,
                                            const std::string&) const override {
    return std::nullopt;
  }

 private:
  std::shared_ptr<const plugin::Library> library_;
  plugin::Instances<plugin::Model> instances_;
};

}  // namespace linac::nn
