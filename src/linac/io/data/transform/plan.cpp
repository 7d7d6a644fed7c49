#include "linac/io/data/transform/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::data {
namespace {

using expression::Axes;
using expression::Expression;
using expression::Type;

/// The names in "(found: pt float, eta [2])", as a reader lists them.
std::vector<std::string> names_found(const std::string& message) {
  constexpr std::string_view kFound = "(found: ";
  std::vector<std::string> names;
  size_t at = message.find(kFound);
  for (at = at == std::string::npos ? at : at + kFound.size(); at < message.size();) {
    names.push_back(message.substr(at, message.find_first_of(" ,)", at) - at));
    const size_t comma = message.find(", ", at);
    at = comma == std::string::npos ? comma : comma + 2;
  }
  return names;
}

class Planner {
 public:
  Planner(const std::string& name, const std::vector<WantedColumn>& wanted, const Transform& transform)
      : name_(name), wanted_(wanted), transform_(transform) {
    for (size_t i = 0; i < transform.lists.size(); ++i) {
      const ListRule& rule = transform.lists[i];
      const std::string where = fmt::format("data.lists[{}].", i);
      if (!rule.filter.empty()) parse(where + "filter", rule.filter);
      if (!rule.sort.empty()) parse(where + "sort", rule.sort);
    }
    for (const auto& [column, formula] : transform.define) parse(where_of(column), formula);
    if (!transform.filter.empty()) parse("data.filter", transform.filter);
  }

  Plan run(const OpenReader& open) {
    find_exact();
    ask();
    open_reader(open);
    for (size_t i = 0; i < plan_.asked.size(); ++i) describe_asked(i);
    for (size_t i = 0; i < transform_.lists.size(); ++i) add_rule(i);
    for (const auto& [column, formula] : transform_.define) add_computed(column);
    if (!transform_.filter.empty()) {
      plan_.filter = formula("data.filter", [&](const std::string& column) { return source(column); });
      need(*plan_.filter, {Axes::kNumber, true}, "any() and all() make one of a list");
    }
    if (transform_.split)
      for (const std::string& column : transform_.split->key) plan_.keys.push_back(source(column));
    for (size_t i = 0; i < wanted_.size(); ++i) add_output(i);
    return std::move(plan_);
  }

 private:
  void parse(const std::string& where, const std::string& text) {
    parsed_.emplace(where, expression::parse(text, where));
  }

  // The weight of the events may be a formula, which is called like itself.
  std::string where_of(const std::string& column) const {
    return transform_.define.at(column) == column ? "data.event_weight" : "data.define." + column;
  }

  bool is_defined(const std::string& column) const { return transform_.define.contains(column); }

  /// Stored columns that formulas and keys name.
  void find_exact() {
    for (const auto& [where, formula] : parsed_) {
      const bool of_rule = where.starts_with("data.lists[");
      for (const std::string& column : formula.columns())
        if (of_rule || !is_defined(column) || where == where_of(column)) exact_.insert(column);
    }
    if (!transform_.split) return;
    for (const std::string& column : transform_.split->key)
      if (!is_defined(column)) exact_.insert(column);
  }

  void ask() {
    for (const WantedColumn& column : wanted_) {
      if (is_defined(column.name)) continue;
      plan_.asked.push_back(column);
      // A list of rows says how long they are: also in formats that know plain lists only.
      // A key keeps the rows that another value than 0 pads: models remember their split.
      const bool in_key = transform_.split && std::ranges::count(transform_.split->key, column.name) > 0;
      const bool rows =
          column.shape.size() == 2 && !column.texts && exact_.contains(column.name) && (column.padding == 0 || !in_key);
      if (rows && exact_places_.emplace(column.name, plan_.asked.size() - 1).second) plan_.asked.back().exact = true;
    }
    for (const std::string& column : exact_) {
      if (exact_places_.contains(column)) continue;
      exact_places_[column] = plan_.asked.size();
      plan_.asked.push_back({.name = column, .shape = {}, .exact = true, .as_stored = true});
    }
    if (plan_.asked.empty())
      throw user_error(fmt::format("[data] {}: no column of the file is read: the formulas name none", name_));
  }

  void open_reader(const OpenReader& open) {
    try {
      plan_.reader = open(plan_.asked);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      const std::string what = error.what();
      for (const auto& [where, formula] : parsed_) {
        for (const std::string& column : formula.columns()) {
          if (what.find(fmt::format("no column '{}'", column)) == std::string::npos &&
              what.find(fmt::format("no data set '{}'", column)) == std::string::npos)
            continue;
          std::vector<std::string> names = names_found(what);
          for (const auto& [defined, text] : transform_.define) names.push_back(defined);
          const auto near = nearest(column, names);
          throw data_error(fmt::format("{}; {} names it at character {} of \"{}\"{}", what, where,
                                       formula.place_of(column) + 1, formula.text,
                                       near ? fmt::format("; did you mean '{}'?", *near) : ""));
        }
      }
      throw;
    }
  }

  void describe_asked(size_t i) {
    const WantedColumn& asked = plan_.asked[i];
    const StoredColumn& stored = plan_.reader->columns()[i];
    const int axes = stored.axes >= 0 ? stored.axes : stored.is_number ? 0 : 1;
    BlockColumn column{.name = asked.name, .type = {.axes = Axes::kNumber, .boolean = stored.is_boolean}};
    if (!asked.as_stored) column.row_size = static_cast<uint32_t>(asked.row_size());
    if (axes > 0) column.type.axes = axes > 1 || (!asked.as_stored && asked.row_size() > 1) ? Axes::kRows : Axes::kList;
    // A zero at the end of a list of numbers may have a partner in another list.
    if (axes > 1 || (asked.shape.size() == 2 && asked.row_size() > 1)) column.padding = asked.padding;
    if (asked.exact && axes > 2) {
      throw user_error(fmt::format("[data] {}: column '{}' is {}: formulas take numbers, lists and lists of rows",
                                   name_, asked.name, stored.words));
    }
    plan_.columns.push_back(std::move(column));
  }

  ColumnSource stored_source(const std::string& column) const { return {false, exact_places_.at(column)}; }
  ColumnSource source(const std::string& column) const {
    const auto computed = computed_places_.find(column);
    return computed == computed_places_.end() ? stored_source(column) : ColumnSource{true, computed->second};
  }

  Type type_of(const ColumnSource& source) const {
    return source.computed ? plan_.computed[source.place].formula.program.type() : plan_.columns[source.place].type;
  }

  template <class Find>
  Formula formula(const std::string& where, const Find& find) const {
    const Expression& parsed = parsed_.at(where);
    Formula out{expression::Program(parsed, [&](const std::string& column) { return type_of(find(column)); }), {}};
    for (const std::string& column : out.program.columns()) out.sources.push_back(find(column));
    return out;
  }

  static void need(const Formula& formula, const Type& wanted, const std::string& way_out) {
    const Type type = formula.program.type();
    if (type.axes == wanted.axes && (type.boolean || !wanted.boolean)) return;
    formula.program.expression().fail(
        0, fmt::format("wanted is {}, and this is {}", expression::describe(wanted), expression::describe(type)),
        "; " + way_out);
  }

  void add_rule(size_t i) {
    const ListRule& rule = transform_.lists[i];
    const std::string where = fmt::format("data.lists[{}]", i);
    PlannedRule planned{.filter = {}, .sort = {}, .first = rule.first, .columns = {}, .where = where};
    const auto find = [&](const std::string& column) { return stored_source(column); };
    const std::string way_out = "a rule for lists wants one value for each of their rows";
    if (!rule.filter.empty())
      need(planned.filter.emplace(formula(where + ".filter", find)), {Axes::kList, true}, way_out);
    if (!rule.sort.empty()) need(planned.sort.emplace(formula(where + ".sort", find)), {Axes::kList, false}, way_out);
    for (size_t column = 0; column < plan_.asked.size(); ++column) {
      if (std::ranges::find(rule.columns, plan_.asked[column].name) == rule.columns.end()) continue;
      if (plan_.columns[column].type.axes == Axes::kNumber) {
        throw user_error(fmt::format("[job] {}: column '{}' is {}, no list: leave it out", where,
                                     plan_.asked[column].name, plan_.reader->columns()[column].words));
      }
      planned.columns.push_back(column);
    }
    plan_.rules.push_back(std::move(planned));
  }

  void add_computed(const std::string& column) {
    if (computed_places_.contains(column)) return;
    const std::string where = where_of(column);
    const Expression& parsed = parsed_.at(where);
    if (std::ranges::find(under_way_, column) != under_way_.end())
      parsed.fail(0, fmt::format("it names itself by way of {}", fmt::join(under_way_, ", ")));
    under_way_.push_back(column);
    for (const std::string& other : parsed.columns())
      if (other != column && is_defined(other)) add_computed(other);
    under_way_.pop_back();
    // Its own name is that of the file's column, which it takes the place of.
    Formula made = formula(
        where, [&](const std::string& other) { return other == column ? stored_source(other) : source(other); });
    if (made.program.type().axes == Axes::kRows)
      parsed.fail(0, "this is a list of rows, and a computed column is a number or a list", "; name the column itself");
    computed_places_[column] = plan_.computed.size();
    plan_.computed.push_back({column, std::move(made)});
  }

  void add_output(size_t i) {
    const WantedColumn& wanted = wanted_[i];
    if (!is_defined(wanted.name)) {
      plan_.outputs.push_back({false, next_asked_});
      plan_.stored.push_back(plan_.reader->columns()[next_asked_++]);
      return;
    }
    const ColumnSource from = source(wanted.name);
    const Type type = type_of(from);
    const std::string words = "computed, " + expression::describe(type);
    const bool number = type.axes == Axes::kNumber;
    if (wanted.row_size() != 1 || (!number && wanted.is_number() && !wanted.joined))
      refuse_column(name_, wanted, words);
    plan_.outputs.push_back(from);
    plan_.stored.push_back({.words = words, .is_number = number, .is_boolean = type.boolean, .axes = number ? 0 : 1});
  }

  const std::string& name_;
  const std::vector<WantedColumn>& wanted_;
  const Transform& transform_;
  Plan plan_;
  std::map<std::string, Expression> parsed_;  // by what they are called
  std::set<std::string> exact_;
  std::map<std::string, size_t> exact_places_, computed_places_;
  std::vector<std::string> under_way_;
  size_t next_asked_ = 0;
};

}  // namespace

Plan plan_of(const std::string& name, const std::vector<WantedColumn>& columns, const Transform& transform,
             const OpenReader& open) {
  return Planner(name, columns, transform).run(open);
}

}  // namespace linac::data
