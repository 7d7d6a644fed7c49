#include "linac/physics/physics/similarity.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

constexpr int64_t kWindow = 7;
constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;  // for values in [0, 1]
constexpr Eigen::Index kRowsAtOnce = 256;

// Sums over [0, row) x [0, column) of a picture: the sum over any window is four of its values.
class AreaSums {
 public:
  AreaSums(int64_t rows, int64_t columns) : columns_(columns + 1), sums_(static_cast<size_t>((rows + 1) * columns_)) {}

  template <class Value>
  void fill(int64_t rows, const Value& value) {
    for (int64_t i = 0; i < rows; ++i) {
      double row = 0;
      for (int64_t j = 0; j + 1 < columns_; ++j) {
        row += value(i * (columns_ - 1) + j);
        at(i + 1, j + 1) = at(i, j + 1) + row;
      }
    }
  }
  double window(int64_t row, int64_t column, int64_t height, int64_t width) {
    return at(row + height, column + width) - at(row, column + width) - at(row + height, column) + at(row, column);
  }

 private:
  double& at(int64_t row, int64_t column) { return sums_[static_cast<size_t>(row * columns_ + column)]; }

  int64_t columns_;
  std::vector<double> sums_;
};

void append_roots(std::vector<float>& out, const std::vector<double>& map) {
  const double total = std::accumulate(map.begin(), map.end(), 0.0);
  for (const double value : map)
    out.push_back(total > 0 ? static_cast<float>(std::sqrt(std::max(0.0, value) / total)) : 0);
}

}  // namespace

double structural_similarity(std::span<const float> a, std::span<const float> b, int64_t rows, int64_t columns) {
  LINAC_CHECK(static_cast<int64_t>(a.size()) == rows * columns && a.size() == b.size() && rows > 0 && columns > 0);
  const int64_t height = std::min(rows, kWindow), width = std::min(columns, kWindow);
  AreaSums sum_a(rows, columns), sum_b(rows, columns), sum_aa(rows, columns), sum_bb(rows, columns),
      sum_ab(rows, columns);
  const auto product = [](std::span<const float> x, std::span<const float> y) {
    return [x, y](int64_t i) {
      return static_cast<double>(x[static_cast<size_t>(i)]) * static_cast<double>(y[static_cast<size_t>(i)]);
    };
  };
  sum_a.fill(rows, [&](int64_t i) { return static_cast<double>(a[static_cast<size_t>(i)]); });
  sum_b.fill(rows, [&](int64_t i) { return static_cast<double>(b[static_cast<size_t>(i)]); });
  sum_aa.fill(rows, product(a, a));
  sum_bb.fill(rows, product(b, b));
  sum_ab.fill(rows, product(a, b));
  const auto n = static_cast<double>(height * width);
  const double unbiased = n > 1 ? n / (n - 1) : 1;
  double sum = 0;
  for (int64_t i = 0; i + height <= rows; ++i) {
    for (int64_t j = 0; j + width <= columns; ++j) {
      const double mean_a = sum_a.window(i, j, height, width) / n, mean_b = sum_b.window(i, j, height, width) / n;
      const double var_a = unbiased * (sum_aa.window(i, j, height, width) / n - mean_a * mean_a);
      const double var_b = unbiased * (sum_bb.window(i, j, height, width) / n - mean_b * mean_b);
      const double both = unbiased * (sum_ab.window(i, j, height, width) / n - mean_a * mean_b);
      sum += (2 * mean_a * mean_b + kC1) * (2 * both + kC2) /
             ((mean_a * mean_a + mean_b * mean_b + kC1) * (var_a + var_b + kC2));
    }
  }
  return sum / static_cast<double>((rows - height + 1) * (columns - width + 1));
}

std::vector<float> side_picture(const Projections& maps) {
  const double largest = *std::max_element(maps.yz.begin(), maps.yz.end());
  std::vector<float> picture(maps.yz.size(), 0.0F);
  if (!(largest > 0)) return picture;
  std::transform(maps.yz.begin(), maps.yz.end(), picture.begin(), [largest](double energy) {
    return static_cast<float>(std::sqrt(std::sqrt(std::max(0.0, energy) / largest)));
  });
  return picture;
}

std::vector<float> shape_vector(const Projections& maps) {
  std::vector<float> values;
  values.reserve(maps.xz.size() + maps.yz.size());
  append_roots(values, maps.xz);
  append_roots(values, maps.yz);
  return values;
}

std::vector<float> nearest_distances(std::span<const float> queries, std::span<const float> points, int64_t length,
                                     Same same) {
  using Rows = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  LINAC_CHECK(length > 0);
  const Rows q(queries.data(), static_cast<Eigen::Index>(queries.size()) / length, length);
  const Rows p(points.data(), static_cast<Eigen::Index>(points.size()) / length, length);
  std::vector<float> result(static_cast<size_t>(q.rows()), std::numeric_limits<float>::infinity());
  const Eigen::VectorXf q_square = q.rowwise().squaredNorm(), p_square = p.rowwise().squaredNorm();
  for (Eigen::Index qi = 0; qi < q.rows(); qi += kRowsAtOnce) {
    const Eigen::Index q_rows = std::min(kRowsAtOnce, q.rows() - qi);
    for (Eigen::Index pi = 0; pi < p.rows(); pi += kRowsAtOnce) {
      const Eigen::Index p_rows = std::min(kRowsAtOnce, p.rows() - pi);
      const Eigen::MatrixXf product = q.middleRows(qi, q_rows) * p.middleRows(pi, p_rows).transpose();
      for (Eigen::Index i = 0; i < q_rows; ++i) {
        float& nearest = result[static_cast<size_t>(qi + i)];
        for (Eigen::Index j = 0; j < p_rows; ++j) {
          if (same == Same::kYes && qi + i == pi + j) continue;
          nearest = std::min(nearest, q_square[qi + i] + p_square[pi + j] - 2 * product(i, j));
        }
      }
    }
  }
  for (float& square : result) square = std::sqrt(std::max(0.0F, square));
  return result;
}

}  // namespace linac::physics
