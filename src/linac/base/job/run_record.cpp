#include "linac/base/job/run_record.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "linac/base/base/error.h"
#include "linac/base/job/metric_names.h"

namespace linac::job {
namespace {

using Json = nlohmann::json;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

Json written(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json with_texts(Json measures) {
  for (Json& value : measures) {
    if (value.is_number_float()) value = written(value.get<double>());
    if (value.is_object()) value = with_texts(std::move(value));
  }
  return measures;
}

template <class Struct>
Json written_struct(const Struct& from);

Json written(int64_t value) {
  return value;
}
Json written(uint64_t value) {
  return value;
}
Json written(const std::string& value) {
  return value;
}
Json written(const Measures& value) {
  return with_texts(to_json(value));
}
Json written(const std::map<Phase, PhaseTime>& phases) {
  Json json = Json::object();
  for (const auto& [phase, time] : phases) json[name_of(phase)] = written_struct(time);
  return json;
}
template <HasMembers Struct>
Json written(const Struct& value) {
  return written_struct(value);
}
template <class T>
Json written(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& one : list) json.push_back(written(one));
  return json;
}
Json written(const DataFiles& data) {
  Json json = Json::object();
  for (const auto& [role, files] : data) json[role] = written(files);
  return json;
}

template <class Struct>
struct Writer {
  const Struct& from;
  Json& json;

  template <class T>
  void operator()(const MemberText& text, T Struct::*member) {
    const T& value = from.*member;
    if constexpr (std::is_same_v<T, Rate>) {
      if (!value.unit.empty()) json[metric::of_rate(value.unit)] = written(value.per_s);
    } else if constexpr (IsOptional<T>::value) {
      if (value) json[text.name] = written(*value);
    } else {
      json[text.name] = written(value);
    }
  }
};

template <class Struct>
Json written_struct(const Struct& from) {
  Json json = Json::object();
  Struct::fields(Writer<Struct>{from, json});
  return json;
}

// Each read() says whether the value is wholly as it should be; if it is not, what is right of it is kept.
bool read(const Json& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
    return true;
  }
  if (!json.is_string()) return false;
  const auto& word = json.get_ref<const std::string&>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (word == "Infinity" || word == "-Infinity") {
    value = word[0] == '-' ? -kInfinity : kInfinity;
  } else {
    return false;
  }
  return true;
}

bool read(const Json& json, int64_t& value) {
  constexpr double kMax = int64_t{1} << 53;
  if (!json.is_number()) return false;
  const auto number = json.get<double>();
  if (!(std::abs(number) < kMax)) return false;
  value = static_cast<int64_t>(number);
  return true;
}

bool read(const Json& json, uint64_t& value) {
  if (!json.is_number_unsigned()) return false;
  value = json.get<uint64_t>();
  return true;
}

bool read(const Json& json, std::string& value) {
  if (!json.is_string()) return false;
  value = json.get_ref<const std::string&>();
  return true;
}

bool read(const Json& json, Measures& measures) {
  if (!json.is_object()) return false;
  bool whole = true;
  const auto add = [&](std::string name, const Json& value) {
    double number = 0;
    if (read(value, number)) {
      measures[std::move(name)] = number;
    } else {
      whole = false;
    }
  };
  for (const auto& [name, value] : json.items()) {
    if (!value.is_object()) {
      add(name, value);
      continue;
    }
    for (const auto& [part, number] : value.items()) add(name + "/" + part, number);
  }
  return whole;
}

template <class Struct>
bool read_struct(const Json& json, Struct& to);

bool read(const Json& json, std::map<Phase, PhaseTime>& phases) {
  if (!json.is_object()) return false;
  bool whole = true;
  for (const auto& [name, value] : json.items())
    if (const auto phase = phase_named(name); phase && value.is_object())
      whole = read_struct(value, phases[*phase]) && whole;
  return whole;
}

template <HasMembers Struct>
bool read(const Json& json, Struct& to) {
  return read_struct(json, to);
}

template <class T>
bool read(const Json& json, std::vector<T>& list) {
  if (!json.is_array()) return false;
  bool whole = true;
  for (const Json& one : json) {
    T value;
    const bool good = read(one, value);
    whole = whole && good;
    if (good || (HasMembers<T> && one.is_object())) list.push_back(std::move(value));
  }
  return whole;
}

bool read(const Json& json, DataFiles& data) {
  if (!json.is_object()) return false;
  for (const auto& [role, files] : json.items()) read(files, data[role]);
  return true;
}

template <class Struct>
struct Reader {
  const Json& json;
  Struct& to;
  Wanted wanted;
  bool& whole;

  template <class T>
  void operator()(const MemberText& text, T Struct::*member) {
    if constexpr (std::is_same_v<T, Rate>) {
      read_rate(to.*member);
    } else {
      if constexpr (std::is_same_v<Struct, StepLine> && std::is_same_v<T, Measures>)
        if (wanted == Wanted::kNoStepMeasures) return;
      const auto found = json.find(text.name);
      const bool good = found != json.end() && read_member(*found, to.*member);
      if (!good && text.need == Need::kNeeded) whole = false;
    }
    if constexpr (IsOptional<T>::value)
      if (!json.contains(text.name)) (to.*member).reset();
  }

  template <class T>
  static bool read_member(const Json& value, T& to) {
    if constexpr (IsOptional<T>::value) {
      using Value = typename T::value_type;
      Value found{};
      const bool in_part = HasMembers<Value> ? value.is_object() : !std::is_arithmetic_v<Value> && value.is_array();
      if (!read(value, found) && !in_part) return false;
      to = std::move(found);
      return true;
    } else if constexpr (std::is_same_v<T, double>) {
      return read(value, to) && std::isfinite(to);
    } else {
      return read(value, to);
    }
  }

  void read_rate(Rate& rate) {
    for (const auto& [name, value] : json.items()) {
      if (!name.ends_with(metric::kRateEnd) || !read(value, rate.per_s)) continue;
      rate.unit = name.substr(0, name.size() - std::string_view(metric::kRateEnd).size());
    }
  }
};

template <class Struct>
bool read_struct(const Json& json, Struct& to, Wanted wanted) {
  if (!json.is_object()) return false;
  bool whole = true;
  Struct::fields(Reader<Struct>{json, to, wanted, whole});
  return whole;
}
template <class Struct>
bool read_struct(const Json& json, Struct& to) {
  return read_struct(json, to, Wanted::kAll);
}

// Tries one kind after the other; false if it is none of them.
template <class Line, class... Others>
bool read_kind(const std::string& kind, const Json& json, Wanted wanted, ReadLine& result) {
  if constexpr (requires { Line::kKind; }) {
    if (kind == Line::kKind) {
      const bool whole = read_struct(json, result.line.emplace<Line>(), wanted);
      result.state = whole ? LineState::kWhole : LineState::kDamaged;
      return true;
    }
  }
  if constexpr (sizeof...(Others) > 0) return read_kind<Others...>(kind, json, wanted, result);
  return false;
}
template <class... Lines>
bool read_any(const std::string& kind, const Json& json, Wanted wanted, ReadLine& result,
              const std::variant<Lines...>& /*kinds*/) {
  return read_kind<Lines...>(kind, json, wanted, result);
}

void check_version(const Json& json, const std::string& where) {
  const auto found = json.find("record");
  if (found == json.end() || !found->is_number()) return;
  const auto version = found->get<double>();
  if (version <= static_cast<double>(kRecordVersion)) return;
  throw user_error(
      fmt::format("[record] {}: written by a newer linac (its record has version {}, this linac reads up to "
                  "{}); use that linac, or a newer one",
                  where, found->dump().substr(0, 20), kRecordVersion));
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

PhaseTime WorkerAccount::time_in(Phase phase) const {
  const auto found = phases.find(phase);
  return found == phases.end() ? PhaseTime() : found->second;
}

nlohmann::json to_json(const RunLine& line) {
  return std::visit(
      [](const auto& one) {
        Json json = written_struct(one);
        if constexpr (requires { one.kKind; }) {
          json["kind"] = one.kKind;
        } else {
          json["kind"] = one.kind;
        }
        return json;
      },
      line);
}

std::string to_text(const RunLine& line) {
  return dumped(to_json(line), -1);
}

int64_t global_step_of(const RunLine& line) {
  return std::visit([](const auto& one) { return one.global_step; }, line);
}

double time_of(const RunLine& line) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.time; }) {
          return std::isfinite(one.time) ? one.time : 0;
        } else {
          return 0.0;
        }
      },
      line);
}

bool stands_before(const RunLine& line, int64_t global_step, int64_t epoch) {
  // A kind of line that is not here does not compile.
  struct Stands {
    int64_t global_step, epoch;
    bool operator()(const ViewLine&) const { return true; }
    bool operator()(const AuditLine&) const { return true; }
    bool operator()(const WorkersLine&) const { return true; }
    bool operator()(const EndLine&) const { return true; }
    bool operator()(const StepLine& one) const { return one.global_step <= global_step; }
    bool operator()(const EpochLine& one) const { return one.epoch < epoch; }
    bool operator()(const RollbackLine& one) const { return one.epoch < epoch; }
    bool operator()(const RoundLine& one) const { return one.global_step <= global_step; }
    bool operator()(const GapLine& one) const { return one.first <= global_step; }
    bool operator()(const OtherLine& one) const {
      return one.epoch >= 0 ? one.epoch < epoch : one.global_step <= global_step;
    }
  };
  return std::visit(Stands{global_step, epoch}, line);
}

ReadLine LineReader::read(std::string_view text) const {
  ReadLine result;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return result;
  check_version(json, where_);
  result.state = LineState::kDamaged;
  const auto kind = json.find("kind");
  const std::string word = kind != json.end() && kind->is_string() ? kind->get<std::string>() : "";
  if (read_any(word, json, wanted_, result, result.line)) return result;
  auto& other = result.line.emplace<OtherLine>();
  read_struct(json, other);
  other.kind = word;
  if (!word.empty()) result.state = LineState::kWhole;
  return result;
}

std::string to_text(const RunSummary& summary) {
  return dumped(written_struct(summary), 2) + "\n";
}

std::optional<RunSummary> read_summary(std::string_view text, const std::string& where) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  check_version(json, where);
  RunSummary summary;
  read_struct(json, summary);
  return summary;
}

nlohmann::json to_json(const WorkerAccount& account) {
  return written_struct(account);
}

std::string to_text(const WorkerAccount& account) {
  return dumped(to_json(account), -1);
}

WorkerAccount read_account(std::string_view text) {
  WorkerAccount account;
  read_struct(Json::parse(text, nullptr, false), account);
  return account;
}

DataFiles data_files_from(const nlohmann::json& json) {
  DataFiles files;
  ::linac::job::read(json, files);
  return files;
}

}  // namespace linac::job
