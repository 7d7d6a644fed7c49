#pragma once
// The cells of recurrent_kernels.h, compiled once an instruction set (see plane_kernels-inl.h).

#include "linac/model/kernels/recurrent_functions-inl.h"
#include "linac/model/kernels/recurrent_tiles-inl.h"

namespace linac::kernels {
namespace {

/// z s + (1 - z) h
inline Vec mixed(Vec z, Vec s, Vec h) {
  return multiply_add(z, subtract(s, h), h);
}

template <class Functions>
void gru_after(const CellRows& given, const Functions& functions) {
  const CellRows rows = given;  // a copy that the stores below cannot change
  const int64_t gate = rows.units * 16;
  gate_floats(functions, rows.gates + gate, 2 * gate);
  by_chains(gate, [&]<int K>(int64_t first) {
    float* const gates = rows.gates + first;
    Vec h[K];
    for_each<K>([&](int k) {
      const int64_t i = k * kLanes;
      h[k] = multiply_add(load(gates + 2 * gate + i), load(gates + 3 * gate + i), load(gates + i));
    });
    functions.activate(h);
    for_each<K>([&](int k) {
      const int64_t i = k * kLanes;
      store(gates + i, h[k]);
      store(rows.next_state + first + i, mixed(load(gates + gate + i), load(rows.state + first + i), h[k]));
    });
  });
}

template <class Functions>
void gru_before_gates(const CellRows& rows, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  gate_floats(functions, gates + gate, 2 * gate);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(gates + 3 * gate + i, multiply(load(gates + 2 * gate + i), load(rows.state + i)));
}

template <class Functions>
void gru_before_state(const CellRows& rows, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  activate_floats(functions, rows.gates, gate, rows.gates);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(rows.next_state + i, mixed(load(rows.gates + gate + i), load(rows.state + i), load(rows.gates + i)));
}

template <class Functions>
void lstm(const CellRows& given, const Functions& functions) {
  const CellRows rows = given;
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  gate_floats(functions, gates, 2 * gate);
  activate_floats(functions, gates + 2 * gate, gate, gates + 2 * gate);
  gate_floats(functions, gates + 3 * gate, gate);
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec kept = multiply(load(gates + i), load(gates + 2 * gate + i));
    store(rows.next_state + gate + i, multiply_add(load(gates + gate + i), load(rows.state + gate + i), kept));
  }
  activate_floats(functions, rows.next_state + gate, gate, gates + 4 * gate);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(rows.next_state + i, multiply(load(gates + 3 * gate + i), load(gates + 4 * gate + i)));
}

/// What both kinds of GRU share: the deltas of hh and z, and the carry.
struct GruGradient {
  Vec hh, z, carry;
};
template <class Functions>
inline GruGradient gru_gradient(const Functions& functions, Vec hh, Vec z, Vec state, Vec carry) {
  const Vec through_z = multiply(carry, z);
  return {multiply(subtract(carry, through_z), functions.activate_slope(hh)),
          multiply(multiply(carry, subtract(state, hh)), functions.gate_slope(z)), through_z};
}

template <class Functions>
void gru_after_gradient(const CellGradientRows& rows, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const Vec r = load(gates + 2 * gate);
    const GruGradient delta =
        gru_gradient(functions, load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
    store(rows.deltas + 2 * gate + i, multiply(multiply(delta.hh, load(gates + 3 * gate)), functions.gate_slope(r)));
    store(rows.deltas + 3 * gate + i, multiply(delta.hh, r));
  }
}

template <class Functions>
void gru_before_state_gradient(const CellGradientRows& rows, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const GruGradient delta =
        gru_gradient(functions, load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
  }
}

template <class Functions>
void gru_before_reset_gradient(const CellGradientRows& rows, const float* reset_gradient, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec r = load(rows.gates + 2 * gate + i), gradient = load(reset_gradient + i);
    store(rows.deltas + 2 * gate + i, multiply(multiply(gradient, load(rows.state + i)), functions.gate_slope(r)));
    store(rows.carry + i, multiply_add(gradient, r, load(rows.carry + i)));
  }
}

template <class Functions>
void lstm_gradient(const CellGradientRows& rows, const Functions& functions) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    float* const deltas = rows.deltas + i;
    const Vec in = load(gates), forget = load(gates + gate), content = load(gates + 2 * gate);
    const Vec out = load(gates + 3 * gate), shown = load(gates + 4 * gate), carry = load(rows.carry + i);
    const Vec c = multiply_add(multiply(carry, out), functions.activate_slope(shown), load(rows.carry + gate + i));
    store(deltas, multiply(multiply(c, content), functions.gate_slope(in)));
    store(deltas + gate, multiply(multiply(c, load(rows.state + gate + i)), functions.gate_slope(forget)));
    store(deltas + 2 * gate, multiply(multiply(c, in), functions.activate_slope(content)));
    store(deltas + 3 * gate, multiply(multiply(carry, shown), functions.gate_slope(out)));
    store(rows.carry + gate + i, multiply(c, forget));
  }
}

void gru_after(const CellRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { gru_after(rows, functions); });
}
void gru_before_gates(const CellRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { gru_before_gates(rows, functions); });
}
void gru_before_state(const CellRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { gru_before_state(rows, functions); });
}
void lstm(const CellRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { lstm(rows, functions); });
}
void gru_after_gradient(const CellGradientRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { gru_after_gradient(rows, functions); });
}
void gru_before_state_gradient(const CellGradientRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { gru_before_state_gradient(rows, functions); });
}
void gru_before_reset_gradient(const CellGradientRows& rows, const float* reset_gradient) {
  with_functions(rows.activations,
                 [&](const auto& functions) { gru_before_reset_gradient(rows, reset_gradient, functions); });
}
void lstm_gradient(const CellGradientRows& rows) {
  with_functions(rows.activations, [&](const auto& functions) { lstm_gradient(rows, functions); });
}

void multiply_rows(const float* a, const float* b, int64_t count, float* out, bool added) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const Vec x = load(a + i), factor = load(b + i);
    store(out + i, added ? multiply_add(x, factor, load(out + i)) : multiply(x, factor));
  }
}

void gather(const float* const* rows, int64_t count, float* blocked) {
  for (int64_t i = 0; i < count && count >= 16; i += 16) {
    const int64_t at = smaller(i, count - 16);
    block_rows_16(rows, at, blocked + at * 16);
  }
  for (int64_t i = 0; i < count && count < 16; ++i) {
    for (int64_t r = 0; r < 16; ++r) blocked[i * 16 + r] = rows[r][i];
  }
}

void narrow(const float* floats, int64_t count, uint16_t* halves) {
  for (int64_t i = 0; i < count; i += kLanes) stream_upper_halves(halves + i, rounded_to_upper_half(load(floats + i)));
  finish_streams();
}

void widen(const uint16_t* halves, int64_t count, float* floats) {
  for (int64_t i = 0; i < count; i += kLanes) store(floats + i, load_upper_halves(halves + i));
}

constexpr RecurrentKernels kRecurrent{gather,
                                      pack_matrix,
                                      project,
                                      add_outer,
                                      gru_after,
                                      gru_before_gates,
                                      gru_before_state,
                                      lstm,
                                      gru_after_gradient,
                                      gru_before_state_gradient,
                                      gru_before_reset_gradient,
                                      lstm_gradient,
                                      multiply_rows,
                                      narrow,
                                      widen,
                                      sigmoid_floats,
                                      tanh_floats};

}  // namespace
}  // namespace linac::kernels
