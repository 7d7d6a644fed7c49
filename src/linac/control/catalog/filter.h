#pragma once
// The language of searches: MLflow's ("metrics.auc > 0.9 AND params.lr = '0.001' AND tags.`mlflow.user` LIKE 'k%' AND
// attributes.status IN ('FINISHED')") and OR, NOT and parentheses. Parsed into a tree, then turned into SQL with
// parameters: nothing a user wrote becomes SQL text. Both functions throw kInvalid with the position, what was found
// and what would do.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

enum class FieldKind { kAttribute, kMetric, kParameter, kTag, kDataSet };
struct Field {
  FieldKind kind;
  std::string key;  // of the attribute, metric, ...; quotes removed
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kLike,
  kILike,
  kIn,
  kNotIn,
  kIsNull,
  kIsNotNull
};

struct Filter {
  enum class Kind { kComparison, kAnd, kOr, kNot } kind = Kind::kComparison;
  std::vector<std::unique_ptr<Filter>> parts;  // of and, or, not
  Field field{};
  Comparison comparison{};
  std::vector<Value> values;  // text or number, several for IN
};

/// Null for an empty text. At most kFilterBytesMax long and kFilterDepthMax deep, of kConditionsMax comparisons with
/// kValuesMax values.
std::unique_ptr<Filter> parse_filter(std::string_view text);
constexpr size_t kFilterBytesMax = 16384;
constexpr int kFilterDepthMax = 64, kConditionsMax = 100, kValuesMax = 1000;

struct Order {
  Field field;
  bool descending = false;
};
/// "metrics.`val loss` DESC"
Order parse_order(std::string_view text);

}  // namespace linac::catalog
