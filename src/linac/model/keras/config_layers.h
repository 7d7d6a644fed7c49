#pragma once
// The layers and models of Keras's config.json, with their calls still by name: what config_read.cpp makes a graph of.
// Pure, thread-safe.

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/keras/calls.h"

namespace linac::keras {

inline constexpr size_t kLayersMax = 100'000;

struct FileModel;

/// A layer of the file, with its calls still by name.
struct FileLayer {
  graph::Node node;
  std::shared_ptr<const FileModel> model;  // instead of a node: a model used as a layer
  bool each_step = false;                  // the model is called at each step (TimeDistributed)
  std::string group;                       // "conv3d_1"; empty for operations
  int number = -1;                         // in the model's list; -1 for an input that is not in it
  bool keras2 = false;                     // what wrote it
  std::vector<LayerCallArguments> calls;
};

struct FileModel {
  std::string name;
  std::vector<FileLayer> layers;
  std::vector<TensorName> inputs, outputs;
};

/// How the file is to be understood.
struct Reading {
  bool keras2;
  int depth;  // of the model in models
};

/// Whether a class of this name is a model that the file holds whole.
bool is_model(const std::string& class_name);

/// `config`: the model's, or the bare list of layers of an early Sequential. User error for what is not supported, json
/// exceptions for what is not as Keras writes it.
std::shared_ptr<const FileModel> read_model(const std::string& class_name, const nlohmann::json& config,
                                            Reading reading);

}  // namespace linac::keras
