#include "linac/onnx/aten/call.h"

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
template <const char* Op>
void arithmetic_of(const Call& call) {
  const Number a = call.number("a"), b = call.number("b");
  if (a.value && b.value && std::string_view(Op) != "Div") {
    int64_t result = 0;
    const bool overflows = std::string_view(Op) == "Add"   ? __builtin_add_overflow(*a.value, *b.value, &result)
                           : std::string_view(Op) == "Sub" ? __builtin_sub_overflow(*a.value, *b.value, &result)
                                                           : __builtin_mul_overflow(*a.value, *b.value, &result);
    if (overflows) call.refuse("goes beyond 64 bits");
    return call.result(Number{result, ""});
  }
  call.result(Number{std::nullopt, call.emit.op(Op, {call.tensor_of(a), call.tensor_of(b)})});
}

// Comparisons are for the checks of the export.
void check(const Call&) {}

constexpr char kAdd[] = "Add", kSub[] = "Sub", kMul[] = "Mul", kDiv[] = "Div";

}  // namespace

std::vector<NamedFunction> numbers() {
  return {
      {"torch.ops.aten.sym_size.int", size},
      {"_operator.add", arithmetic_of<kAdd>},
      {"_operator.sub", arithmetic_of<kSub>},
      {"_operator.mul", arithmetic_of<kMul>},
      {"_operator.floordiv", arithmetic_of<kDiv>},
      {"_operator.eq", check},
      {"_operator.ne", check},
      {"_operator.lt", check},
      {"_operator.le", check},
      {"_operator.gt", check},
      {"_operator.ge", check},
  };
}

}  // namespace linac::onnx::aten
