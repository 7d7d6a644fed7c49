#pragma once
// Discrete Fourier transforms of complex numbers that each stand for several events, included by
// spectral_kernels-inl.h. A transform of inner * outer points is two passes of small ones (Cooley and Tukey 1965), each
// of which stays in registers; between them the points lie in the L1 cache.

namespace linac::kernels {
namespace {

struct Complex {
  Vec re, im;
};

inline Complex operator+(const Complex& a, const Complex& b) {
  return {add(a.re, b.re), add(a.im, b.im)};
}
inline Complex operator-(const Complex& a, const Complex& b) {
  return {subtract(a.re, b.re), subtract(a.im, b.im)};
}
/// a + i b and a - i b.
inline Complex plus_i(const Complex& a, const Complex& b) {
  return {subtract(a.re, b.im), add(a.im, b.re)};
}
inline Complex minus_i(const Complex& a, const Complex& b) {
  return {add(a.re, b.im), subtract(a.im, b.re)};
}
inline Complex times(const Complex& a, Vec re, Vec im) {
  return {multiply_subtract(a.re, re, multiply(a.im, im)), multiply_add(a.re, im, multiply(a.im, re))};
}

// Sine and cosine at compile time, by their series; the argument is a fraction of a turn in [0, 1).
constexpr double turn_series(double turn, int first) {
  const double x = 2 * 3.14159265358979323846 * (turn > 0.5 ? turn - 1 : turn);
  double term = first == 0 ? 1 : x, sum = term;
  for (int n = first; n < 40; n += 2) {
    term *= -x * x / ((n + 1) * (n + 2));
    sum += term;
  }
  return sum;
}
constexpr float cosine(int numerator, int denominator) {
  return static_cast<float>(turn_series(static_cast<double>(numerator % denominator) / denominator, 0));
}
constexpr float sine(int numerator, int denominator) {
  return static_cast<float>(turn_series(static_cast<double>(numerator % denominator) / denominator, 1));
}

template <int R>
struct Roots {
  float cos[R] = {}, sin[R] = {};
  constexpr Roots() {
    for (int i = 0; i < R; ++i) cos[i] = cosine(i, R), sin[i] = sine(i, R);
  }
};
template <int R>
constexpr Roots<R> kRoots;

/// In place, natural order: x[k] = sum over n of x[n] exp(-2 pi i n k / R).
template <int R>
struct Dft {
  static_assert(R == 5 || R == 7);
  static inline __attribute__((always_inline)) void run(Complex* x) {
    constexpr int kHalf = (R - 1) / 2;
    Complex sums[kHalf], differences[kHalf], total = x[0];
#pragma GCC unroll 4
    for (int j = 0; j < kHalf; ++j) {
      sums[j] = x[j + 1] + x[R - 1 - j];
      differences[j] = x[j + 1] - x[R - 1 - j];
      total = total + sums[j];
    }
#pragma GCC unroll 4
    for (int k = 1; k <= kHalf; ++k) {
      Complex even = x[0], odd{};
#pragma GCC unroll 4
      for (int j = 0; j < kHalf; ++j) {
        const Vec cos = broadcast(kRoots<R>.cos[(j + 1) * k % R]), sin = broadcast(kRoots<R>.sin[(j + 1) * k % R]);
        even = {multiply_add(sums[j].re, cos, even.re), multiply_add(sums[j].im, cos, even.im)};
        if (j == 0)
          odd = {multiply(differences[j].re, sin), multiply(differences[j].im, sin)};
        else
          odd = {multiply_add(differences[j].re, sin, odd.re), multiply_add(differences[j].im, sin, odd.im)};
      }
      // x[1..half] are no longer needed as inputs: sums and differences hold them.
      x[k] = minus_i(even, odd);
      x[R - k] = plus_i(even, odd);
    }
    x[0] = total;
  }
};

template <>
struct Dft<1> {
  static inline __attribute__((always_inline)) void run(Complex*) {}
};

template <>
struct Dft<2> {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    const Complex a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  }
};

template <>
struct Dft<3> {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    const Complex sum = x[1] + x[2], difference = x[1] - x[2];
    const Vec half = broadcast(0.5F), sin = broadcast(kRoots<3>.sin[1]);
    const Complex even{negative_multiply_add(sum.re, half, x[0].re), negative_multiply_add(sum.im, half, x[0].im)};
    x[0] = x[0] + sum;
    x[1] = {multiply_add(difference.im, sin, even.re), negative_multiply_add(difference.re, sin, even.im)};
    x[2] = {negative_multiply_add(difference.im, sin, even.re), multiply_add(difference.re, sin, even.im)};
  }
};

template <>
struct Dft<4> {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    x[0] = a + c;
    x[1] = minus_i(b, d);
    x[2] = a - c;
    x[3] = plus_i(b, d);
  }
};

/// A * B points as two rounds of smaller transforms.
template <int A, int B>
struct CompositeDft {
  static inline __attribute__((always_inline)) void run(Complex* x) {
    Complex y[A][B];
#pragma GCC unroll 4
    for (int b = 0; b < B; ++b) {
      Complex column[A];
#pragma GCC unroll 4
      for (int a = 0; a < A; ++a) column[a] = x[B * a + b];
      Dft<A>::run(column);
#pragma GCC unroll 4
      for (int a = 0; a < A; ++a) y[a][b] = turned(column[a], a * b);
    }
#pragma GCC unroll 4
    for (int a = 0; a < A; ++a) {
      Dft<B>::run(y[a]);
#pragma GCC unroll 4
      for (int b = 0; b < B; ++b) x[a + A * b] = y[a][b];
    }
  }

  /// By exp(-2 pi i n / (A B)).
  static inline __attribute__((always_inline)) Complex turned(const Complex& value, int n) {
    if (n == 0) return value;
    if (4 * n == A * B) return minus_i(Complex{broadcast(0.0F), broadcast(0.0F)}, value);
    return times(value, broadcast(kRoots<A * B>.cos[n]), broadcast(-kRoots<A * B>.sin[n]));
  }
};
template <>
struct Dft<6> : CompositeDft<2, 3> {};
template <>
struct Dft<8> : CompositeDft<2, 4> {};
template <>
struct Dft<9> : CompositeDft<3, 3> {};

struct Source {
  const float *re, *im;
  int64_t step, count;
  int64_t next = 0;  // floats to the line that is read after this one, which is fetched meanwhile
};
struct Target {
  float *re, *im;
  int64_t step, count, shift;
};

/// Whether all elements of a line are there (and, of a target, in their places), so that none has to be asked.
enum class Extent { kWhole, kPart };

template <int R, Extent kExtent>
void first_pass(const FftPlan& plan, const Source& in, float* scratch) {
  const float* twiddles = plan.twiddles;
  const int64_t outer = plan.outer, hop = outer * in.step, imaginary = in.im - in.re, next = in.next, count = in.count;
  const float* line = in.re;
  for (int64_t n = 0; n < outer; ++n, twiddles += 2 * R, line += in.step, scratch += kComplexFloats) {
    Complex x[R];
    const float* from = line;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r, from += hop) {
      if (kExtent == Extent::kWhole || n + outer * r < count) {
        x[r] = {load(from), load(from + imaginary)};
        __builtin_prefetch(from + next);
        __builtin_prefetch(from + next + imaginary);
      } else {
        x[r] = {broadcast(0.0F), broadcast(0.0F)};
      }
    }
    Dft<R>::run(x);
    store(scratch, x[0].re), store(scratch + 16, x[0].im);
    float* to = scratch;
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) {
      to += outer * kComplexFloats;
      const Complex turned = times(x[r], broadcast(twiddles[2 * r]), broadcast(twiddles[2 * r + 1]));
      store(to, turned.re), store(to + 16, turned.im);
    }
  }
}

/// Whether results are read again soon.
enum class Reuse { kSoon, kLate };

template <int R, Extent kExtent, Reuse kReuse>
void second_pass(const FftPlan& plan, const float* scratch, const Target& out) {
  const int64_t inner = plan.inner, size = plan.size, imaginary = out.im - out.re, count = out.count;
  for (int64_t k = 0; k < inner; ++k, scratch += R * kComplexFloats) {
    Complex x[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) x[r] = {load(scratch + r * kComplexFloats), load(scratch + r * kComplexFloats + 16)};
    Dft<R>::run(x);
    float* to = out.re + k * out.step;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r, to += inner * out.step) {
      if (kExtent == Extent::kWhole) {
        store(to, x[r].re), store(to + imaginary, x[r].im);
        continue;
      }
      int64_t at = k + inner * r + out.shift;
      if (at >= size) at -= size;
      if (at < count) {
        float* const shifted = out.re + at * out.step;
        if (kReuse == Reuse::kLate)
          stream(shifted, x[r].re), stream(shifted + imaginary, x[r].im);
        else
          store(shifted, x[r].re), store(shifted + imaginary, x[r].im);
      }
    }
  }
}

using FirstPass = void (*)(const FftPlan&, const Source&, float*);
using SecondPass = void (*)(const FftPlan&, const float*, const Target&);

/// The passes by radix.
template <Extent kExtent, Reuse kReuse>
struct Passes {
  FirstPass first[kFftFactorMax + 1] = {};
  SecondPass second[kFftFactorMax + 1] = {};
  constexpr Passes() { fill<kFftFactorMax>(); }

  template <int R>
  constexpr void fill() {
    first[R] = first_pass<R, kExtent>;
    second[R] = second_pass<R, kExtent, kReuse>;
    if constexpr (R > 1) fill<R - 1>();
  }
};
constexpr Passes<Extent::kWhole, Reuse::kSoon> kWholePasses;
constexpr Passes<Extent::kPart, Reuse::kSoon> kPartPasses;
constexpr Passes<Extent::kPart, Reuse::kLate> kStreamedPasses;

/// One line, all 16 events. `scratch`: size complex elements.
inline void transform(const FftPlan& plan, const Source& in, const Target& out, float* scratch,
                      Reuse reuse = Reuse::kSoon) {
  const auto first = in.count == plan.size ? kWholePasses.first[plan.inner] : kPartPasses.first[plan.inner];
  const bool whole = out.count == plan.size && out.shift == 0;
  const auto& second_passes = reuse == Reuse::kLate ? kStreamedPasses.second
                              : whole               ? kWholePasses.second
                                                    : kPartPasses.second;
  const auto second = second_passes[plan.outer];
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    first(plan, {in.re + lane, in.im + lane, in.step, in.count, in.next}, scratch + lane);
    second(plan, scratch + lane, {out.re + lane, out.im + lane, out.step, out.count, out.shift});
  }
}

}  // namespace
}  // namespace linac::kernels
