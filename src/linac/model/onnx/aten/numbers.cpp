#include "linac/model/onnx/aten/call.h"

namespace linac::onnx::aten {
namespace {

// The extent of an axis: what the file knows, or what the tensor has.
void size(const Call& call) {
  const Tensor x = call.tensor("self");
  const int64_t axis = call.axis("dim", x.rank());
  if (const auto* const extent = std::get_if<int64_t>(&x.shape[static_cast<size_t>(axis)]))
    return call.result(Number{*extent, ""});
  const std::string shape = call.emit.op("Shape", {x.name});
  call.result(Number{std::nullopt, call.emit.op("Gather", {shape, call.emit.ints({axis})}, {{"axis", int64_t{0}}})});
}

// The operands have Python's names, a and b.
void sum(const Call& call) {
  const Number a = call.number("a"), b = call.number("b");
  call.result(Number{std::nullopt, call.emit.op("Add", {call.tensor_of(a), call.tensor_of(b)})});
}
void product(const Call& call) {
  const Number a = call.number("a"), b = call.number("b");
  call.result(Number{std::nullopt, call.emit.op("Mul", {call.tensor_of(a), call.tensor_of(b)})});
}

}  // namespace

std::vector<NamedFunction> numbers() {
  return {
      {"torch.ops.aten.sym_size.int", size},
      {"_operator.add", sum},
      {"_operator.mul", product},
  };
}

}  // namespace linac::onnx::aten
