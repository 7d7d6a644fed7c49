#pragma once
// The families of layer classes; layers.cpp joins them into one table. Pure, thread-safe.

#include <vector>

#include "linac/model/graph/layers.h"

namespace linac::graph {

std::vector<LayerKind> core_layers();           // InputLayer, Dense, Dropout and its kin, Rescaling ...
std::vector<LayerKind> convolution_layers();    // Conv1D to 3D, transposed, depthwise, separable
std::vector<LayerKind> pooling_layers();        // pools of cells and of whole images
std::vector<LayerKind> shape_layers();          // what moves elements only
std::vector<LayerKind> image_layers();          // what cuts, resizes and varies images
std::vector<LayerKind> merge_layers();          // Add, Concatenate, Dot ...
std::vector<LayerKind> normalization_layers();  // by batch, layer, group, unit
std::vector<LayerKind> activation_layers();
std::vector<LayerKind> sequence_layers();  // Masking, Embedding, recurrent layers and what wraps layers
std::vector<LayerKind> attention_layers();
std::vector<LayerKind> operation_nodes();   // keras.ops, element by element and along axes
std::vector<LayerKind> array_operations();  // keras.ops on whole arrays
std::vector<LayerKind> own_layers();        // linac's own

double flop_none(const Node& node, const Shape& input);
double flop_per_element(const Node& node, const Shape& input);
void infer_same(Node& node, const std::vector<Shape>& inputs);

}  // namespace linac::graph
