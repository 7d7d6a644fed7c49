#include "linac/model/pt2/program.h"

#include <algorithm>
#include <cctype>

#include "linac/model/pt2/fields.h"

namespace linac::pt2 {
namespace {

using nlohmann::json;

constexpr size_t kListMax = 1 << 20;  // of elements of one argument, of inputs, of weights

json parse(std::string_view text, const char* what) {
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) throw user_error(fmt::format("[pt2] {} is not JSON; is the file complete?", what));
  return parsed;
}

// "s77" of "s77" or "Symbol('s77', positive=True, integer=True)"; empty for an expression.
std::string symbol_in(const std::string& text) {
  std::string name = text;
  const std::string begin = "Symbol('";
  if (name.starts_with(begin)) {
    const size_t end = name.find('\'', begin.size());
    if (end == std::string::npos || name.find(')') != name.size() - 1) return "";
    name = name.substr(begin.size(), end - begin.size());
  }
  const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool is_name = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                       std::all_of(name.begin(), name.end(), in_name);
  return is_name ? name : "";
}

Extent extent_of(const Field& field) {
  const auto [kind, value] = field.choice();
  if (kind == "as_expr") return symbol_in(value.at("expr_str").text());
  if (kind != "as_int") value.fail("is not understood as the extent of an axis");
  if (value.integer() < 0) value.fail("is negative");
  return value.integer();
}

int64_t number_of(const Field& field) {
  const Extent extent = extent_of(field);
  if (!std::holds_alternative<int64_t>(extent)) field.fail("depends on the number of events, which a weight cannot");
  return std::get<int64_t>(extent);
}

TensorInfo tensor_info(const Field& field) {
  TensorInfo info;
  info.scalar_type = field.at("dtype").integer();
  for (const Field& size : field.at("sizes").list(kRankMax)) info.shape.push_back(extent_of(size));
  return info;
}

// Of a symbolic number: {"as_name": "sym_size"} or {"as_int": 3}.
Element symbolic(const Field& field) {
  const auto [kind, value] = field.choice();
  if (kind == "as_name") return Name{value.text()};
  if (kind == "as_int") return value.integer();
  if (kind == "as_float") return value.number();
  if (kind == "as_bool") return value.truth();
  value.fail("is not understood as a number");
}

Element optional_tensor(const Field& field) {
  const auto [kind, value] = field.choice();
  if (kind == "as_none") return None{};
  if (kind == "as_tensor") return Name{value.at("name").text()};
  value.fail("is not understood as a tensor or none");
}

Element tensor_name(const Field& field) {
  return Name{field.at("name").text()};
}
Element integer(const Field& field) {
  return field.integer();
}
Element number(const Field& field) {
  return field.number();
}
Element truth(const Field& field) {
  return field.truth();
}
Element text(const Field& field) {
  return field.text();
}

// How each kind of PyTorch's union of arguments is read: a single value or a list of them.
struct Kind {
  const char* name;
  Element (*element)(const Field& field);
  bool list;
};
constexpr Kind kKinds[] = {
    {"as_tensor", tensor_name, false},
    {"as_tensors", tensor_name, true},
    {"as_optional_tensor", optional_tensor, false},
    {"as_optional_tensors", optional_tensor, true},
    {"as_int", integer, false},
    {"as_ints", integer, true},
    {"as_float", number, false},
    {"as_floats", number, true},
    {"as_bool", truth, false},
    {"as_bools", truth, true},
    {"as_string", text, false},
    {"as_strings", text, true},
    {"as_sym_int", symbolic, false},
    {"as_sym_ints", symbolic, true},
    {"as_sym_float", symbolic, false},
    {"as_sym_floats", symbolic, true},
    {"as_sym_bool", symbolic, false},
    {"as_sym_bools", symbolic, true},
};

Argument argument_of(const Field& field) {
  const auto [kind, value] = field.choice();
  for (const Kind& row : kKinds) {
    if (kind != row.name) continue;
    if (!row.list) return std::visit([](auto element) -> Argument { return element; }, row.element(value));
    std::vector<Element> elements;
    for (const Field& element : value.list(kListMax)) elements.push_back(row.element(element));
    return elements;
  }
  if (kind == "as_none") return None{};
  if (kind == "as_scalar_type") return ScalarType{value.integer()};
  if (kind == "as_memory_format") return MemoryFormat{value.integer()};
  if (kind == "as_layout") return Layout{value.integer()};
  if (kind == "as_device") return Device{};
  if (kind == "as_graph") {
    value.fail(
        "is a graph inside of the graph (torch.cond, torch.no_grad() or autocast in forward()), which linac does "
        "not run; take it out of forward()");
  }
  value.fail("is of a kind that linac does not understand; write forward() with tensors and numbers alone");
}

// The names that `argument` brings into the graph, or none.
Argument output_of(const Field& field) {
  Argument output = argument_of(field);
  const bool known = std::holds_alternative<None>(output) || std::holds_alternative<Name>(output) ||
                     std::holds_alternative<std::vector<Element>>(output);
  if (!known) field.fail("is not understood as a result");
  return output;
}

Node node_of(const Field& field) {
  Node node;
  node.where = field.path();
  node.target = field.at("target").text();
  if (node.target.starts_with("torch.ops.higher_order.")) {
    field.fail(
        fmt::format("{} holds a graph inside of the graph (torch.cond, torch.no_grad() or autocast in "
                    "forward()), which linac does not run; take it out of forward()",
                    node.target));
  }
  for (const Field& input : field.at("inputs").list(kListMax))
    node.inputs.emplace_back(input.at("name").text(), argument_of(input.at("arg")));
  for (const Field& output : field.at("outputs").list(kListMax)) node.outputs.push_back(output_of(output));
  return node;
}

std::string name_in(const Field& field) {
  return field.at("arg").at("name").text();
}

ProgramInput input_of(const Field& field, const Program& program) {
  using Kind = ProgramInput::Kind;
  const auto [kind, value] = field.choice();
  if (kind == "parameter") return {Kind::kParameter, name_in(value), value.at("parameter_name").text()};
  if (kind == "buffer")
    return {Kind::kBuffer, name_in(value), value.at("buffer_name").text(), value.at("persistent").truth()};
  if (kind == "tensor_constant")
    return {Kind::kConstant, name_in(value), value.at("tensor_constant_name").text(), false};
  if (kind == "constant_input") return {Kind::kFixed, value.at("name").text(), ""};
  if (kind != "user_input") value.fail("is not understood as an argument of forward(); use tensors");
  const auto [what, tensor] = value.at("arg").choice();
  if (what != "as_tensor")
    tensor.fail("is an argument of forward() that is no tensor; make it a constant of the module");
  ProgramInput input{Kind::kUser, tensor.at("name").text(), ""};
  if (!program.tensors.contains(input.name)) tensor.fail(fmt::format("'{}' has no shape in the file", input.name));
  return input;
}

ProgramOutput output_spec(const Field& field) {
  using Kind = ProgramOutput::Kind;
  const auto [kind, value] = field.choice();
  if (kind == "buffer_mutation") return {Kind::kBuffer, name_in(value), value.at("buffer_name").text()};
  if (kind == "user_input_mutation") return {Kind::kOther, name_in(value), ""};
  if (kind != "user_output") value.fail("is not understood as a result of forward(); export the module without a loss");
  const auto [what, tensor] = value.at("arg").choice();
  if (what != "as_tensor")
    tensor.fail("is a result of forward() that is no tensor; return a tensor, or a tuple of them");
  return {Kind::kUser, tensor.at("name").text(), ""};
}

Range range_of(const Field& field) {
  const auto bound = [&](const char* key) -> std::optional<int64_t> {
    if (!field.has(key)) return std::nullopt;
    return field.at(key).integer();
  };
  return {bound("min_val"), bound("max_val")};
}

void need_schema(const Field& root, const std::string& torch_version) {
  const int64_t major = root.at("schema_version").at("major").integer();
  if (major == kSchemaMajor) return;
  root.at("schema_version")
      .fail(
          fmt::format("is {} (PyTorch {}), and linac reads {}; load the file with torch.export.load and save it again "
                      "with the PyTorch that docs/guide/training.md names",
                      major, torch_version, kSchemaMajor));
}

}  // namespace

size_t bytes_of(int64_t scalar_type) {
  struct Row {
    int64_t code;
    size_t bytes;
  };
  constexpr Row kTable[] = {{1, 1},      {2, 1}, {3, 2},  {4, 4},  {5, 8}, {6, 2},
                            {kFloat, 4}, {8, 8}, {12, 1}, {13, 2}, {28, 2}};
  for (const Row& row : kTable)
    if (row.code == scalar_type) return row.bytes;
  return 0;
}

Program read_program(std::string_view text) {
  const json parsed = parse(text, "models/model.json");
  const Field root(parsed, "");
  Program program;
  program.torch_version = root.has("torch_version") ? root.at("torch_version").text() : "before 2.5";
  need_schema(root, program.torch_version);
  const Field module = root.at("graph_module"), graph = module.at("graph"), signature = module.at("signature");
  for (const auto& [name, tensor] : graph.at("tensor_values").items(kListMax))
    program.tensors[name] = tensor_info(tensor);
  for (const Field& input : signature.at("input_specs").list(kListMax))
    program.inputs.push_back(input_of(input, program));
  for (const Field& node : graph.at("nodes").list(kNodesMax)) program.nodes.push_back(node_of(node));
  for (const Field& output : signature.at("output_specs").list(kListMax))
    program.outputs.push_back(output_spec(output));
  for (const auto& [symbol, range] : root.at("range_constraints").items(kListMax))
    program.ranges[symbol] = range_of(range);
  return program;
}

std::map<std::string, Payload> read_payloads(std::string_view text) {
  const json parsed = parse(text, "the list of weights");
  std::map<std::string, Payload> payloads;
  for (const auto& [name, entry] : Field(parsed, "").at("config").items(kListMax)) {
    if (entry.at("use_pickle").truth() || !entry.has("tensor_meta"))
      entry.fail("is a pickled object, which linac does not read; the weights must be plain tensors");
    const Field meta = entry.at("tensor_meta");
    Payload payload;
    payload.file = entry.at("path_name").text();
    payload.scalar_type = meta.at("dtype").integer();
    for (const Field& size : meta.at("sizes").list(kRankMax)) payload.sizes.push_back(number_of(size));
    for (const Field& stride : meta.at("strides").list(kRankMax)) payload.strides.push_back(number_of(stride));
    if (payload.sizes.size() != payload.strides.size())
      meta.fail(fmt::format("has {} sizes and {} strides", payload.sizes.size(), payload.strides.size()));
    payload.offset = number_of(meta.at("storage_offset"));
    payload.trainable = meta.at("requires_grad").truth();
    payloads[name] = payload;
  }
  return payloads;
}

}  // namespace linac::pt2
