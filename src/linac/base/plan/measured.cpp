#include "linac/base/plan/measured.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "linac/base/base/error.h"
#include "linac/base/base/json_depth.h"

namespace linac::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "linac measured 3";

// Members by name, read and written by one list.
template <class Visitor, class Value>
requires std::is_same_v<std::remove_const_t<Value>, AtBatch>
void members(Visitor&& visit, Value& value) {
  visit("batch", value.batch);
  visit("wave_s", value.wave_s);
  visit("fixed_s", value.fixed_s);
  visit("step_cpu_s", value.step_cpu_s);
  visit("memory_gib", value.memory_gib);
}

class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  void operator()(const char* name, std::string& value) const { take(name, value); }
  void operator()(const char* name, bool& value) const { take(name, value); }
  void operator()(const char* name, int& value) const { take(name, value), need_sound(name, value); }
  void operator()(const char* name, int64_t& value) const {
    take(name, value), need_sound(name, static_cast<double>(value));
  }
  void operator()(const char* name, double& value) const { take(name, value), need_sound(name, value); }
  void operator()(const char* name, std::vector<double>& values) const {
    take(name, values);
    for (const double value : values) need_sound(name, value);
  }
  void operator()(const char* name, std::optional<double>& value) const {
    if (!json_.contains(name) || json_[name].is_null()) return;
    double there = 0;
    (*this)(name, there);
    value = there;
  }
  void operator()(const char* name, std::vector<AtBatch>& batches) const {
    for (const Json& one : json_.value(name, Json::array())) {
      AtBatch& at = batches.emplace_back();
      const Reader of_batch(one, where_ + ": " + name);
      members(of_batch, at);
      if (at.batch < 1 || at.wave_s <= 0) refuse(name, "has one without events or without time");
    }
  }
  void operator()(const char* name, std::vector<Update>& updates) const {
    for (const Json& one : json_.value(name, Json::array())) {
      Update& update = updates.emplace_back();
      const Reader of_update(one, where_ + ": " + name);
      of_update("beside_s", update.beside_s);
      if (one.contains("every")) of_update("every", update.every);
      if (update.every < 1) refuse(name, "has one that comes more than once a step");
      for (const Json& part : one.value("buckets", Json::array())) {
        Bucket& bucket = update.buckets.emplace_back();
        const Reader of_bucket(part, where_ + ": " + name);
        of_bucket("bytes", bucket.bytes);
        of_bucket("left_s", bucket.left_s);
      }
    }
  }

 private:
  template <class T>
  void take(const char* name, T& value) const {
    if (!json_.is_object() || !json_.contains(name)) refuse(name, "is missing");
    try {
      value = json_.at(name).get<T>();
    } catch (const Json::exception&) {
      refuse(name, "is of another kind");
    }
  }
  void need_sound(const char* name, double value) const {
    if (!std::isfinite(value) || value < 0) refuse(name, "is no number from 0 on");
  }
  [[noreturn]] void refuse(const char* name, const char* why) const {
    throw user_error(
        fmt::format("[plan] {}: '{}' {}; `linac plan JOB --probe-only FILE` writes such a file", where_, name, why));
  }

  const Json& json_;
  const std::string where_;
};

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    json[name] = value;
  }
  void operator()(const char* name, const std::optional<double>& value) {
    json[name] = value ? Json(*value) : Json(nullptr);
  }
  void operator()(const char* name, const std::vector<AtBatch>& batches) {
    json[name] = Json::array();
    for (const AtBatch& at : batches) {
      Writer of_batch;
      members(of_batch, at);
      json[name].push_back(std::move(of_batch.json));
    }
  }
  void operator()(const char* name, const std::vector<Update>& updates) {
    json[name] = Json::array();
    for (const Update& update : updates) {
      Json buckets = Json::array();
      for (const Bucket& bucket : update.buckets)
        buckets.push_back({{"bytes", bucket.bytes}, {"left_s", bucket.left_s}});
      json[name].push_back({{"beside_s", update.beside_s}, {"every", update.every}, {"buckets", std::move(buckets)}});
    }
  }
  Json json;
};

template <class Visitor, class Value>
requires std::is_same_v<std::remove_const_t<Value>, Measured>
void members(Visitor&& visit, Value& value) {
  visit("job", value.job);
  visit("work", value.work);
  visit("kin", value.kin);
  visit("host", value.host);
  visit("machine", value.machine);
  visit("when", value.when);
  visit("device", value.device);
  visit("cores", value.cores);
  visit("threads", value.threads);
  visit("replicas", value.replicas);
  visit("precision", value.precision);
  visit("batch", value.batch);
  visit("events", value.events);
  visit("flop", value.flop);
  visit("start_s", value.start_s);
  visit("start_of_several_s", value.start_of_several_s);
  visit("pair_s", value.pair_s);
  visit("pair_cpu_s", value.pair_cpu_s);
  visit("wave_s", value.wave_s);
  visit("fixed_s", value.fixed_s);
  visit("scatter", value.scatter);
  visit("first_s", value.first_s);
  visit("growth", value.growth);
  visit("steps_seen", value.steps_seen);
  visit("step_cpu_s", value.step_cpu_s);
  visit("taken", value.taken);
  visit("test_s", value.test_s);
  visit("between_s", value.between_s);
  visit("end_s", value.end_s);
  visit("checkpoint_s", value.checkpoint_s);
  visit("memory_gib", value.memory_gib);
  visit("watts", value.watts);
  visit("updates", value.updates);
  visit("at_batches", value.at_batches);
  visit("steps", value.steps);
  visit("epochs", value.epochs);
  visit("replicas_of_job", value.replicas_of_job);
  visit("tests", value.tests);
}

}  // namespace

std::string to_text(const Measured& measured) {
  Writer writer;
  writer("format", std::string(kFormat));
  members(writer, measured);
  return writer.json.dump(1) + "\n";
}

Measured read_measured(const std::string& text, const std::string& where) {
  constexpr int kDeepest = 16;
  const Json json = json_depth(text) > kDeepest ? Json() : Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat)
    throw user_error(
        fmt::format("[plan] {}: no measurement of this linac (format '{}'); `linac plan JOB --probe-only "
                    "FILE` writes one",
                    where, kFormat));
  Measured measured;
  members(Reader(json, where), measured);
  const auto need = [&](bool holds, const char* what) {
    if (!holds) throw user_error(fmt::format("[plan] {}: {}; measure again", where, what));
  };
  need(measured.steps_seen > 0 && measured.wave_s > 0, "no step was measured");
  need(!measured.start_s.empty(), "no start was measured");
  need(measured.cores > 0 && measured.threads > 0 && measured.replicas > 0 && measured.replicas_of_job > 0 &&
           measured.batch > 0,
       "cores, threads, replicas and batch are from 1 on");
  need(measured.steps > 0 && measured.epochs > 0, "the training has no step");
  return measured;
}

}  // namespace linac::plan
