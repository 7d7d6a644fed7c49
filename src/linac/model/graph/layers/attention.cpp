#include <fmt/format.h>

#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using enum SettingKind;

/// One axis, in a list of its own or not; as wide as the query if not given.
int64_t output_size(const Node& node, int64_t query) {
  const nlohmann::json shape = node.attributes.value("output_shape", nlohmann::json());
  return shape.is_array() ? extents(node, "output_shape", 1)[0] : integer(node, "output_shape", query);
}

// Query, value and perhaps a key (the value, if not given): "Attention is all you need", arXiv:1706.03762.
void infer_multi_head_attention(Node& node, const std::vector<Shape>& given) {
  std::vector<Shape> inputs = given;
  const Shape mask = has_attention_mask(node) ? inputs.back() : Shape();
  if (has_attention_mask(node)) inputs.pop_back();
  if (inputs.size() < 2 || inputs.size() > 3) refuse(node, "takes a query, a value and perhaps a key");
  for (const Shape& input : inputs) need_rank(node, input, 2);
  const Shape &query = inputs[0], &value = inputs[1], &key = inputs.size() > 2 ? inputs[2] : value;
  if (key[0] != value[0]) refuse(node, "has as many keys as values");
  const auto fits = [&](size_t axis, int64_t steps) { return mask[axis] == steps || mask[axis] == 1; };
  if (has_attention_mask(node) && (mask.size() != 2 || !fits(0, query[0]) || !fits(1, key[0]))) {
    refuse(node, fmt::format("its attention_mask is {} an event, wanted is ({}, {}), one for all heads",
                             to_string(mask), query[0], key[0]));
  }
  const int64_t heads = integer(node, "num_heads"), key_size = integer(node, "key_dim"),
                value_size = integer(node, "value_dim", key_size), out = output_size(node, query[1]);
  node.output = {query[0], out};
  if (flag(node, "return_attention_scores", false)) node.more = {{heads, query[0], key[0]}};
  const bool bias = flag(node, "use_bias", true);
  const auto add = [&](const std::string& part, const Shape& kernel, const Shape& bias_shape) {
    const std::string group = part + "_dense/vars";
    node.weights.push_back({part + "_kernel", kernel, text(node, "kernel_initializer", "glorot_uniform"), true, group});
    if (bias)
      node.weights.push_back({part + "_bias", bias_shape, text(node, "bias_initializer", "zeros"), true, group});
  };
  add("query", {query[1], heads, key_size}, {heads, key_size});
  add("key", {key[1], heads, key_size}, {heads, key_size});
  add("value", {value[1], heads, value_size}, {heads, value_size});
  add("output", {heads, value_size, out}, {out});
}

double flop_multi_head_attention(const Node& node, const Shape& query) {
  const auto steps = static_cast<double>(query[0]), width = static_cast<double>(query[1]);
  const auto inner = static_cast<double>(integer(node, "num_heads") * integer(node, "key_dim"));
  return 2 * steps * inner * (4 * width + 2 * steps);
}

}  // namespace

std::vector<LayerKind> attention_layers() {
  return {
      {"MultiHeadAttention",
       kOneOrMore,
       infer_multi_head_attention,
       flop_multi_head_attention,
       {{"num_heads", kKept, nullptr},
        {"key_dim", kKept, nullptr},
        {"value_dim", kKept, nullptr},
        {"dropout", kKept, 0.0},
        {"use_bias", kKept, true},
        {"output_shape", kKept, nullptr},
        {"attention_axes", kIgnored, nullptr},  // the only axis, once there is one
        {"flash_attention", kIgnored, nullptr},
        {"kernel_initializer", kInitializer, "glorot_uniform"},
        {"bias_initializer", kInitializer, "zeros"},
        {"seed", kIgnored, nullptr},
        {"query_shape", kIgnored, nullptr},
        {"key_shape", kIgnored, nullptr},
        {"value_shape", kIgnored, nullptr}}},
  };
}

}  // namespace linac::graph
