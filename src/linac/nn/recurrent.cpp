#include "linac/nn/recurrent.h"

#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/nn/layers/families.h"
#include "linac/nn/recurrent_kernel.h"

namespace linac::nn {
namespace {

/// What a layer's cell does in one step.
class Cell {
 public:
  Cell(const graph::Node& node, const std::vector<at::Tensor>& weights)
      : kind_(node.op),
        activation_(node.attributes.value("activation", "tanh")),
        gate_(node.attributes.value("recurrent_activation", "sigmoid")),
        reset_after_(node.attributes.value("reset_after", true)),
        kernel_(weights[0]),
        recurrent_(weights[1]),
        bias_(weights.size() > 2 ? weights[2] : at::Tensor()) {}

  /// The products of all steps with the kernel, with the bias, (N, T, gates * U).
  at::Tensor project(const at::Tensor& x) const {
    const at::Tensor product = at::matmul(x, kernel_);
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
    if (kind_ == "SimpleRNN") return {activate(activation_, x + at::matmul(state.h, recurrent_)), {}};
    return kind_ == "GRU" ? gru(x, state) : lstm(x, state);
  }

 private:
  at::Tensor gate(const at::Tensor& x) const { return activate(gate_, x); }

  State gru(const at::Tensor& x, const State& state) const {
    const int64_t units = recurrent_.size(0);
    const auto part = [units](const at::Tensor& all, int64_t i) { return all.narrow(-1, i * units, units); };
    at::Tensor z, candidate;
    if (reset_after_) {
      at::Tensor inner = at::matmul(state.h, recurrent_);
      if (bias_.defined()) inner = inner + bias_[1];
      z = gate(part(x, 0) + part(inner, 0));
      candidate = part(x, 2) + gate(part(x, 1) + part(inner, 1)) * part(inner, 2);
    } else {
      const at::Tensor gates = at::matmul(state.h, recurrent_.narrow(1, 0, 2 * units));
      z = gate(part(x, 0) + part(gates, 0));
      const at::Tensor reset = gate(part(x, 1) + part(gates, 1)) * state.h;
      candidate = part(x, 2) + at::matmul(reset, part(recurrent_, 2));
    }
    return {z * state.h + (1 - z) * activate(activation_, candidate), {}};
  }

  State lstm(const at::Tensor& x, const State& state) const {
    const auto gates = (x + at::matmul(state.h, recurrent_)).chunk(4, -1);  // input, forget, candidate, output
    const at::Tensor c = gate(gates[1]) * state.c + gate(gates[0]) * activate(activation_, gates[2]);
    return {gate(gates[3]) * activate(activation_, c), c};
  }

  std::string kind_, activation_, gate_;
  bool reset_after_;
  at::Tensor kernel_, recurrent_, bias_;
};

}  // namespace

bool zeroes_masked_steps(const graph::Node& layer) {
  return layer.attributes.value("zero_output_for_mask", false);
}

at::Tensor run_recurrent(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights,
                         bool zero_masked_steps) {
  for (const char* rate : {"dropout", "recurrent_dropout"}) {
    if (call.training() && layer.attributes.value(rate, 0.0) != 0)
      throw user_error(fmt::format("[nn] layer '{}' ({}): training with {} is not supported; use a Dropout layer",
                                   layer.name, layer.op, rate));
  }
  const bool sequences = layer.attributes.value("return_sequences", false);
  if (recurrent_kernel_possible(call, layer, weights) && (sequences || !zero_masked_steps || !call.mask().defined())) {
    const at::Tensor y = recurrent_kernel(layer, call.x(), call.mask(), weights, call.precision);
    if (!zero_masked_steps || !call.mask().defined()) return y;
    const bool reversed = layer.attributes.value("go_backwards", false);
    return y * (reversed ? at::flip(call.mask(), {1}) : call.mask()).unsqueeze(-1);
  }
  const Cell cell(layer, weights);
  const at::Tensor x = cell.project(call.x());
  const at::Tensor& mask = call.mask();
  const int64_t steps = x.size(1);
  const bool backwards = layer.attributes.value("go_backwards", false);
  Cell::State state = cell.initial(x.size(0), x);
  std::vector<at::Tensor> outputs;
  at::Tensor output;  // of the last step
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    Cell::State next = cell.step(x.select(1, t), state);
    output = next.h;
    if (mask.defined()) {
      const at::Tensor counts = mask.select(1, t).unsqueeze(-1);
      output = at::where(counts, next.h, zero_masked_steps ? at::zeros_like(next.h) : state.h);
      next.h = at::where(counts, next.h, state.h);
      if (next.c.defined()) next.c = at::where(counts, next.c, state.c);
    }
    state = next;
    if (sequences) outputs.push_back(output);
  }
  return sequences ? at::stack(outputs, 1) : output;
}

}  // namespace linac::nn
