#include "linac/control/catalog/catalog_bench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class CatalogBenchTest : public CatalogTest {};
LINAC_BOTH_DATABASES(CatalogBenchTest);

TEST_P(CatalogBenchTest, MeasuresAll) {
  CatalogBenchOptions options;
  options.url = url_;
  options.writers = 4;
  options.seconds = 0.1;
  options.runs = 250;
  options.curve_points = 5000;
  options.repeats = 3;
  size_t told = 0;
  const auto figures = measure_catalog(options, [&](const CatalogBenchFigure& figure) {
    ++told;
    EXPECT_GT(figure.value, 0) << figure.name;
  });
  EXPECT_EQ(told, 6u);
  EXPECT_EQ(figures.size(), told);
}

/// The figures themselves, by hand: catalog_test --gtest_filter='*Figures*' --gtest_also_run_disabled_tests
TEST_P(CatalogBenchTest, DISABLED_Figures) {
  CatalogBenchOptions options;
  options.url = url_;
  measure_catalog(options, [](const CatalogBenchFigure& f) {
    fmt::print("{:<44} {:>10.1f} {:<4}{}\n", f.name, f.value, f.unit,
               f.p99 > 0 ? fmt::format("  p99 {:.1f}", f.p99) : "");
    std::fflush(stdout);
  });
}

}  // namespace
}  // namespace linac::catalog
