#include "linac/control/execution/record/run_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "linac/base/base/refusal.h"
#include "linac/base/job/metric_names.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/step_gaps.h"
#include "linac/control/catalog/metrics.h"

namespace linac::execution {
namespace {

using catalog::KeyedPoint;
using nlohmann::json;

constexpr size_t kGenerationsMax = 1000;

// Gathers the points of one chunk; those without a time wait for the next moment.
class Gatherer {
 public:
  explicit Gatherer(RunMoment moment) : moment_(moment) {}

  void add(const std::string& key, int64_t step, double value) {
    if (key.empty() || key.size() > catalog::kKeyMax) return;
    points.push_back({key, {step, 0, value}});
  }

  void add_wholes(const char* front, int64_t step, const job::Measures& measures) {
    for (const auto& [name, value] : measures)
      if (const auto key = job::metric::of_whole(front, name)) add(*key, step, value);
  }

  void reach(RunMoment next) {
    for (size_t i = timed_; i < points.size(); ++i) points[i].point.time_ms = time_of(points[i].point.step, next);
    timed_ = points.size();
    moment_ = next;
  }
  const RunMoment& moment() const { return moment_; }
  int64_t last_step() const { return points.empty() ? moment_.step : points.back().point.step; }

  std::vector<KeyedPoint> points;

 private:
  int64_t time_of(int64_t step, const RunMoment& next) const {
    double time = next.time;
    if (moment_.time > 0 && next.time > moment_.time) {
      const auto all = static_cast<double>(next.step - moment_.step), done = static_cast<double>(step - moment_.step);
      const double part = all > 0 ? std::clamp(done / all, 0.0, 1.0) : 1.0;
      time = moment_.time + part * (next.time - moment_.time);
    }
    return static_cast<int64_t>(std::llround(1000 * time));
  }

  RunMoment moment_;
  size_t timed_ = 0;
};

// Goes beyond what is kept? Then it is kept.
bool advances(std::map<int64_t, int64_t>& kept, int64_t rollbacks, int64_t number) {
  if (number < 0) return false;
  const auto found = kept.find(rollbacks);
  if (found != kept.end() && number <= found->second) return false;
  if (found == kept.end() && kept.size() >= kGenerationsMax) return false;
  kept[rollbacks] = number;
  return true;
}

void add_times(const std::vector<job::WorkerAccount>& workers, int64_t step, Gatherer& gatherer) {
  std::map<std::string, double> sums;
  for (const job::WorkerAccount& worker : workers) {
    for (const auto& [phase, time] : worker.phases) sums[job::metric::of_phase(phase)] += time.wall_s;
    sums[job::metric::kCpuSeconds] += worker.cpu_s;
  }
  for (const auto& [key, sum] : sums) gatherer.add(key, step, sum);
}

// What a line of each kind adds.
struct LinePoints {
  RunCursor& cursor;
  Gatherer& gatherer;
  std::vector<job::AuditLine>& audits;

  void operator()(const job::StepLine& line) const {
    const int64_t step = line.global_step;
    if (!advances(cursor.steps, cursor.rollbacks, step)) return;
    for (const auto& [name, value] : line.loss) gatherer.add(job::metric::of_step(name), step, value);
    if (line.lr) gatherer.add(job::metric::kLearningRate, step, *line.lr);
  }

  void operator()(const job::EpochLine& line) const {
    const int64_t step = line.global_step;
    if (step < 0 || !advances(cursor.epochs, cursor.rollbacks, line.epoch)) return;
    gatherer.add(job::metric::kEpochs, step, static_cast<double>(line.epoch) + 1);
    gatherer.add_wholes(job::metric::kTrain, step, line.train);
    gatherer.add_wholes(job::metric::kTest, step, line.test);
    gatherer.add_wholes(job::metric::kPhysics, step, line.physics);
    if (line.seconds) gatherer.add(job::metric::kEpochSeconds, step, *line.seconds);
    if (!line.rate.unit.empty()) gatherer.add(job::metric::of_rate(line.rate.unit), step, line.rate.per_s);
  }

  void operator()(const job::RollbackLine& line) const { cursor.rollbacks = std::max<int64_t>(0, line.rollbacks); }

  void operator()(const job::RoundLine& line) const { gatherer.add(job::metric::kDrift, line.global_step, line.drift); }

  void operator()(const job::AuditLine& line) const {
    if (!reach(line.time, line.global_step)) return;
    gatherer.add(job::metric::kShutOut, line.global_step, static_cast<double>(line.wrong.size()));
    if (audits.size() < kAuditsMax) audits.push_back(line);
  }

  void operator()(const job::GapLine& line) const {
    std::vector<LostSteps>& lost = cursor.lost;
    if (line.first < 0 || line.last < line.first) return;
    if (lost.size() < job::kGapsMax)
      lost.push_back({line.first, line.last});
    else
      lost.back().last = std::max(lost.back().last, line.last);
  }

  void operator()(const job::ViewLine& line) const {
    if (!reach(line.time, line.global_step)) return;
    gatherer.add(job::metric::kWorkers, line.global_step, static_cast<double>(line.members.size()));
    gatherer.reach({line.time, line.global_step});
  }

  template <class Line>
  void operator()(const Line& line) const {
    if constexpr (requires { line.workers; }) {
      if (!reach(line.time, line.global_step)) return;
      add_times(line.workers, line.global_step, gatherer);
      gatherer.reach({line.time, line.global_step});
    }
  }

 private:
  // Whether the moment is news.
  bool reach(double time, int64_t step) const {
    if (step < 0 || !(time > 0 && time < 1e11)) return false;
    gatherer.reach({time, step});
    if (time <= cursor.told) return false;
    cursor.told = time;
    return true;
  }
};

job::ReadLine known(const job::LineReader& reader, std::string_view line) {
  try {
    return reader.read(line);
  } catch (const Error& newer) {
    throw Refusal(RefusalKind::kInvalid, newer.what());
  }
}

}  // namespace

std::string RunCursor::encoded() const {
  json gaps = json::array();
  for (const LostSteps& one : lost) gaps.push_back({one.first, one.last});
  return json{steps, epochs, told, offset, rollbacks, moment.time, moment.step, gaps}.dump();
}

RunCursor RunCursor::decoded(const std::string& text) {
  RunCursor cursor;
  try {
    const json values = json::parse(text);
    values.at(0).get_to(cursor.steps);
    values.at(1).get_to(cursor.epochs);
    values.at(2).get_to(cursor.told);
    values.at(3).get_to(cursor.offset);
    values.at(4).get_to(cursor.rollbacks);
    values.at(5).get_to(cursor.moment.time);
    values.at(6).get_to(cursor.moment.step);
    if (values.size() > 7)  // an older linac kept none
      for (const json& one : values.at(7)) cursor.lost.push_back({one.at(0), one.at(1)});
  } catch (const json::exception&) {
    return {};
  }
  return cursor;
}

ReadLines read_run_lines(const RunCursor& cursor, int64_t offset, std::string_view text, int64_t until_ms) {
  ReadLines read{cursor, cursor, {}, 0};
  if (offset == 0) {
    read.after.offset = read.after.rollbacks = 0;
    read.after.moment = {};
    read.after.lost.clear();
  } else if (offset != cursor.offset) {
    throw Refusal(RefusalKind::kState,
                  fmt::format("[ingest] lines from byte {} on, but byte {} comes next; send that, or begin at 0",
                              offset, cursor.offset));
  }
  Gatherer gatherer(read.after.moment);
  read.after.offset = offset + static_cast<int64_t>(text.size());
  const job::LineReader reader("the run's metrics.jsonl");
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const job::ReadLine found = line.size() > kRunLineBytesMax ? job::ReadLine() : known(reader, line);
    if (found.state == job::LineState::kNone)
      ++read.damaged;
    else
      std::visit(LinePoints{read.after, gatherer, read.audits}, found.line);
  }
  const double until = until_ms > 0 ? 1e-3 * static_cast<double>(until_ms) : gatherer.moment().time;
  gatherer.reach({std::max(until, gatherer.moment().time), gatherer.last_step()});
  read.after.moment = gatherer.moment();
  read.points = std::move(gatherer.points);
  return read;
}

bool ReadLines::within(const PieceMax& most) const {
  std::unordered_set<std::string_view> metrics;
  for (const catalog::KeyedPoint& point : points) metrics.insert(point.key);
  return points.size() <= most.points && metrics.size() <= most.metrics;
}

ReadLines read_some_lines(const RunCursor& cursor, int64_t offset, std::string_view text, int64_t until_ms,
                          const PieceMax& most) {
  const auto lines_within = [](std::string_view lines, size_t bytes) {
    const std::string_view whole = whole_lines(lines.substr(0, bytes));
    return whole.empty() ? lines.substr(0, std::min(lines.find('\n'), lines.size() - 1) + 1) : whole;
  };
  for (std::string_view some = text.empty() ? text : lines_within(text, kPieceBytes);;) {
    ReadLines read = read_run_lines(cursor, offset, some, some.size() == text.size() ? until_ms : 0);
    if (read.within(most)) return read;
    const std::string_view less = lines_within(some, some.size() / 2);
    if (less.size() == some.size()) return read;
    some = less;
  }
}

std::string lost_steps_text(const std::vector<LostSteps>& lost) {
  std::string text;
  for (const LostSteps& one : lost) {
    if (!text.empty()) text += ',';
    text += one.first == one.last ? std::to_string(one.first) : fmt::format("{}-{}", one.first, one.last);
  }
  return text;
}

std::string_view whole_lines(std::string_view text) {
  const size_t last = text.rfind('\n');
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace linac::execution
