#include "linac/model/nn/exported/operand.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"
#include "linac/model/nn/exported/numbers.h"

namespace linac::nn::exported {
namespace {

using c10::IValue;

TEST(Numbers, FollowPython) {
  const auto compute = [](const char* function, std::vector<IValue> operands) {
    EXPECT_EQ(number_of_operands(function), operands.size());
    return number_function(function)(operands);
  };
  EXPECT_EQ(compute("_operator.floordiv", {-7, 2}).toInt(), -4);
  EXPECT_EQ(compute("_operator.mod", {-7, 2}).toInt(), 1);
  EXPECT_EQ(compute("_operator.truediv", {7, 2}).toDouble(), 3.5);
  EXPECT_EQ(compute("_operator.pow", {3, 4}).toInt(), 81);
  EXPECT_EQ(compute("torch.sym_max", {3, 4}).toInt(), 4);
  EXPECT_TRUE(compute("_operator.ge", {3, 3}).toBool());
  EXPECT_EQ(compute("torch.sym_ite", {false, 1, 2}).toInt(), 2);
  expect_in(message_of([&] { compute("_operator.floordiv", {1, 0}); }), {"divides by zero"});
  expect_in(message_of([&] { compute("_operator.mul", {INT64_MAX, 2}); }), {"64 bits"});
  expect_in(message_of([&] { compute("_operator.floordiv", {INT64_MIN, -1}); }), {"64 bits"});
  EXPECT_EQ(number_function("torch.ops.aten.add"), nullptr);
  EXPECT_EQ(number_function("os.system"), nullptr);
}

TEST(Operand, TakesTheTypeOfTheSchema) {
  Slots slots;
  slots.add("events", "");
  const Values values{IValue(int64_t{6})};
  const auto operand = [&](const pt2::Argument& argument, const c10::TypePtr& type, int width = 0) {
    return Operand(argument, type, width, slots, "here").value(values);
  };
  EXPECT_EQ(operand(int64_t{2}, c10::FloatType::get()).toDouble(), 2.0);
  EXPECT_TRUE(operand(0.5, c10::TensorType::get()).toTensor().unsafeGetTensorImpl()->is_wrapped_number());
  EXPECT_EQ(operand(pt2::Name{"events"}, c10::FloatType::get()).toDouble(), 6.0);
  EXPECT_EQ(operand(int64_t{2}, c10::ListType::ofInts(), 2).toIntVector(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(operand(std::vector<pt2::Element>{pt2::Name{"events"}, int64_t{-1}}, c10::ListType::ofInts()).toIntVector(),
            (std::vector<int64_t>{6, -1}));
  EXPECT_EQ(operand(pt2::ScalarType{7}, c10::IntType::get()).toScalarType(), at::kFloat);
  expect_in(message_of([&] { operand(std::string("x"), c10::IntType::get()); }), {"here", "takes, int"});
  expect_in(message_of([&] { operand(pt2::None{}, c10::TensorType::get()); }), {"is none"});
  expect_in(message_of([&] { operand(pt2::Name{"other"}, c10::TensorType::get()); }), {"'other' is used before"});
  expect_in(message_of([&] { slots.add("events", "there"); }), {"there", "computed twice"});
}

}  // namespace
}  // namespace linac::nn::exported
