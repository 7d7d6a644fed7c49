#include "linac/model/nn/recurrent.h"

#include <fmt/format.h>

#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/graph/masks.h"
#include "linac/model/nn/dropout.h"
#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/recurrent_kernel.h"

namespace linac::nn {
namespace {

constexpr uint64_t kDrawsOfALayer = 8;  // of x and of the state, one each of up to four gates

int64_t gates_of(const std::vector<at::Tensor>& weights) {
  return weights[1].size(1) / weights[1].size(0);
}

// As Keras 3: a gate drops values of its own only where the state is dropped too.
Dropped draw(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights, DrawsOf draws) {
  if (!call.training()) return {};
  const auto rate_of = [&](const char* name) {
    const double rate = layer.attributes.value(name, 0.0);
    if (rate < 0 || rate >= 1) {
      throw user_error(
          fmt::format("[nn] layer '{}' ({}): {} = {} cannot be trained with; it must be at least 0 and "
                      "below 1",
                      layer.name, layer.op, name, rate));
    }
    return rate;
  };
  const double x_rate = rate_of("dropout"), state_rate = rate_of("recurrent_dropout");
  const int64_t masks = state_rate > 0 ? gates_of(weights) : 1;
  uint64_t number = draws == DrawsOf::kFirst ? 0 : kDrawsOfALayer;
  const auto multipliers = [&](double rate, int64_t cells) {
    std::vector<at::Tensor> all;
    for (int64_t i = 0; i < masks; ++i, ++number) {
      if (rate == 0) continue;
      all.push_back(draw_kept(call.dropout_key, rate, call.x().size(0), cells, number));
      if (call.options.dropout_masks != nullptr) call.options.dropout_masks->push_back(all.back());
      all.back() = all.back().to(call.x().device());
    }
    return all;
  };
  Dropped dropped;
  dropped.x = multipliers(x_rate, call.x().size(-1));
  dropped.state = multipliers(state_rate, weights[1].size(0));
  for (at::Tensor& kept : dropped.x) kept = kept.unsqueeze(1);
  return dropped;
}

/// What a layer's cell does in one step.
class Cell {
 public:
  Cell(const graph::Node& node, const std::vector<at::Tensor>& weights, Dropped dropped)
      : kind_(node.op),
        activation_(node.attributes.value("activation", "tanh")),
        gate_(node.attributes.value("recurrent_activation", "sigmoid")),
        reset_after_(node.attributes.value("reset_after", true)),
        kernel_(weights[0]),
        recurrent_(weights[1]),
        bias_(weights.size() > 2 ? weights[2] : at::Tensor()),
        dropped_(std::move(dropped)) {}

  /// The products of all steps with the kernel, with the bias, (N, T, gates * U).
  at::Tensor project(const at::Tensor& x) const {
    const at::Tensor product = by_gates(x, kernel_, dropped_.x);
    if (!bias_.defined()) return product;
    return product + (bias_.dim() == 2 ? bias_[0] : bias_);
  }

  struct State {
    at::Tensor h, c;  // c: of an LSTM
  };
  State initial(int64_t events, const at::Tensor& like) const {
    const at::Tensor zero = at::zeros({events, recurrent_.size(0)}, like.options());
    return {zero, kind_ == "LSTM" ? zero : at::Tensor()};
  }

  /// `x`: one step of project().
  State step(const at::Tensor& x, const State& state) const {
    if (kind_ == "SimpleRNN") return {activate(activation_, x + by_gates(state.h, recurrent_, dropped_.state)), {}};
    return kind_ == "GRU" ? gru(x, state) : lstm(x, state);
  }

 private:
  /// The product with the columns of all gates, each of what its multipliers leave; a matrix may end before the last
  /// gate.
  at::Tensor by_gates(const at::Tensor& values, const at::Tensor& matrix, const std::vector<at::Tensor>& kept) const {
    if (kept.empty()) return at::matmul(values, matrix);
    const int64_t units = recurrent_.size(0);
    std::vector<at::Tensor> products;
    for (int64_t i = 0; i < matrix.size(1) / units; ++i) {
      products.push_back(at::matmul(values * kept[static_cast<size_t>(i)], matrix.narrow(1, i * units, units)));
    }
    return at::cat(products, -1);
  }

  at::Tensor gate(const at::Tensor& x) const { return activate(gate_, x); }

  State gru(const at::Tensor& x, const State& state) const {
    const int64_t units = recurrent_.size(0);
    const auto part = [units](const at::Tensor& all, int64_t i) { return all.narrow(-1, i * units, units); };
    at::Tensor z, candidate;
    if (reset_after_) {
      at::Tensor inner = by_gates(state.h, recurrent_, dropped_.state);
      if (bias_.defined()) inner = inner + bias_[1];
      z = gate(part(x, 0) + part(inner, 0));
      candidate = part(x, 2) + gate(part(x, 1) + part(inner, 1)) * part(inner, 2);
    } else {
      const at::Tensor gates = by_gates(state.h, recurrent_.narrow(1, 0, 2 * units), dropped_.state);
      z = gate(part(x, 0) + part(gates, 0));
      at::Tensor reset = gate(part(x, 1) + part(gates, 1)) * state.h;
      if (!dropped_.state.empty()) reset = reset * dropped_.state[2];
      candidate = part(x, 2) + at::matmul(reset, part(recurrent_, 2));
    }
    return {z * state.h + (1 - z) * activate(activation_, candidate), {}};
  }

  State lstm(const at::Tensor& x, const State& state) const {
    const auto gates =
        (x + by_gates(state.h, recurrent_, dropped_.state)).chunk(4, -1);  // input, forget, candidate, output
    const at::Tensor c = gate(gates[1]) * state.c + gate(gates[0]) * activate(activation_, gates[2]);
    return {gate(gates[3]) * activate(activation_, c), c};
  }

  std::string kind_, activation_, gate_;
  bool reset_after_;
  at::Tensor kernel_, recurrent_, bias_;
  Dropped dropped_;
};

}  // namespace

bool zeroes_masked_steps(const graph::Node& layer) {
  return layer.attributes.value("zero_output_for_mask", false);
}

RecurrentResult run_recurrent(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights,
                              std::span<const at::Tensor> initial, bool zero_masked_steps, DrawsOf draws) {
  Dropped dropped = draw(call, layer, weights, draws);
  at::Tensor given = call.x();
  if (dropped.x.size() == 1) given = given * std::exchange(dropped.x, {})[0];  // for all gates
  const at::Tensor mask = graph::masks_steps(call.node) ? call.mask() : at::Tensor();
  const bool sequences = layer.attributes.value("return_sequences", false),
             backwards = layer.attributes.value("go_backwards", false),
             states_wanted = call.more != nullptr && layer.attributes.value("return_state", false);
  if (recurrent_kernel_possible(call, layer, weights) && (sequences || !zero_masked_steps || !mask.defined())) {
    at::Tensor begin;
    if (!initial.empty()) begin = at::cat(at::TensorList(initial.data(), initial.size()), 1).to(at::kFloat);
    const KernelResult computed =
        recurrent_kernel(layer, given, mask, weights, dropped, begin,
                         states_wanted ? StatesWanted::kYes : StatesWanted::kNo, call.precision);
    RecurrentResult result{computed.output, {}};
    if (states_wanted) result.states = computed.states.split(weights[1].size(0), 1);
    if (zero_masked_steps && mask.defined())
      result.output = result.output * (backwards ? at::flip(mask, {1}) : mask).unsqueeze(-1);
    return result;
  }
  const Cell cell(layer, weights, std::move(dropped));
  const at::Tensor x = cell.project(given);
  const int64_t steps = x.size(1);
  Cell::State state = cell.initial(x.size(0), x);
  at::Tensor output = state.h;  // of the last step
  if (!initial.empty()) state = {initial[0], initial.size() > 1 ? initial[1] : at::Tensor()};
  std::vector<at::Tensor> outputs;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    Cell::State next = cell.step(x.select(1, t), state);
    if (mask.defined()) {
      const at::Tensor counts = mask.select(1, t).unsqueeze(-1);
      output = at::where(counts, next.h, zero_masked_steps ? at::zeros_like(next.h) : output);
      next.h = at::where(counts, next.h, state.h);
      if (next.c.defined()) next.c = at::where(counts, next.c, state.c);
    } else {
      output = next.h;
    }
    state = next;
    if (sequences) outputs.push_back(output);
  }
  RecurrentResult result{sequences ? at::stack(outputs, 1) : output, {}};
  if (states_wanted) result.states = state.c.defined() ? std::vector{state.h, state.c} : std::vector{state.h};
  return result;
}

}  // namespace linac::nn
