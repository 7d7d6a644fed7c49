#include "linac/model/pt2/program.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/test_errors.h"

namespace linac::pt2 {
namespace {

using nlohmann::json;

// tanh(x) * weight, for any number of events of 4.
json small() {
  const json any = {{"as_expr", {{"expr_str", "Symbol('s77', positive=True, integer=True)"}}}}, four = {{"as_int", 4}};
  const json x = {{"name", "x"}}, weight = {{"name", "p_weight"}};
  const auto argument = [](const char* name, json value) { return json{{"name", name}, {"arg", std::move(value)}}; };
  const auto node = [](const char* target, json inputs, const char* output) {
    return json{{"target", target},
                {"inputs", std::move(inputs)},
                {"outputs", json::array({{{"as_tensor", {{"name", output}}}}})},
                {"metadata", json::object()}};
  };
  const json graph = {
      {"inputs", json::array()},
      {"outputs", json::array()},
      {"nodes",
       json::array({node("torch.ops.aten.tanh.default", json::array({argument("self", {{"as_tensor", x}})}), "tanh"),
                    node("torch.ops.aten.mul.Tensor",
                         json::array({argument("self", {{"as_tensor", {{"name", "tanh"}}}}),
                                      argument("other", {{"as_tensor", weight}})}),
                         "mul")})},
      {"tensor_values", {{"x", {{"dtype", 7}, {"sizes", json::array({any, four})}}}}}};
  const json signature = {
      {"input_specs", json::array({{{"parameter", {{"arg", weight}, {"parameter_name", "weight"}}}},
                                   {{"user_input", {{"arg", {{"as_tensor", x}}}}}}})},
      {"output_specs", json::array({{{"user_output", {{"arg", {{"as_tensor", {{"name", "mul"}}}}}}}}})}};
  return {{"graph_module", {{"graph", graph}, {"signature", signature}}},
          {"range_constraints", {{"s77", {{"min_val", 2}, {"max_val", nullptr}}}}},
          {"schema_version", {{"major", kSchemaMajor}, {"minor", 0}}},
          {"torch_version", "2.11.0"}};
}

std::string refused(const json& program) {
  return message_of([&] { read_program(program.dump()); });
}

TEST(Program, IsReadWithItsSignatureAndSymbols) {
  const Program program = read_program(small().dump());
  ASSERT_EQ(program.inputs.size(), 2U);
  EXPECT_EQ(program.inputs[0].target, "weight");
  EXPECT_EQ(program.inputs[1].kind, ProgramInput::Kind::kUser);
  EXPECT_EQ(std::get<std::string>(program.tensors.at("x").shape[0]), "s77");
  EXPECT_EQ(std::get<int64_t>(program.tensors.at("x").shape[1]), 4);
  ASSERT_EQ(program.nodes.size(), 2U);
  EXPECT_EQ(program.nodes[1].inputs[1].first, "other");
  EXPECT_EQ(program.outputs.at(0).name, "mul");
  EXPECT_EQ(program.ranges.at("s77").min, 2);
  EXPECT_FALSE(program.ranges.at("s77").max);
}

TEST(Program, RefusesWhatItDoesNotUnderstandByTheFieldsName) {
  expect_in(message_of([] { read_program("{"); }), {"not JSON"});
  expect_in(refused(json::array()), {"is array and not an object"});
  json other = small();
  other["schema_version"]["major"] = 9;
  expect_in(refused(other), {"schema_version: is 9", "2.11.0"});
  other = small();
  other["graph_module"]["graph"]["nodes"][1]["target"] = "torch.ops.higher_order.cond";
  expect_in(refused(other), {"graph_module.graph.nodes[1]", "higher_order.cond", "take it out of forward()"});
  other = small();
  other["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {{"as_complex", {{"real", 1}, {"imag", 0}}}};
  expect_in(refused(other), {"nodes[0].inputs[0].arg.as_complex", "does not understand"});
  other = small();
  other["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"] = {{"as_int", 1.5}};
  expect_in(refused(other), {"nodes[0].inputs[0].arg.as_int", "is number and not an integer"});
  other = small();
  other["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][1] = {{"as_int", -1}};
  expect_in(refused(other), {"tensor_values.x.sizes[1].as_int", "is negative"});
  other = small();
  other["graph_module"]["signature"]["input_specs"][1]["user_input"]["arg"] = {{"as_sym_int", {{"as_name", "s"}}}};
  expect_in(refused(other), {"input_specs[1]", "is no tensor"});
  other = small();
  other["graph_module"].erase("signature");
  expect_in(refused(other), {"graph_module: has no 'signature'"});
}

TEST(Payloads, RefuseWhatIsNoPlainTensor) {
  const json one = {{"as_int", 1}};
  const json meta = {{"dtype", 7},
                     {"sizes", json::array({one})},
                     {"strides", json::array({one})},
                     {"storage_offset", one},
                     {"requires_grad", true}};
  json entry = {{"path_name", "weight_0"}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta}};
  const auto read = [&] { return read_payloads(json{{"config", {{"w", entry}}}}.dump()); };
  EXPECT_EQ(read().at("w").file, "weight_0");
  EXPECT_TRUE(read().at("w").trainable);
  entry["tensor_meta"]["strides"] = json::array();
  expect_in(message_of(read), {"config.w.tensor_meta", "1 sizes and 0 strides"});
  entry["tensor_meta"]["strides"] = json::array({{{"as_int", -1}}});
  expect_in(message_of(read), {"is negative"});
  entry["use_pickle"] = true;
  expect_in(message_of(read), {"config.w", "pickled"});
}

}  // namespace
}  // namespace linac::pt2
