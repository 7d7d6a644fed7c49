#pragma once
// What a study searches: parameters in an order, conditions and constraints. A point is a value for each parameter; for
// samplers each is a coordinate of the unit cube. Discrete parameters cut their edge of the cube into cells of equal
// width, one a value, so rounding is exact and every value is as likely as the next. A Space is checked when it is made
// and does not change afterwards; all functions are thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace linac::tune {

/// A parameter as a study's file has it.
struct ParameterSettings {
  std::string name;
  std::string kind = "uniform";
  double low = 0, high = 1, step = 0;
  bool log = false;
  std::vector<std::string> choices = {};
  std::map<std::string, std::vector<std::string>> when = {};

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "what formulas and trials call it");
    v("kind", kind, "uniform, log (uniform in the logarithm), integer or categorical");
    v("low", low, "the least value");
    v("high", high, "the largest value; it can be drawn");
    v("step", step, "values are low, low + step, ...; 0: all numbers, or all integers");
    v("log", log, "integer: uniform in the logarithm");
    v("choices", choices, "categorical: the values");
    v("when", when, "only where earlier parameters have one of these values: {kind: [dense, trees]}");
  }
};

enum class Kind { kUniform, kLog, kInteger, kCategorical };

struct Condition {
  size_t parent;               // a parameter before this one
  std::vector<double> values;  // it has one of these
};

struct Parameter {
  std::string name;
  Kind kind = Kind::kUniform;
  double low = 0, high = 1;
  double step = 0;                   // 0: continuous
  bool log = false;                  // kLog, and kInteger where it was wanted
  std::vector<std::string> choices;  // kCategorical
  int64_t cells = 0;                 // how many values; 0: continuous
  std::vector<Condition> conditions;

  bool discrete() const { return cells > 0; }
  bool categorical() const { return kind == Kind::kCategorical; }
  /// The coordinate of a value, in the middle of its cell if discrete; the inverse below. A coordinate beyond [0, 1] is
  /// taken as its end.
  double unit_of(double value) const;
  double value_of(double unit) const;
  /// The cell of a coordinate, and its lower edge (the upper one is the edge of the next cell).
  int64_t cell_of(double unit) const;
  double edge_of(int64_t cell) const { return static_cast<double>(cell) / static_cast<double>(cells); }
};

/// A value for each parameter of the space, in its order: a number, or the position among the choices. NaN where the
/// parameter's conditions do not hold.
using Point = std::vector<double>;

class Constraints;

class Space {
 public:
  /// `constraints`: formulas over the parameters (docs/guide/transforms.md), true where a point may be tried. A text of a
  /// categorical parameter is its position among the choices. User error that names the key.
  explicit Space(const std::vector<ParameterSettings>& parameters, const std::vector<std::string>& constraints = {});

  size_t size() const { return parameters_.size(); }
  const Parameter& operator[](size_t i) const { return parameters_[i]; }
  std::span<const Parameter> parameters() const { return parameters_; }

  /// `unit` has a coordinate for each parameter; those of inactive ones are not looked at.
  Point point_of(std::span<const double> unit) const;
  /// Inactive parameters: 0.5.
  std::vector<double> unit_of(const Point& point) const;
  /// By the values of the parameters before `i`.
  bool active(const Point& point, size_t i) const;
  /// All constraints hold. One over an inactive parameter does.
  bool allows(const Point& point) const;
  bool constrained() const { return constraints_ != nullptr; }
  /// How many points there are; 0 if a parameter is continuous or they are more than 2^53. Conditions make them fewer.
  double points() const;
  /// "0.001", "adam".
  std::string text_of(size_t i, double value) const;

 private:
  std::vector<Parameter> parameters_;
  std::shared_ptr<Constraints> constraints_;  // null: none
};

}  // namespace linac::tune
