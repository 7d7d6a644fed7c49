#include "linac/model/graph/split/split_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/model/graph/split/reach.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using Kind = Reach::Kind;

std::vector<Shape> input_shapes(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (const int input : node.inputs) shapes.push_back(graph.nodes[static_cast<size_t>(input)].output);
  return shapes;
}

bool becomes_one(const Reach& reach) {
  return reach.kind == Kind::kSum || reach.kind == Kind::kMax;
}

/// Which nodes are divided, and how.
class Division {
 public:
  Division(const Graph& graph, const PartGrid& grid) : graph_(graph), grid_(grid), kept_whole_(graph.nodes.size()) {
    do decide();
    while (keep_shared_alike());
  }

  bool is_divided(int node) const { return divided_[static_cast<size_t>(node)]; }
  /// Of a node whose cells, or those of its input, are divided.
  const std::optional<Reach>& reach(int node) const { return reach_[static_cast<size_t>(node)]; }

 private:
  void decide() {
    divided_.assign(graph_.nodes.size(), false);
    reach_.assign(graph_.nodes.size(), std::nullopt);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.inputs.empty() || kept_whole_[i]) continue;
      const std::vector<Shape> inputs = input_shapes(graph_, node);
      const auto reach = reach_of(node, inputs);
      if (!reach) continue;
      const auto comes_divided = [&](int input) {
        return is_divided(input) || graph_.nodes[static_cast<size_t>(input)].op == "InputLayer";
      };
      const bool any_divided = std::ranges::any_of(node.inputs, comes_divided);
      if (becomes_one(*reach)) {
        if (is_divided(node.inputs[0])) reach_[i] = reach;
      } else if (grid_.divides(node.output) && (any_divided || reach->kind == Kind::kWindow ||
                                                reach->kind == Kind::kSpread || reach->kind == Kind::kMoved)) {
        reach_[i] = reach;
        divided_[i] = true;
      }
    }
  }

  /// Calls of one layer are divided all or none: the gradient of their weights is of one kind. Whether some must
  /// become whole for that.
  bool keep_shared_alike() {
    bool changed = false;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].shares < 0) continue;
      const auto first = static_cast<size_t>(graph_.nodes[i].shares);
      if (divided_[i] == divided_[first]) continue;
      changed = true;
      kept_whole_[i] = kept_whole_[first] = true;
    }
    return changed;
  }

  const Graph& graph_;
  const PartGrid& grid_;
  std::vector<bool> kept_whole_, divided_;
  std::vector<std::optional<Reach>> reach_;
};

/// The graph of one part.
class PartGraph {
 public:
  PartGraph(const Graph& graph, const PartGrid& grid, const Division& division, const std::vector<int>& lanes, int part)
      : graph_(graph), grid_(grid), division_(division), lanes_(lanes), part_(part), made_(graph.nodes.size(), -1) {
    local_.name = graph.name;
    for (size_t i = 0; i < graph.nodes.size(); ++i) add(static_cast<int>(i));
    for (const int input : graph.inputs) local_.inputs.push_back(made_[static_cast<size_t>(input)]);
    for (const int output : graph.outputs) local_.outputs.push_back(whole(output));
    infer_shapes(local_);
  }

  Graph take() { return std::move(local_); }
  const std::vector<int>& gathered() const { return gathered_; }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<size_t>(i)]; }
  /// Of each part.
  using Regions = std::vector<Region>;

  Regions own(int i) const {
    Regions regions;
    for (int part = 0; part < grid_.count(); ++part) regions.push_back(grid_.own(node(i).output, part));
    return regions;
  }

  int append(Node made) {
    local_.nodes.push_back(std::move(made));
    return static_cast<int>(local_.nodes.size()) - 1;
  }

  int append(const std::string& op, const std::string& name, int input, json attributes) {
    Node made;
    made.op = op;
    made.name = fmt::format("{}/{}", name, local_.nodes.size());
    made.inputs = {input};
    made.attributes = std::move(attributes);
    return append(std::move(made));
  }

  /// The layer itself, of other inputs.
  Node copy(int i, std::vector<int> inputs) const {
    Node made = node(i);
    made.inputs = std::move(inputs);
    made.output.clear();
    made.more.clear();
    made.weights.clear();
    if (made.shares >= 0) made.shares = made_[static_cast<size_t>(made.shares)];
    if (const int lane = lanes_[static_cast<size_t>(i)]; lane >= 0) made.attributes[kLane] = lane;
    return made;
  }

  void add(int i) {
    const std::optional<Reach>& reach = division_.reach(i);
    int& made = made_[static_cast<size_t>(i)];
    if (reach && becomes_one(*reach)) {
      made = add_reduction(i, *reach);
    } else if (!division_.is_divided(i)) {
      made = add_whole(i);
    } else if (reach->kind == Kind::kWindow) {
      made = add_window(i, *reach);
    } else if (reach->kind == Kind::kSpread) {
      made = add_spread(i, *reach);
    } else if (reach->kind != Kind::kMoved) {  // of which only fetch() knows
      made = add_cells(i, *reach);
    }
  }

  int add_whole(int i) {
    std::vector<int> inputs;
    for (const int input : node(i).inputs) inputs.push_back(whole(input));
    Node made = copy(i, std::move(inputs));
    if (made.mask >= 0) made.mask = whole(made.mask);
    return append(std::move(made));
  }

  int add_cells(int i, const Reach& reach) {
    const Shape& image = node(i).output;
    std::vector<int> inputs;
    for (const int input : node(i).inputs) {
      Regions needed = own(i);
      for (Region& region : needed)
        for (size_t axis = 0; axis < region.size(); ++axis)
          if (node(input).output[axis] != image[axis]) region[axis] = {0, 1};
      inputs.push_back(fetch(input, needed, false));
    }
    Node made = copy(i, std::move(inputs));
    if (reach.kind == Kind::kStatistics) made.attributes[kAllParts] = true;
    if (reach.kind == Kind::kDraw) {
      made.attributes[kRegion] = to_json(grid_.own(image, part_));
      made.attributes[kImage] = image;
    }
    return append(std::move(made));
  }

  Regions needed_of(int i, const Reach& reach) const {
    Regions needed = own(i);
    for (Region& region : needed)
      for (size_t axis = 0; axis < region.size(); ++axis) region[axis] = reach.needed(axis, region[axis]);
    return needed;
  }

  int add_window(int i, const Reach& reach) {
    const int input = node(i).inputs[0];
    const Regions needed = needed_of(i, reach);
    Node made = copy(i, {fetch(input, needed, reach.lowest_outside)});
    made.attributes["padding"] = "valid";
    if (made.op.starts_with("AveragePooling")) {
      json outside = json::array();
      bool any = false;
      for (size_t axis = 0; axis + 1 < node(i).output.size(); ++axis) {
        const Cells& cells = needed[static_cast<size_t>(part_)][axis];
        const int64_t before = std::max<int64_t>(0, -cells.begin),
                      behind = std::max<int64_t>(0, cells.end - node(input).output[axis]);
        outside.push_back({before, behind});
        any = any || before > 0 || behind > 0;
      }
      if (any) made.attributes[kOutside] = outside;
    }
    return append(std::move(made));
  }

  int add_spread(int i, const Reach& reach) {
    const Regions needed = needed_of(i, reach);
    Node made = copy(i, {fetch(node(i).inputs[0], needed, false)});
    if (made.op.ends_with("Transpose")) made.attributes["padding"] = "valid";
    made.attributes.erase("output_padding");
    const size_t cells = node(i).output.size() - 1;
    const int spread = append(std::move(made));
    infer_shapes(local_);
    const Region own = grid_.own(node(i).output, part_);
    json surplus = json::array();
    bool any = false;
    for (size_t axis = 0; axis < cells; ++axis) {
      const int64_t first = reach.first_output(axis, needed[static_cast<size_t>(part_)][axis].begin),
                    before = own[axis].begin - first, behind = first + local_.nodes.back().output[axis] - own[axis].end;
      LINAC_CHECK(before >= 0 && behind >= 0);
      surplus.push_back({before, behind});
      any = any || before > 0 || behind > 0;
    }
    if (!any) return spread;
    return append(fmt::format("Cropping{}D", cells), node(i).name + "/cut", spread, {{"cropping", surplus}});
  }

  int add_reduction(int i, const Reach& reach) {
    const int input = node(i).inputs[0];
    const int here = append(copy(i, {own_cells(input)}));
    int share = here;
    if (reach.kind == Kind::kSum) {
      const Shape& image = node(input).output;
      const double part = static_cast<double>(elements(shape_of(grid_.own(image, part_), 1))),
                   all = static_cast<double>(elements(shape_of(all_cells(image), 1)));
      share = append("Rescaling", node(i).name + "/share", here, {{"scale", part / all}});
    }
    return append(kPartJoin, node(i).name + "/join", share,
                  {{"how", reach.kind == Kind::kSum ? "sum" : "max"}, {"part", part_}});
  }

  /// The local node with the part's cells of a divided value.
  int own_cells(int i) {
    int& made = made_[static_cast<size_t>(i)];
    if (made < 0) made = fetch(i, own(i), false);
    return made;
  }

  /// All of a value.
  int whole(int i) {
    if (!division_.is_divided(i)) return made_[static_cast<size_t>(i)];
    const auto found = gathers_.find(i);
    if (found != gathers_.end()) return found->second;
    const int gather = append(kPartGather, node(i).name + "/all", own_cells(i), place_of(i));
    gathered_.push_back(i);
    return gathers_[i] = gather;
  }

  json place_of(int i) const { return {{"image", node(i).output}, {"grid", grid_.axes}, {"part", part_}}; }

  /// Regions of value i, one a part.
  int fetch(int i, const Regions& needed, bool lowest) {
    if (const auto& reach = division_.reach(i); reach && reach->kind == Kind::kMoved) {
      if (const auto source = behind_the_move(i, *reach, needed, lowest)) return *source;
    }
    const std::string key = fmt::format("{} {} {}", i, lowest, regions_json(needed).dump());
    if (const auto found = fetched_.find(key); found != fetched_.end()) return found->second;
    return fetched_[key] = fetch_anew(i, needed, lowest);
  }

  /// Cells of what a ZeroPadding or Cropping gives are cells of its input, or zeros. Nothing where cells are needed
  /// that it does not give, and which its input may have.
  std::optional<int> behind_the_move(int i, const Reach& reach, const Regions& needed, bool lowest) {
    const Region all = all_cells(node(i).output);
    const bool inside = std::ranges::all_of(needed, [&](const Region& region) { return holds(all, region); });
    if (!inside && (lowest || node(i).op.starts_with("Crop"))) {
      own_cells(i);
      return std::nullopt;
    }
    Regions before = needed;
    for (Region& region : before)
      for (size_t axis = 0; axis < region.size(); ++axis) region[axis] = reach.needed(axis, region[axis]);
    return fetch(node(i).inputs[0], before, false);
  }

  int fetch_anew(int i, const Regions& needed, bool lowest) {
    json attributes{{"needed", regions_json(needed)}, {"part", part_}, {"lowest", lowest}};
    if (!division_.is_divided(i)) {
      const Region all = all_cells(node(i).output);
      if (is_source(i) && std::ranges::all_of(needed, [&](const Region& region) { return region == all; }))
        return made_[static_cast<size_t>(i)];
      return append(kPartSlice, node(i).name + "/slice", made_[static_cast<size_t>(i)], std::move(attributes));
    }
    if (needed == own(i) && made_[static_cast<size_t>(i)] >= 0) return made_[static_cast<size_t>(i)];
    attributes.update(place_of(i));
    return append(kPartHalo, node(i).name + "/halo", made_[static_cast<size_t>(i)], std::move(attributes));
  }

  bool is_source(int i) const { return node(i).op == "InputLayer"; }

  static json regions_json(const Regions& regions) {
    json all = json::array();
    for (const Region& region : regions) all.push_back(to_json(region));
    return all;
  }

  const Graph& graph_;
  const PartGrid& grid_;
  const Division& division_;
  const std::vector<int>& lanes_;
  const int part_;
  Graph local_;
  std::vector<int> made_;       // by node of the graph: the local one with its value, or the part's cells of it
  std::map<int, int> gathers_;  // by node
  std::map<std::string, int> fetched_;
  std::vector<int> gathered_;
};

}  // namespace

SplitGraph split_graph(const Graph& graph, const PartGrid& grid, const std::vector<int>& lanes) {
  const Division division(graph, grid);
  SplitGraph split;
  bool any = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    any = any || division.is_divided(static_cast<int>(i));
    split.whole.push_back(!division.is_divided(static_cast<int>(i)));
    for (const Weight& weight : graph.nodes[i].weights)
      if (weight.trainable) split.whole_weights.push_back(split.whole.back());
  }
  if (!any) {
    throw user_error(fmt::format(
        "[graph] {}: no layer can be divided into {} x {} x {} parts: train.split is for convolutions and pools over "
        "images with at least as many cells along each axis",
        graph.name, grid.axes[0], grid.axes[1], grid.axes[2]));
  }
  for (int part = 0; part < grid.count(); ++part) {
    PartGraph made(graph, grid, division, lanes, part);
    split.gathers = made.gathered();
    split.parts.push_back(made.take());
  }
  return split;
}

}  // namespace linac::graph
