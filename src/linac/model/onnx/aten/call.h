#pragma once
// How ATen's operators are written in ONNX's: a table by families in this folder, fed by a program of torch.export
// (model/pt2/program.h). Always in evaluation mode: what is random in training hands its input on. Immutable functions;
// the values belong to one export.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "linac/model/onnx/emitter.h"
#include "linac/model/pt2/program.h"

namespace linac::onnx::aten {

/// A tensor of the ONNX graph with PyTorch's axes; `shape` with the axis of the events, whose extent is a symbol.
struct Tensor {
  std::string name;
  Type type = Type::kFloat;
  std::vector<pt2::Extent> shape = {};

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

/// A number that follows from shapes: known, or computed as a tensor (1) of int64.
struct Number {
  std::optional<int64_t> value;
  std::string tensor;
};

struct Values {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, Number> numbers;
};

/// ONNX's number of a type of the file; nothing if there is none in the models that linac writes.
std::optional<Type> type_of(int64_t scalar_type);

/// The node's operator, and its line of Python where it is known, for messages.
std::string described(const pt2::Node& node);

class Call {
 public:
  Call(Emitter& emit, const pt2::Program& program, const pt2::Node& node, Values& values)
      : emit(emit), program_(program), node_(node), values_(values) {}

  Emitter& emit;

  /// User error naming the operator.
  [[noreturn]] void refuse(const std::string& why) const;

  // What the operator is given, by the names of its schema. User errors if that is of another kind.
  bool has(const std::string& argument) const;  // and it is not none
  bool is_name(const std::string& argument) const;
  bool is_text(const std::string& argument) const;
  Tensor tensor(const std::string& argument) const;
  /// A tensor, or a number as a constant of `type`.
  Tensor operand(const std::string& argument, Type type) const;
  std::vector<std::optional<Tensor>> tensors(const std::string& argument) const;
  int64_t integer(const std::string& argument, std::optional<int64_t> otherwise = {}) const;
  double real(const std::string& argument, std::optional<double> otherwise = {}) const;
  bool flag(const std::string& argument, bool otherwise = false) const;
  std::string text(const std::string& argument, const std::string& otherwise) const;
  /// A list, or nothing; a lone number is taken `width` times.
  Shape integers(const std::string& argument, const Shape& otherwise, size_t width = 0) const;
  Number number(const std::string& argument) const;
  std::vector<Number> numbers(const std::string& argument) const;
  /// An axis, counted from the front.
  int64_t axis(const std::string& argument, int64_t rank, std::optional<int64_t> otherwise = {}) const;
  Shape axes(const std::string& argument, int64_t rank) const;

  /// As a tensor (1) of int64.
  std::string tensor_of(const Number& number) const;
  /// A shape that may depend on the events.
  std::string shape_of(const std::vector<Number>& numbers) const;

  /// Gives the node's only tensor, or its number i, a name in the ONNX graph. Its shape is the file's.
  void result(const std::string& tensor, size_t i = 0) const;
  void result(const Number& number) const;
  /// Of an operator that gives a list.
  void results(const std::vector<std::string>& tensors) const;
  /// The shape of the result i as the file has it.
  const pt2::TensorInfo& info(size_t i = 0) const;
  Type result_type(size_t i = 0) const;
  size_t result_count() const;  // of a list

 private:
  const pt2::Argument* find(const std::string& argument) const;
  const pt2::Argument& need(const std::string& argument) const;
  const Tensor& known(const pt2::Name& name) const;
  Number number_of(const pt2::Element& element) const;
  const std::string& output(size_t i) const;
  void keep(const std::string& output, const std::string& tensor) const;

  const pt2::Program& program_;
  const pt2::Node& node_;
  Values& values_;
};

using Function = void (*)(const Call&);
using NamedFunction = std::pair<std::string, Function>;

std::vector<NamedFunction> arithmetic();
std::vector<NamedFunction> activations();
std::vector<NamedFunction> layers();
std::vector<NamedFunction> shapes();
std::vector<NamedFunction> numbers();

}  // namespace linac::onnx::aten
