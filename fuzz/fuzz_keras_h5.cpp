// Any description of a Keras 2 file is either refused with linac::Error, or a model whose weights have the sizes of its
// graph. The first line is the attribute model_config; each other line is a layer of the file and, if it goes on, one
// of its arrays: "dense_1 dense_1/kernel:0 6 4", or of the optimizer's: "optimizer_weights Adam/m/dense_1/kernel:0 6
// 4". The file itself is made by HDF5, so what is fuzzed is not HDF5.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "linac/base/base/error.h"
#include "linac/model/keras/h5.h"
#include "linac/model/keras/test_keras2_file.h"

namespace {

using namespace linac;

constexpr size_t kLinesMax = 64;
constexpr int64_t kElementsMax = 4096;  // of an array
constexpr size_t kRankMax = 8;

void add_line(const std::string& line, keras::Keras2File& file) {
  std::istringstream words(line);
  std::string layer;
  keras::Keras2Array array{"", {}, 0.5F};
  words >> layer >> array.name;
  if (layer.empty() || layer[0] == '.' || layer[0] == '/') return;
  int64_t elements = 1;
  for (int64_t extent = 0; array.shape.size() < kRankMax && words >> extent; elements *= extent) {
    if (extent < 0 || extent > kElementsMax || elements * extent > kElementsMax) return;
    array.shape.push_back(extent);
  }
  if (layer == "optimizer_weights") {
    if (!array.name.empty()) file.optimizer.push_back(array);
    return;
  }
  if (file.layers.empty() || file.layers.back().name != layer) file.layers.push_back({layer, {}});
  if (!array.name.empty()) file.layers.back().arrays.push_back(array);
}

/// Of Adam, for this model.
std::vector<keras::OptimizerVariable> optimizer_variables(const keras::KerasModel& model) {
  std::vector<keras::OptimizerVariable> variables{{"iteration", {}, {}}};
  for (const int index : model.order)
    for (const graph::Weight& weight : model.graph.nodes[static_cast<size_t>(index)].weights)
      for (const char* name : {"momentum", "velocity"})
        if (weight.trainable) variables.push_back({name, weight.shape, {}});
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  keras::Keras2File file;
  std::string line;
  std::getline(lines, line);
  file.attributes = {{"model_config", line}, {"keras_version", "2.15.0"}};
  file.names_a_part = size % 3;
  for (size_t i = 0; i < kLinesMax && std::getline(lines, line); ++i) add_line(line, file);
  try {
    const std::string bytes = file.bytes();
    const keras::KerasModel model = keras::read_keras_h5(bytes);
    size_t next = 0;
    for (const graph::Node& node : model.graph.nodes) {
      for (const graph::Weight& weight : node.weights)
        LINAC_CHECK(static_cast<int64_t>(model.weights.values.at(next++).size()) == graph::elements(weight.shape));
    }
    LINAC_CHECK(next == model.weights.values.size());
    auto variables = optimizer_variables(model);
    const bool trained = keras::read_h5_optimizer(bytes, variables);
    for (const keras::OptimizerVariable& variable : variables)
      LINAC_CHECK(static_cast<int64_t>(variable.values.size()) == (trained ? graph::elements(variable.shape) : 0));
  } catch (const Error& error) {
    LINAC_CHECK(error.code() == ErrorCode::kUser);
  }
  return 0;
}
