#pragma once
// A program of torch.export as its file describes it (models/model.json of a .pt2 archive: the schema of PyTorch's
// torch/_export/serde/schema.py), read with every field checked. Plain values: what is executed is made of them
// in model/nn/exported/call.h. Thread-safe functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace linac::pt2 {

/// The breaking version of the schema that is read.
inline constexpr int64_t kSchemaMajor = 8;
inline constexpr size_t kNodesMax = 200'000;
inline constexpr size_t kRankMax = 64;

/// A value of the graph: a tensor, or a number that follows from shapes.
struct Name {
  std::string text;
};

struct None {};
/// Numbers of PyTorch's schema, not of c10.
struct ScalarType {
  int64_t code = 0;
};
struct MemoryFormat {
  int64_t code = 0;
};
struct Layout {
  int64_t code = 0;
};
/// Which one does not matter: everything is computed on the CPU.
struct Device {};

using Element = std::variant<None, Name, bool, int64_t, double, std::string>;
/// Of an operator: what it is given, or the names of what comes out.
using Argument = std::variant<None, Name, bool, int64_t, double, std::string, ScalarType, MemoryFormat, Layout, Device,
                              std::vector<Element>>;

struct Node {
  std::string target;  // "torch.ops.aten.linear.default", "_operator.mul"
  std::vector<std::pair<std::string, Argument>> inputs;
  std::vector<Argument> outputs;  // None, Name or a list of them
  std::string where;              // in the file, for messages
  std::string source = {};        // the line of Python that asks for it, where it is known
};

/// An extent, or the symbol that stands for it ("s77"); empty: an expression of several.
using Extent = std::variant<int64_t, std::string>;

/// Bytes of a number of a type; 0 if it is not known.
size_t bytes_of(int64_t scalar_type);
inline constexpr int64_t kFloat = 7;

struct TensorInfo {
  int64_t scalar_type = 0;
  std::vector<Extent> shape;
};

struct ProgramInput {
  enum class Kind { kUser, kParameter, kBuffer, kConstant, kFixed };
  Kind kind;
  std::string name;        // in the graph
  std::string target;      // of weights: their name in the module
  bool persistent = true;  // buffers: in the state_dict
};

struct ProgramOutput {
  /// kOther: computed and not wanted.
  enum class Kind { kUser, kBuffer, kOther };
  Kind kind;
  std::string name;    // in the graph
  std::string target;  // kBuffer: whose new value this is
};

/// Both ends belong to it.
struct Range {
  std::optional<int64_t> min, max;
};

struct Program {
  std::vector<ProgramInput> inputs;
  std::vector<Node> nodes;
  std::vector<ProgramOutput> outputs;
  std::map<std::string, TensorInfo> tensors;  // of the graph, by their names
  std::map<std::string, Range> ranges;        // of symbols
  std::string torch_version;
};

/// A weight's numbers as they lie in memory, the last axis first.
struct Numbers {
  int64_t scalar_type = 0;
  std::vector<int64_t> sizes;
  std::string bytes;
};

/// A program with the numbers of its parameters, buffers and constants, by ProgramInput::name: of whatever file.
struct WeightedProgram {
  Program program;
  std::map<std::string, Numbers> weights;
};

/// Where one weight lies in the archive.
struct Payload {
  std::string file;  // below data/weights/ or data/constants/
  int64_t scalar_type = 0;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // elements
  bool trainable = false;
};

/// User error naming the field and what is there if the text is no program, of another version of the schema, or asks
/// for what is not understood: graphs inside of graphs (torch.cond, torch.no_grad() in forward()), objects of classes,
/// complex numbers.
Program read_program(std::string_view json);

/// data/weights/model_weights_config.json or data/constants/model_constants_config.json, by the weights' names. User
/// error as above, and for weights that are pickled or whose sizes are symbols.
std::map<std::string, Payload> read_payloads(std::string_view json);

}  // namespace linac::pt2
