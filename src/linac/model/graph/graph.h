#pragma once
// A model as a Keras graph: layers with Keras's class names, attributes and weight shapes, wired by index. It says what
// is computed, never how: `nn` runs it, `model/graph/passes` rewrite it, `model/keras/archive.h` reads and writes it.
// Plain values: copy, compare, pass around. Shapes leave the batch axis out and keep channels last, like Keras: an
// image is {x, y, z, channels}.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace linac::graph {

using Shape = std::vector<int64_t>;

/// No layer may have more elements an event than this: products of extents up to here cannot overflow.
constexpr int64_t kElementsMax = int64_t{1} << 40;

/// The product of the extents. The shapes in a graph are bounded by infer_shapes.
int64_t elements(const Shape& shape);
/// Whether all extents are positive and their product is at most kElementsMax, found without overflow.
bool is_bounded(const Shape& shape);
std::string to_string(const Shape& shape);  // "(51, 51, 25, 1)"

/// What a weight is brought back to after each update (keras.constraints): values not below 0, or norms.
struct Constraint {
  bool non_negative = false;
  std::vector<int64_t> axes{};  // over which norms are taken; empty: they are free
  double min = 0, max = 0;      // of the norms
  double rate = 1;              // how much of the way into these bounds one update goes
};

/// A weight of a layer as Keras stores it: convolution kernels are (kx, ky, kz, in, out), dense ones (in, out).
struct Weight {
  std::string name;  // "kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance"
  Shape shape;
  std::string initializer;  // Keras's name: "he_uniform", "glorot_uniform", "glorot_normal", "zeros", "ones"
  bool trainable = true;  // not: running statistics, constants, and all of a layer whose attribute "trainable" is false
  std::string group = "vars";  // where Keras's weight file has it, below the layer: "vars", "cell/vars"
  double l1 = 0, l2 = 0;       // what it adds to the loss: l1 x the sum of |w|, l2 x the sum of w squared
  std::optional<Constraint> constraint = std::nullopt;
};

/// The op of a node that stands for somebody else's code: the graph knows its weights and nothing of what it does.
constexpr const char* kForeignModule = "ForeignModule";
constexpr const char* kForeignOutput = "ForeignOutput";  // of a node that reads one of its outputs

/// The op of a node that is another output of the node it reads: of number "index", 1 or more. Output 0 is the node's
/// own value, so only what has several outputs knows of them (docs/internals/decisions/parts.md).
constexpr const char* kPart = "Part";

struct Node {
  std::string name;  // unique in the graph
  /// Keras's class name ("Conv3D", "BatchNormalization", ...), "ops." and the name of a node of keras.ops ("ops.Add"),
  /// or linac's own ("ShowerAngle", ...).
  std::string op;
  nlohmann::json
      attributes;  // Keras's config keys of that class: {"filters": 8, "kernel_size": [6,6,8], "padding": "valid", ...}
  std::vector<int> inputs;       // indices of earlier nodes
  Shape output;                  // filled by infer_shapes
  std::vector<Weight> weights;   // filled by infer_shapes, in Keras's order; none if `shares`
  int shares = -1;               // the earlier node of which this is another call, with the same weights; -1: none
  int mask = -1;                 // the earlier node that says which steps count (bool); -1: none is given
  std::vector<Shape> more = {};  // of outputs 1, 2, ..., which Parts read; filled by infer_shapes
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;  // in topological order: an input is always earlier
  std::vector<int> inputs;  // the InputLayer nodes, in the model's order
  std::vector<int> outputs;

  /// Index of the node called `name`; throws a user error that lists the names.
  int find(const std::string& name) const;
};

/// Of a Part, the number of the output that it reads.
size_t part_number(const Node& part);

/// Fills output shapes and weights of every node. Throws a user error naming the layer for an unknown class or
/// attribute value, or shapes that do not fit,
/// are empty or beyond kElementsMax.
void infer_shapes(Graph& graph);

/// Multiply-adds times two of one event through the node, forward; 0 of foreign code, where nobody knows.
double forward_flop(const Graph& graph, int node);
/// Of the whole graph.
double forward_flop(const Graph& graph);
/// Number of weight values; `trainable_only` leaves the running statistics out.
int64_t count_weights(const Graph& graph, bool trainable_only);

/// Appends nodes and keeps their order; the one way models are written down in C++.
class Builder {
 public:
  explicit Builder(std::string name) { graph_.name = std::move(name); }
  int input(const std::string& name, const Shape& shape);
  int add(const std::string& op, const std::string& name, std::vector<int> inputs,
          nlohmann::json attributes = nlohmann::json::object());
  /// Sets the outputs, infers all shapes and hands the graph over.
  Graph finish(std::vector<int> outputs);

 private:
  Graph graph_;
};

/// Weight values of a graph, one buffer a weight in the order of nodes and their weights.
struct WeightValues {
  std::vector<std::vector<float>> values;
};

}  // namespace linac::graph
