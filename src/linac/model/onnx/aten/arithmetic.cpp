#include "linac/model/onnx/aten/call.h"

namespace linac::onnx::aten {
namespace {

// What both sides of a comparison are turned into.
Type common_type(const Call& call) {
  bool real = false;
  for (const char* side : {"self", "other"}) {
    if (call.is_name(side))
      real = real || call.operand(side, Type::kInt64).type == Type::kFloat;
    else
      real = real || call.real(side) != static_cast<double>(static_cast<int64_t>(call.real(side)));
  }
  return real ? Type::kFloat : Type::kInt64;
}

std::string side(const Call& call, const char* argument, Type type) {
  const Tensor value = call.operand(argument, type);
  return call.emit.cast(value.name, value.type, type);
}

template <const char* Op>
void binary(const Call& call) {
  const Type type = call.result_type();
  std::string other = side(call, "other", type);
  if (const double alpha = call.real("alpha", 1); alpha != 1)
    other = call.emit.op("Mul", {other, call.emit.scalar(alpha, type)});
  if (!call.text("rounding_mode", "").empty()) call.refuse("rounds, which linac does not write");
  call.result(call.emit.op(Op, {side(call, "self", type), other}));
}

void reversed_sub(const Call& call) {
  const Type type = call.result_type();
  if (call.real("alpha", 1) != 1) call.refuse("'alpha' is not 1");
  call.result(call.emit.op("Sub", {side(call, "other", type), side(call, "self", type)}));
}

void power(const Call& call) {
  const Type type = call.result_type();
  call.result(call.emit.op("Pow", {side(call, "self", type), side(call, "exponent", type)}));
}

template <const char* Op>
void comparison(const Call& call) {
  const Type type = common_type(call);
  call.result(call.emit.op(Op, {side(call, "self", type), side(call, "other", type)}));
}

void unequal(const Call& call) {
  const Type type = common_type(call);
  call.result(call.emit.op("Not", {call.emit.op("Equal", {side(call, "self", type), side(call, "other", type)})}));
}

template <const char* Op>
void logical(const Call& call) {
  if (call.result_type() != Type::kBool) call.refuse("is written for truth values alone");
  call.result(call.emit.op(Op, {side(call, "self", Type::kBool), side(call, "other", Type::kBool)}));
}

void negation(const Call& call) {
  if (call.result_type() != Type::kBool) call.refuse("is written for truth values alone");
  call.result(call.emit.op("Not", {side(call, "self", Type::kBool)}));
}

template <const char* Op>
void unary(const Call& call) {
  call.result(call.emit.op(Op, {side(call, "self", call.result_type())}));
}

void reciprocal_root(const Call& call) {
  call.result(call.emit.op("Reciprocal", {call.emit.op("Sqrt", {call.tensor("self").name})}));
}

void square(const Call& call) {
  const std::string x = call.tensor("self").name;
  call.result(call.emit.op("Mul", {x, x}));
}

void log1p(const Call& call) {
  call.result(call.emit.op("Log", {call.emit.op("Add", {call.tensor("self").name, call.emit.scalar(1)})}));
}

void expm1(const Call& call) {
  call.result(call.emit.op("Sub", {call.emit.op("Exp", {call.tensor("self").name}), call.emit.scalar(1)}));
}

void any(const Call& call) {
  const Tensor x = call.tensor("self");
  if (x.type != Type::kBool) call.refuse("is written for truth values alone");
  call.result(call.emit.any(x.name, call.axes("dim", x.rank()), call.flag("keepdim")));
}

void clamp(const Call& call) {
  const Type type = call.result_type();
  std::string x = side(call, "self", type);
  if (call.has("min")) x = call.emit.op("Max", {x, side(call, "min", type)});
  if (call.has("max")) x = call.emit.op("Min", {x, side(call, "max", type)});
  call.result(x);
}

void where(const Call& call) {
  const Type type = call.result_type();
  call.result(call.emit.op(
      "Where", {side(call, "condition", Type::kBool), side(call, "self", type), side(call, "other", type)}));
}

void masked_fill(const Call& call) {
  const Type type = call.result_type();
  call.result(
      call.emit.op("Where", {side(call, "mask", Type::kBool), side(call, "value", type), side(call, "self", type)}));
}

template <const char* Op>
void reduction(const Call& call) {
  const Tensor x = call.tensor("self");
  const Type type = call.result_type();
  const Shape axes = call.has("dim") ? call.axes("dim", x.rank()) : call.axes("none", x.rank());
  call.result(call.emit.reduce(Op, call.emit.cast(x.name, x.type, type), axes, call.flag("keepdim")));
}

constexpr char kAdd[] = "Add", kSub[] = "Sub", kMul[] = "Mul", kDiv[] = "Div", kMax[] = "Max", kMin[] = "Min",
               kEqual[] = "Equal", kLess[] = "Less", kLessEqual[] = "LessOrEqual", kGreater[] = "Greater",
               kGreaterEqual[] = "GreaterOrEqual", kAnd[] = "And", kOr[] = "Or", kXor[] = "Xor", kNeg[] = "Neg",
               kAbs[] = "Abs", kExp[] = "Exp", kLog[] = "Log", kSqrt[] = "Sqrt", kReciprocal[] = "Reciprocal",
               kSin[] = "Sin", kCos[] = "Cos", kErf[] = "Erf", kFloor[] = "Floor", kCeil[] = "Ceil", kSign[] = "Sign",
               kMean[] = "ReduceMean", kSum[] = "ReduceSum", kMaximum[] = "ReduceMax", kMinimum[] = "ReduceMin";

}  // namespace

std::vector<NamedFunction> arithmetic() {
  return {
      {"add.Tensor", binary<kAdd>},
      {"sub.Tensor", binary<kSub>},
      {"rsub.Tensor", reversed_sub},
      {"rsub.Scalar", reversed_sub},
      {"mul.Tensor", binary<kMul>},
      {"mul.Scalar", binary<kMul>},
      {"div.Tensor", binary<kDiv>},
      {"maximum.default", binary<kMax>},
      {"minimum.default", binary<kMin>},
      {"pow.Tensor_Scalar", power},
      {"pow.Tensor_Tensor", power},
      {"pow.Scalar", power},
      {"eq.Tensor", comparison<kEqual>},
      {"eq.Scalar", comparison<kEqual>},
      {"ne.Tensor", unequal},
      {"ne.Scalar", unequal},
      {"lt.Tensor", comparison<kLess>},
      {"lt.Scalar", comparison<kLess>},
      {"le.Tensor", comparison<kLessEqual>},
      {"le.Scalar", comparison<kLessEqual>},
      {"gt.Tensor", comparison<kGreater>},
      {"gt.Scalar", comparison<kGreater>},
      {"ge.Tensor", comparison<kGreaterEqual>},
      {"ge.Scalar", comparison<kGreaterEqual>},
      {"logical_and.default", logical<kAnd>},
      {"logical_or.default", logical<kOr>},
      {"logical_xor.default", logical<kXor>},
      {"bitwise_and.Tensor", logical<kAnd>},
      {"__and__.Tensor", logical<kAnd>},
      {"bitwise_or.Tensor", logical<kOr>},
      {"__or__.Tensor", logical<kOr>},
      {"logical_not.default", negation},
      {"bitwise_not.default", negation},
      {"neg.default", unary<kNeg>},
      {"abs.default", unary<kAbs>},
      {"exp.default", unary<kExp>},
      {"log.default", unary<kLog>},
      {"expm1.default", expm1},
      {"log1p.default", log1p},
      {"sqrt.default", unary<kSqrt>},
      {"rsqrt.default", reciprocal_root},
      {"reciprocal.default", unary<kReciprocal>},
      {"square.default", square},
      {"sin.default", unary<kSin>},
      {"cos.default", unary<kCos>},
      {"erf.default", unary<kErf>},
      {"floor.default", unary<kFloor>},
      {"ceil.default", unary<kCeil>},
      {"sign.default", unary<kSign>},
      {"clamp.default", clamp},
      {"clamp_min.default", clamp},
      {"clamp_max.default", clamp},
      {"where.self", where},
      {"where.ScalarOther", where},
      {"masked_fill.Scalar", masked_fill},
      {"masked_fill.Tensor", masked_fill},
      {"mean.default", reduction<kMean>},
      {"mean.dim", reduction<kMean>},
      {"sum.default", reduction<kSum>},
      {"sum.dim_IntList", reduction<kSum>},
      {"any.dim", any},
      {"amax.default", reduction<kMaximum>},
      {"amin.default", reduction<kMinimum>},
      {"max.default", reduction<kMaximum>},
      {"min.default", reduction<kMinimum>},
  };
}

}  // namespace linac::onnx::aten
