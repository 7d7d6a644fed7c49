#pragma once
// A model, or a whole training, of your own in C++ on LibTorch: compiled into a shared object that a job names as
// `model: {kind: custom, file: libmine.so}`. linac keeps what it is for: replicas and workers, sums in a fixed order,
// optimisers, schedules, checkpoints, the run's record. This header is all there is to include; linac links nothing
// into the object. docs/guide/custom-models.md tells the whole story, examples/custom_model/ has one of each.
//
// The rules, for both kinds:
//  - Weights are the registered parameters of torch::nn::Modules, batch statistics their registered buffers, both of
//    floats on the CPU. linac makes several instances of the class, lets one thread use one at a time, and fills in the
//    weights before each use: an instance keeps no other state from call to call.
//  - Random numbers come from torch's generator (torch::randn, torch::nn::Dropout, ...). linac seeds it before each
//  call
//    by the job's seed, the step and the replica, so that the result does not depend on the number of workers; replicas
//    in one process take turns for that.
//  - A failure is an exception: its what() is what the user reads.

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace linac::plugin {

/// Grows when this header changes in a way that older objects do not bear.
inline constexpr int kAbi = 1;

/// The job's model.options. An option that the class never asks for is refused as a typing error. Not thread-safe.
class Options {
 public:
  explicit Options(std::map<std::string, std::string> values = {}) : values_(std::move(values)) {}

  /// The option, or `otherwise` where the job does not set it. Throw std::invalid_argument for another type.
  int64_t integer(const std::string& name, int64_t otherwise) const {
    return parsed(name, otherwise, "an integer",
                  [](const std::string& text, size_t* end) { return static_cast<int64_t>(std::stoll(text, end)); });
  }
  double number(const std::string& name, double otherwise) const {
    return parsed(name, otherwise, "a number",
                  [](const std::string& text, size_t* end) { return std::stod(text, end); });
  }
  bool flag(const std::string& name, bool otherwise) const {
    const std::string value = text(name, otherwise ? "true" : "false");
    if (value != "true" && value != "false")
      throw std::invalid_argument("option " + name + " = " + value + " is not true or false");
    return value == "true";
  }
  std::string text(const std::string& name, const std::string& otherwise) const {
    asked_.insert(name);
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }

  const std::map<std::string, std::string>& values() const { return values_; }
  const std::set<std::string>& asked() const { return asked_; }

 private:
  template <class T, class Parse>
  T parsed(const std::string& name, T otherwise, const char* wanted, const Parse& parse) const {
    asked_.insert(name);
    const auto found = values_.find(name);
    if (found == values_.end()) return otherwise;
    try {
      size_t end = 0;
      const T value = parse(found->second, &end);
      if (end == found->second.size()) return value;
    } catch (const std::logic_error&) {
      // said below
    }
    throw std::invalid_argument("option " + name + " = " + found->second + " is not " + wanted);
  }

  std::map<std::string, std::string> values_;
  mutable std::set<std::string> asked_;
};

/// A column of the data: the job's data.inputs may give it another name in the files, and scaling.
struct Column {
  std::string name;
  std::vector<int64_t> shape;  // of an event: {} a number, {14}, {801, 19}: shorter lists are padded with zeros
};

/// A model that learns from labelled events, by the job's train.fit. Trained by linac's loop, like a Keras model.
class Model : public torch::nn::Module {
 public:
  /// What forward() takes, in its order.
  virtual std::vector<Column> inputs() const = 0;
  /// (events, shape...) an input. Returns one tensor of floats (events, ...) an output, always of the same shapes.
  virtual std::vector<torch::Tensor> forward(const std::vector<torch::Tensor>& inputs) = 0;
};

/// Events of one replica.
struct Batch {
  int64_t events = 0;
  std::vector<torch::Tensor> columns;  // (events, shape...), in the order of Loop::columns()
};

/// One update of one network. A step is a list of them.
struct Update {
  std::string name;                 // "critic": what is passed to losses(); in the record "critic/..."
  std::string network;              // whose weights change
  std::vector<std::string> losses;  // what losses() returns; the first is what is minimised
};

/// A training of your own: networks, and the updates that a step consists of.
class Loop {
 public:
  virtual ~Loop() = default;

  /// The same modules at each call, with their names in checkpoints.
  virtual std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> networks() const = 0;
  /// What it reads of an event.
  virtual std::vector<Column> columns() const = 0;
  /// In the order of a step; a name may come several times (five updates of the critic before one of the generator).
  virtual std::vector<Update> updates() const = 0;
  /// The losses of `update`, each a mean over the events of `batch` and a scalar. The networks are in training mode;
  /// only the parameters of the update's own network want gradients. linac takes the gradient of the first, averages
  /// over the replicas and applies the job's optimiser.
  virtual std::vector<torch::Tensor> losses(const Update& update, const Batch& batch) = 0;

  /// What is measured on the test events after each epoch: names, the first of them what "loss" stands for in the job
  /// (the lower the better); and their values, means over the events of `batch`, with the networks in eval mode.
  virtual std::vector<std::string> measures() const { return {}; }
  virtual std::vector<torch::Tensor> test(const Batch& batch) {
    (void)batch;
    return {};
  }

  /// At the end of a run, with the trained weights: whatever should lie in the run's models/ beside the weights.
  virtual void hand_over(const std::filesystem::path& folder) { (void)folder; }
};

/// What a shared object offers. Filled by the macros below.
struct Exports {
  int abi;
  const char* torch;  // TORCH_VERSION it was compiled with
  int cxx11_abi;
  const char* class_name;                                // for messages
  std::shared_ptr<Model> (*make_model)(const Options&);  // one of
  std::unique_ptr<Loop> (*make_loop)(const Options&);    // the two
};

}  // namespace linac::plugin

#define LINAC_PLUGIN_EXPORTS(CLASS, MAKE_MODEL, MAKE_LOOP)                                                          \
  extern "C" __attribute__((visibility("default"))) const linac::plugin::Exports* linac_plugin() {                  \
    static const linac::plugin::Exports exports{linac::plugin::kAbi, TORCH_VERSION, _GLIBCXX_USE_CXX11_ABI, #CLASS, \
                                                MAKE_MODEL,          MAKE_LOOP};                                    \
    return &exports;                                                                                                \
  }

/// Once in a shared object, outside of any namespace: offers CLASS, whose constructor takes (const Options&).
#define LINAC_MODEL(CLASS)                                                                 \
  LINAC_PLUGIN_EXPORTS(                                                                    \
      CLASS,                                                                               \
      [](const linac::plugin::Options& options) -> std::shared_ptr<linac::plugin::Model> { \
        return std::make_shared<CLASS>(options);                                           \
      },                                                                                   \
      nullptr)
#define LINAC_LOOP(CLASS)                                                                                  \
  LINAC_PLUGIN_EXPORTS(CLASS, nullptr,                                                                     \
                       [](const linac::plugin::Options& options) -> std::unique_ptr<linac::plugin::Loop> { \
                         return std::make_unique<CLASS>(options);                                          \
                       })
