#pragma once
// The cells of recurrent_kernels.h, compiled once an instruction set (see plane_kernels-inl.h), whose files also define
// minimum, maximum, times_power_of_two and reciprocal_guess.

#include "linac/kernels/recurrent_tiles-inl.h"

namespace linac::kernels {
namespace {

// A chain of operations this long must be computed for several vectors in turn: the processor looks too few
// instructions ahead to find the next chain by itself.
constexpr int kChains = kManyRegisters ? 8 : 4;

template <int K, class Operation>
inline void for_each(Operation operation) {
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) operation(k);
}

/// body.operator()<K>(i) for the vectors i, i + kLanes ... of `floats`, K at a time.
template <class Body>
inline void by_chains(int64_t floats, Body body) {
  int64_t i = 0;
  for (; i + kChains * kLanes <= floats; i += kChains * kLanes) body.template operator()<kChains>(i);
  for (; i < floats; i += kLanes) body.template operator()<1>(i);
}

/// a := 1 / (1 + 2^(a * scale)), |a| cut off at `limit`. 2^f on [-1/2, 1/2] is a polynomial with the smallest largest
/// relative error (1.1e-7, found by Remez's algorithm, 1 at 0). The reciprocal starts from one of 5 % error, found by
/// subtracting the bits, and goes on by a step of third order and one of Newton's, which sees the power before it is
/// rounded into the sum: divisions would take longer, and estimates by instructions differ between processors.
template <int K>
inline void falling_logistic(Vec (&a)[K], float scale, float limit) {
  const Vec factor = broadcast(scale), round = broadcast(12582912.0F);  // 1.5 * 2^23: integers in the last bits
  const Vec high = broadcast(limit), low = broadcast(-limit), one = broadcast(1.0F);
  Vec shifted[K], power[K];
  for_each<K>([&](int k) { a[k] = maximum(low, a[k]); });
  for_each<K>([&](int k) { a[k] = minimum(high, a[k]); });
  for_each<K>([&](int k) { shifted[k] = multiply_add(a[k], factor, round); });
  for_each<K>([&](int k) { power[k] = subtract(shifted[k], round); });
  for_each<K>([&](int k) { a[k] = multiply_subtract(a[k], factor, power[k]); });
  for_each<K>([&](int k) { power[k] = multiply_add(a[k], broadcast(0.00132647273F), broadcast(0.00967151299F)); });
  for (const float coefficient : {0.0555073358F, 0.240222424F, 0.693147004F, 1.0F})
    for_each<K>([&](int k) { power[k] = multiply_add(a[k], power[k], broadcast(coefficient)); });
  for_each<K>([&](int k) { power[k] = times_power_of_two(power[k], shifted[k]); });
  for_each<K>([&](int k) { shifted[k] = add(one, power[k]); });
  for_each<K>([&](int k) { a[k] = reciprocal_guess(shifted[k]); });
  for_each<K>([&](int k) { shifted[k] = negative_multiply_add(shifted[k], a[k], one); });
  for_each<K>([&](int k) { shifted[k] = multiply_add(shifted[k], shifted[k], shifted[k]); });
  for_each<K>([&](int k) { a[k] = multiply_add(a[k], shifted[k], a[k]); });
  for_each<K>([&](int k) { shifted[k] = subtract(one, a[k]); });
  for_each<K>([&](int k) { shifted[k] = negative_multiply_add(power[k], a[k], shifted[k]); });
  for_each<K>([&](int k) { a[k] = multiply_add(a[k], shifted[k], a[k]); });
}
constexpr float kLog2E = 1.44269504F;
template <int K>
inline void sigmoid(Vec (&a)[K]) {
  falling_logistic(a, -kLog2E, 80.0F);
}
template <int K>
inline void tanh(Vec (&a)[K]) {
  falling_logistic(a, 2 * kLog2E, 40.0F);
  for_each<K>([&](int k) { a[k] = negative_multiply_add(broadcast(2.0F), a[k], broadcast(1.0F)); });
}

void sigmoid_floats(const float* x, int64_t count, float* y) {
  by_chains(count, [&]<int K>(int64_t i) {
    Vec a[K];
    for_each<K>([&](int k) { a[k] = load(x + i + k * kLanes); });
    sigmoid(a);
    for_each<K>([&](int k) { store(y + i + k * kLanes, a[k]); });
  });
}
void tanh_floats(const float* x, int64_t count, float* y) {
  by_chains(count, [&]<int K>(int64_t i) {
    Vec a[K];
    for_each<K>([&](int k) { a[k] = load(x + i + k * kLanes); });
    tanh(a);
    for_each<K>([&](int k) { store(y + i + k * kLanes, a[k]); });
  });
}

/// a (1 - a) and 1 - a^2: the slopes of the sigmoid and of tanh where their value is a.
inline Vec sigmoid_slope(Vec a) {
  return negative_multiply_add(a, a, a);
}
inline Vec tanh_slope(Vec a) {
  return negative_multiply_add(a, a, broadcast(1.0F));
}
/// z s + (1 - z) h
inline Vec mixed(Vec z, Vec s, Vec h) {
  return multiply_add(z, subtract(s, h), h);
}

void gru_after(const CellRows& given) {
  const CellRows rows = given;  // a copy that the stores below cannot change
  const int64_t gate = rows.units * 16;
  sigmoid_floats(rows.gates + gate, 2 * gate, rows.gates + gate);
  by_chains(gate, [&]<int K>(int64_t first) {
    float* const gates = rows.gates + first;
    Vec h[K];
    for_each<K>([&](int k) {
      const int64_t i = k * kLanes;
      h[k] = multiply_add(load(gates + 2 * gate + i), load(gates + 3 * gate + i), load(gates + i));
    });
    tanh(h);
    for_each<K>([&](int k) {
      const int64_t i = k * kLanes;
      store(gates + i, h[k]);
      store(rows.next_state + first + i, mixed(load(gates + gate + i), load(rows.state + first + i), h[k]));
    });
  });
}

void gru_before_gates(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  sigmoid_floats(gates + gate, 2 * gate, gates + gate);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(gates + 3 * gate + i, multiply(load(gates + 2 * gate + i), load(rows.state + i)));
}

void gru_before_state(const CellRows& rows) {
  const int64_t gate = rows.units * 16;
  tanh_floats(rows.gates, gate, rows.gates);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(rows.next_state + i, mixed(load(rows.gates + gate + i), load(rows.state + i), load(rows.gates + i)));
}

void lstm(const CellRows& given) {
  const CellRows rows = given;
  const int64_t gate = rows.units * 16;
  float* const gates = rows.gates;
  sigmoid_floats(gates, 2 * gate, gates);
  tanh_floats(gates + 2 * gate, gate, gates + 2 * gate);
  sigmoid_floats(gates + 3 * gate, gate, gates + 3 * gate);
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec kept = multiply(load(gates + i), load(gates + 2 * gate + i));
    store(rows.next_state + gate + i, multiply_add(load(gates + gate + i), load(rows.state + gate + i), kept));
  }
  tanh_floats(rows.next_state + gate, gate, gates + 4 * gate);
  for (int64_t i = 0; i < gate; i += kLanes)
    store(rows.next_state + i, multiply(load(gates + 3 * gate + i), load(gates + 4 * gate + i)));
}

/// What both kinds of GRU share: the deltas of hh and z, and the carry.
struct GruGradient {
  Vec hh, z, carry;
};
inline GruGradient gru_gradient(Vec hh, Vec z, Vec state, Vec carry) {
  const Vec through_z = multiply(carry, z);
  return {multiply(subtract(carry, through_z), tanh_slope(hh)),
          multiply(multiply(carry, subtract(state, hh)), sigmoid_slope(z)), through_z};
}

void gru_after_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const Vec r = load(gates + 2 * gate);
    const GruGradient delta = gru_gradient(load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
    store(rows.deltas + 2 * gate + i, multiply(multiply(delta.hh, load(gates + 3 * gate)), sigmoid_slope(r)));
    store(rows.deltas + 3 * gate + i, multiply(delta.hh, r));
  }
}

void gru_before_state_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    const GruGradient delta = gru_gradient(load(gates), load(gates + gate), load(rows.state + i), load(rows.carry + i));
    store(rows.carry + i, delta.carry);
    store(rows.deltas + i, delta.hh);
    store(rows.deltas + gate + i, delta.z);
  }
}

void gru_before_reset_gradient(const CellGradientRows& rows, const float* reset_gradient) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const Vec r = load(rows.gates + 2 * gate + i), gradient = load(reset_gradient + i);
    store(rows.deltas + 2 * gate + i, multiply(multiply(gradient, load(rows.state + i)), sigmoid_slope(r)));
    store(rows.carry + i, multiply_add(gradient, r, load(rows.carry + i)));
  }
}

void lstm_gradient(const CellGradientRows& rows) {
  const int64_t gate = rows.units * 16;
  for (int64_t i = 0; i < gate; i += kLanes) {
    const float* const gates = rows.gates + i;
    float* const deltas = rows.deltas + i;
    const Vec in = load(gates), forget = load(gates + gate), content = load(gates + 2 * gate);
    const Vec out = load(gates + 3 * gate), shown = load(gates + 4 * gate), carry = load(rows.carry + i);
    const Vec c = multiply_add(multiply(carry, out), tanh_slope(shown), load(rows.carry + gate + i));
    store(deltas, multiply(multiply(c, content), sigmoid_slope(in)));
    store(deltas + gate, multiply(multiply(c, load(rows.state + gate + i)), sigmoid_slope(forget)));
    store(deltas + 2 * gate, multiply(multiply(c, in), tanh_slope(content)));
    store(deltas + 3 * gate, multiply(multiply(carry, shown), sigmoid_slope(out)));
    store(rows.carry + gate + i, multiply(c, forget));
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
                                      narrow,
                                      widen,
                                      sigmoid_floats,
                                      tanh_floats};

}  // namespace
}  // namespace linac::kernels
