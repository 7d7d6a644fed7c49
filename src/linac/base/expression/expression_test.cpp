#include "linac/base/expression/expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/base/base/test_errors.h"
#include "linac/base/expression/program.h"

namespace linac::expression {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Column {
  Type type;
  std::vector<double> values;
  std::vector<uint32_t> rows = {};
  uint32_t row_size = 1;
};

// Three events.
const std::map<std::string, Column> kColumns = {{"pt", {{Axes::kNumber}, {10, 40, kNan}}},
                                                {"eta", {{Axes::kNumber}, {-3, 1, 0.5}}},
                                                {"is_good", {{Axes::kNumber, true}, {1, 0, 1}}},
                                                {"jets", {{Axes::kList}, {50, 20, 30}, {2, 0, 1}}},
                                                {"jets_eta", {{Axes::kList}, {1, -2, 0.5}, {2, 0, 1}}},
                                                {"others", {{Axes::kList}, {1, 2, 3}, {1, 1, 1}}},
                                                {"rows", {{Axes::kRows}, {1, 2, 3, 4, 5, 6}, {1, 2, 0}, 2}},
                                                {"jet-pt", {{Axes::kNumber}, {7, 8, 9}}},
                                                {"and", {{Axes::kNumber}, {1, 2, 3}}}};

Type type_of(const std::string& name) {
  const auto found = kColumns.find(name);
  if (found == kColumns.end()) throw data_error("no column " + name);
  return found->second.type;
}

std::vector<double> computed(const std::string& text) {
  Program program(parse(text, "x"), type_of);
  std::vector<Block> blocks;
  for (const std::string& name : program.columns()) {
    const Column& column = kColumns.at(name);
    blocks.push_back({column.values, column.rows, column.row_size});
  }
  const Block result = program.run(blocks, 3);
  return {result.values.begin(), result.values.end()};
}

std::string refusal(const std::string& text) {
  return message_of(ErrorCode::kUser, [&] { Program(parse(text, "data.filter"), type_of); });
}

void expect(const std::string& text, const std::vector<double>& wanted) {
  const std::vector<double> found = computed(text);
  ASSERT_EQ(found.size(), wanted.size()) << text;
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(found[i])) << text << " " << i << ": " << found[i];
    else
      EXPECT_DOUBLE_EQ(found[i], wanted[i]) << text << " " << i;
  }
}

TEST(Expression, ComputesAsPythonDoes) {
  expect("1 + 2 * 3 - 4 / 8", {6.5, 6.5, 6.5});
  expect("-2 ** 2", {-4, -4, -4});
  expect("2 ** 3 ** 2", {512, 512, 512});
  expect("2 ** -1", {0.5, 0.5, 0.5});
  expect("10 - 4 - 3", {3, 3, 3});
  expect("(1 + eta) * 2", {-4, 4, 3});
  expect("`jet-pt` - 1", {6, 7, 8});
  expect("sin(pi / 2) + 1.5e1", {16, 16, 16});
  expect("hypot(eta, 4)", {5, std::hypot(1, 4), std::hypot(0.5, 4)});
  expect("min(eta, 0, -1)", {-3, -1, -1});
  expect("where(eta > 0, eta, 10)", {10, 1, 0.5});
  expect("fmod(-7, 3) + sign(-2) + floor(-0.5) + ceil(0.5)", {-2, -2, -2});
}

TEST(Expression, BooleansCountAndNanIsNotTrue) {
  expect("pt > 30", {0, 1, 0});
  expect("pt != 10", {0, 1, 1});
  expect("!(pt > 30)", {1, 0, 1});
  expect("is_good && eta < 0 || pt == 40", {1, 1, 0});
  expect("isfinite(pt) && !isnan(eta)", {1, 1, 0});
  expect("pt + 1", {11, 41, kNan});
  expect("max(pt, 20)", {20, 40, kNan});
  expect("(eta > 0) + (eta > 0.7)", {0, 2, 1});
  expect("true != false", {1, 1, 1});
}

TEST(Expression, ListsMeetNumbersAndBecomeNumbers) {
  expect("jets * 2", {100, 40, 60});
  expect("jets + eta", {47, 17, 30.5});
  expect("eta + jets", {47, 17, 30.5});
  expect("sum(jets)", {70, 0, 30});
  expect("sum(jets * (abs(jets_eta) < 1.5))", {50, 0, 30});
  expect("mean(jets)", {35, kNan, 30});
  expect("min(jets)", {20, kNan, 30});
  expect("max(jets, 25)", {50, 25, 30});
  expect("len(jets) + any(jets > 40) + all(jets > 40)", {3, 1, 1});
  expect("jets[0]", {50, kNan, 30});
  expect("jets[-1]", {20, kNan, 30});
  expect("jets[1] > 10", {1, 0, 0});
  expect("len(rows[:, 0])", {1, 2, 0});
  expect("len(rows)", {1, 2, 0});
  expect("rows[:, 1]", {2, 4, 6});
  expect("sum(rows[:, -2])", {1, 8, 0});
  expect("rows[0][1] + rows[-1, 0]", {3, 9, kNan});
}

TEST(Expression, RefusesWithPlaceAndWayOut) {
  const std::map<std::string, std::vector<std::string>> refused = {
      {"", {"the end stands where a value should", "character 1"}},
      {"pt > ", {"character 6"}},
      {"abz(pt)", {"no function 'abz'", "did you mean 'abs'?", "character 1"}},
      {"pt > 3 && atan2(pt)", {"atan2() takes 2, not 1", "character 11"}},
      {"pt > 3 & eta < 1", {"'", "write &&", "character 8"}},
      {"pt and eta", {"'and' is one too many", "write &&", "character 4"}},
      {"not pt", {"write !"}},
      {"pt = 3", {"compare with =="}},
      {"pt ^ 2", {"x ** y"}},
      {"0 < pt < 3", {"write a < b && b < c"}},
      {"pt % 2", {"fmod"}},
      {"3pt", {"a letter follows a number"}},
      {"1e999", {"beyond float64"}},
      {"(pt", {"')' should"}},
      {"pt)", {"one too many"}},
      {"jets[1.5]", {"no position in a list"}},
      {"jets[pt]", {"no position in a list"}},
      {"jets[-0]", {"no position in a list"}},
      {"pt[0]", {"a number, which has no elements"}},
      {"jets[:, 0]", {"a list of numbers, which wants one position"}},
      {"rows[0]", {"wants two positions"}},
      {"rows + 1", {"rows[:, 3]"}},
      {"sum(pt)", {"takes a list, and this is a number"}},
      {"pt && is_good", {"takes booleans", "pt != 0"}},
      {"!eta", {"eta != 0"}},
      {"where(pt, 1, 2)", {"takes booleans"}},
      {"`", {"does not end"}},
      {"pt == 'muon'", {"texts are not compared"}},
      {"pt > \xff", {"means nothing here"}},
      {std::string(5000, ' '), {"longer than 4096 bytes"}},
      {std::string(100, '('), {"nested too deeply"}},
      {std::string(100, '-') + "1", {"nested too deeply"}}};
  for (const auto& [text, words] : refused) {
    const std::string message = refusal(text);
    EXPECT_TRUE(message.starts_with("[job] data.filter: ")) << text << ": " << message;
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << text << ": " << message;
  }
  std::string many = "1";
  for (int i = 0; i < 600; ++i) many += "+1";
  EXPECT_NE(refusal(many).find("more than 1000 parts"), std::string::npos);
}

TEST(Expression, FaultsNameTheEvent) {
  const auto fault = [](const std::string& text) {
    try {
      computed(text);
    } catch (const Program::Fault& fault) {
      return fmt::format("{}: {}", fault.event, fault.what);
    }
    return std::string("none");
  };
  EXPECT_EQ(fault("jets + others"), "0: '+' at character 6 meets lists of 2 values and of 1");
  EXPECT_EQ(fault("sum(rows[:, 2])"), "0: character 9 wants value 2 of a row of 2");
  EXPECT_EQ(fault("rows[1, 5]"), "1: character 5 wants value 5 of a row of 2");
}

TEST(Expression, NamesItsColumnsOnceInOrder) {
  const Expression expression = parse("b + a * b + `c d` + pi", "x");
  EXPECT_EQ(expression.columns(), (std::vector<std::string>{"b", "a", "c d"}));
  EXPECT_EQ(expression.place_of("a"), 4U);
  EXPECT_EQ(quoted("Jet.pt"), "Jet.pt");
  for (const std::string odd : {"c d", "pi", "true", "and", "3d", "a/b"}) EXPECT_EQ(quoted(odd), "`" + odd + "`");
}

}  // namespace
}  // namespace linac::expression
