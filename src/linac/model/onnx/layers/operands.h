#pragma once
// What an elementwise operation of keras.ops is called with: tensors and constants of several types, made one type. A
// truth value becomes a number beside one, a whole number a float beside one, as in Keras. Pure, thread-safe.

#include "linac/model/onnx/layers.h"

namespace linac::onnx {

/// The type that holds the values of both.
Type wider(Type a, Type b);
Type widest(const std::vector<Value>& values);

/// Tensors by name, of one type and in one order of axes.
struct Operands {
  Emitter::Names names;
  Type type;
  Layout layout;
};

/// The arguments of the node's call from number `first` on, in their order, of type `least` or a wider one.
Operands operands(const LayerCall& call, Type least, size_t first = 0);

}  // namespace linac::onnx
