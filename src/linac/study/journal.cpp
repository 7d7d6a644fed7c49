#include "linac/study/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/study/file_error.h"
#include "linac/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kJournal = "journal.jsonl";
constexpr const char* kStudy = "study.yaml";
constexpr std::pair<tune::State, const char*> kStates[] = {{tune::State::kRunning, "running"},
                                                           {tune::State::kComplete, "complete"},
                                                           {tune::State::kPruned, "pruned"},
                                                           {tune::State::kFailed, "failed"},
                                                           {tune::State::kInfeasible, "infeasible"}};

std::string first_line(const Study& study) {
  return json{{"op", "study"}, {"version", kVersion}, {"study", study.identity()}}.dump();
}

json values_json(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(tune::number_to_json(value));
  return list;
}

/// The lines of trials that another program carried out: all asked for, then told in their order.
std::string lines_of(const GivenStudy& given, const tune::Space& space) {
  std::string lines;
  const auto add = [&](const json& record) { lines += record.dump() + "\n"; };
  std::vector<size_t> order;
  for (size_t i = 0; i < given.trials.size(); ++i) {
    const GivenTrial& trial = given.trials[i];
    add({{"op", "ask"},
         {"trial", i + 1},
         {"point", tune::to_json(space, trial.point)},
         {"given", true},
         {"time", trial.asked_s}});
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return given.trials[a].told_place < given.trials[b].told_place; });
  for (const size_t i : order) {
    const GivenTrial& trial = given.trials[i];
    for (const auto& [step, value] : trial.curve)
      add({{"op", "report"}, {"trial", i + 1}, {"step", step}, {"value", tune::number_to_json(value)}});
    json end{{"op", "tell"}, {"trial", i + 1}, {"state", to_string(trial.state)}, {"time", trial.told_s}};
    if (trial.state == tune::State::kComplete) end["values"] = values_json(trial.values);
    if (!trial.reason.empty()) end["reason"] = trial.reason;
    add(end);
  }
  return lines;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

const char* to_string(tune::State state) {
  for (const auto& [one, word] : kStates)
    if (one == state) return word;
  return "";
}

tune::State state_named(const std::string& word) {
  for (const auto& [state, name] : kStates)
    if (word == name) return state;
  throw user_error(fmt::format("[study] '{}' is no state of a trial (complete, pruned, failed, infeasible)", word));
}

/// While it lives nobody else writes, and what others wrote is in the history.
class Journal::Locked {
 public:
  explicit Locked(Journal& journal) : journal_(journal) {
    while (::flock(journal.file_.get(), LOCK_EX) != 0)
      if (errno != EINTR) throw cannot(journal.folder_ / kJournal, "locked");
    try {
      journal.refresh();
      // What is left has no end of its line, and nobody is writing it.
      if (::ftruncate(journal.file_.get(), journal.read_) != 0) throw cannot(journal.folder_ / kJournal, "written");
    } catch (...) {
      ::flock(journal.file_.get(), LOCK_UN);
      throw;
    }
  }
  ~Locked() { ::flock(journal_.file_.get(), LOCK_UN); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Journal& journal_;
};

Journal::Journal(std::filesystem::path folder) : folder_(std::move(folder)) {}

Descriptor Journal::file_to_write(const std::filesystem::path& folder) {
  make_folder(folder);
  // O_NONBLOCK: a pipe in its place is found out about, and not waited for.
  Descriptor file(
      ::open((folder / kJournal).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0) throw cannot(folder / kJournal, "opened");
  if (!S_ISREG(facts.st_mode))
    throw user_error(fmt::format("[study] {}: is no file; choose another folder", (folder / kJournal).string()));
  return file;
}

Journal Journal::open_or_make(const std::filesystem::path& folder, const Study& study) {
  Journal journal(folder);
  journal.file_ = file_to_write(folder);
  {
    const Locked locked(journal);
    if (journal.lines_ == 0) journal.begin(study);
  }
  if (journal.study_.identity() != study.identity())
    throw user_error(
        fmt::format("[study] {}: has another study; what is searched, the objective, sampler, pruner and seed of one "
                    "do not change: choose another --out",
                    folder.string()));
  journal.study_ = study;
  write_file_atomically(folder / kStudy, study.to_yaml());
  return journal;
}

Journal Journal::make_given(const std::filesystem::path& folder, const GivenStudy& given) {
  // Whoever comes first; one that was killed has left an empty file, if any.
  const Descriptor lock = file_to_write(folder);
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw cannot(folder / kJournal, "locked");
  struct stat held = {}, there = {};
  const bool mine = ::fstat(lock.get(), &held) == 0 && ::stat((folder / kJournal).c_str(), &there) == 0 &&
                    held.st_dev == there.st_dev && held.st_ino == there.st_ino && held.st_size == 0;
  if (!mine) throw user_error(fmt::format("[study] {}: has a study already; choose another --out", folder.string()));
  write_file_atomically(folder / kStudy, given.study.to_yaml());
  // At once, and last: an import that was killed has made no study.
  write_file_atomically(folder / kJournal, first_line(given.study) + "\n" + lines_of(given, given.study.space()));
  return open(folder);
}

Journal Journal::open(const std::filesystem::path& folder) {
  Journal journal(folder);
  const auto path = folder / kJournal;
  journal.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts = {};
  if (!journal.file_ || ::fstat(journal.file_.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw user_error(fmt::format("[study] {}: is no folder of a study; linac tune STUDY.yaml --out {} makes one",
                                 folder.string(), folder.string()));
  journal.study_ =
      parse_study(read_file(folder / kStudy), (folder / kStudy).string(), {.job_folder = folder, .working_folder = {}});
  journal.refresh();
  if (journal.lines_ == 0)
    throw user_error(fmt::format("[study] {}: nothing has begun there; linac tune begins it", folder.string()));
  return journal;
}

void Journal::begin(const Study& study) {
  append(first_line(study));
}

void Journal::refresh() {
  std::string text;
  char room[65536];
  for (int64_t at = read_;;) {
    const ssize_t got = ::pread(file_.get(), room, sizeof room, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw cannot(folder_ / kJournal, "read");
    if (got == 0) break;
    text.append(room, static_cast<size_t>(got));
    at += got;
  }
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    take_line(text.substr(begin, end - begin), lines_ + 1);
    ++lines_;
    read_ += static_cast<int64_t>(end + 1 - begin);
  }
}

void Journal::take_line(const std::string& line, int64_t number) {
  const auto damaged = [&](const std::string& why) {
    return data_error(
        fmt::format("[study] {}:{}: {}; the lines before it are whole, and a copy of them in another folder goes on",
                    (folder_ / kJournal).string(), number, why));
  };
  try {
    const json record = json::parse(line);
    const auto op = record.at("op").get<std::string>();
    if ((op == "study") != (number == 1)) throw damaged("not where such a line belongs");
    if (op == "study") {
      if (record.at("version") != kVersion) throw damaged("of another version of linac");
      StudySettings kept;
      config::read(config::parse_text(record.at("study").get<std::string>(), kJournal), kept, kJournal);
      study_.settings.search = kept.search, study_.settings.constraints = kept.constraints,
      study_.settings.objective = kept.objective;
      study_.settings.sampler = kept.sampler, study_.settings.pruner = kept.pruner, study_.settings.seed = kept.seed;
      study_.settings.population = kept.population;
      history_ = std::make_unique<tune::History>(study_.space(), study_.directions());
      sampler_ = tune::make_sampler(kept.sampler);
      pruner_ = tune::make_pruner(kept.pruner);
      if (kept.population.used()) population_.emplace(kept.population);
      return;
    }
    const int64_t trial = record.at("trial");
    if (op == "ask" && first_ask_s_ == 0) first_ask_s_ = record.value("time", 0.0);
    if (op == "ask") times_[trial].asked = record.value("time", 0.0);
    if (op == "tell") times_[trial].told = record.value("time", 0.0);
    if (op == "ask")
      return history_->start(trial, tune::point_from_json(history_->space(), record.at("point")),
                             record.value("from", int64_t{0}));
    if (op == "report") return history_->report(trial, record.at("step"), tune::number_from_json(record.at("value")));
    if (op != "tell") throw damaged(fmt::format("'{}' is nothing that a journal has", op));
    const auto reason = record.value("reason", "");
    switch (state_named(record.at("state"))) {
      case tune::State::kComplete: {
        std::vector<double> values;
        for (const json& value : record.at("values")) values.push_back(tune::number_from_json(value));
        return history_->complete(trial, values);
      }
      case tune::State::kPruned:
        return history_->prune(trial, reason);
      case tune::State::kFailed:
        return history_->fail(trial, reason);
      case tune::State::kInfeasible:
        return history_->infeasible(trial, reason);
      case tune::State::kRunning:
        throw damaged("a trial that runs is not told");
    }
  } catch (const json::exception& error) {
    throw damaged(error.what());
  }
}

void Journal::append(const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t done = 0; done < whole.size();) {
    const ssize_t put = ::write(file_.get(), whole.data() + done, whole.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw cannot(folder_ / kJournal, "written");
    done += static_cast<size_t>(put);
  }
  if (::fdatasync(file_.get()) != 0) throw cannot(folder_ / kJournal, "written");
  refresh();
}

std::optional<int64_t> Journal::ask() {
  const Locked locked(*this);
  const auto trials = history_->trials();
  const auto count = std::count_if(trials.begin(), trials.end(), [&](const tune::Trial& trial) {
    return population_ || trial.state != tune::State::kFailed;  // a member that failed has had its interval
  });
  if (count >= study_.settings.budget.trials || !waits_for().empty()) return std::nullopt;
  const int64_t number = static_cast<int64_t>(trials.size()) + 1;
  const tune::PopulationStep step = next(number);
  json record{
      {"op", "ask"}, {"trial", number}, {"point", tune::to_json(history_->space(), step.point)}, {"time", now_s()}};
  if (step.parent != 0) record["from"] = step.parent;
  append(record.dump());
  return number;
}

tune::PopulationStep Journal::next(int64_t number) const {
  const auto seed = static_cast<uint64_t>(study_.settings.seed);
  if (population_) return population_->next(*history_, seed, number);
  return {tune::suggest(*sampler_, *history_, seed, number), 0};
}

std::vector<int64_t> Journal::waits_for() const {
  if (!population_) return {};
  return population_->waits_for(*history_, static_cast<int64_t>(history_->trials().size()) + 1);
}

const tune::Trial& Journal::running(int64_t trial) const {
  const tune::Trial* const found = history_->find(trial);
  if (found == nullptr)
    throw user_error(fmt::format("[study] there is no trial {}; {} were asked for", trial, history_->trials().size()));
  if (found->state != tune::State::kRunning)
    throw user_error(fmt::format("[study] trial {} was told before, as {}", trial, to_string(found->state)));
  return *found;
}

tune::Verdict Journal::report(int64_t trial, int64_t step, double value) {
  const Locked locked(*this);
  const tune::Trial& found = running(trial);
  if (!found.curve.empty() && step <= found.curve.back().first)
    throw user_error(
        fmt::format("[study] trial {}: step {} is not after step {}", trial, step, found.curve.back().first));
  append(json{{"op", "report"}, {"trial", trial}, {"step", step}, {"value", tune::number_to_json(value)}}.dump());
  return pruner_->verdict(*history_, *history_->find(trial));
}

void Journal::tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason) {
  const Locked locked(*this);
  running(trial);
  json record{{"op", "tell"}, {"trial", trial}, {"state", to_string(state)}, {"time", now_s()}};
  if (state == tune::State::kComplete) {
    if (values.size() != history_->objectives())
      throw user_error(fmt::format("[study] {} values told of trial {}; the study has {}", values.size(), trial,
                                   history_->objectives()));
    record["values"] = values_json(values);
  }
  if (!reason.empty()) record["reason"] = reason;
  append(record.dump());
}

Journal::Times Journal::times_of(int64_t trial) const {
  const auto found = times_.find(trial);
  return found == times_.end() ? Times{} : found->second;
}

std::vector<int64_t> Journal::replay() const {
  const std::string text = read_file(folder_ / kJournal);
  Journal again(folder_);
  again.study_ = study_;
  std::vector<int64_t> others;
  int64_t number = 0;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (number > 0 && record.value("op", "") == "ask" && !record.value("given", false)) {
      const int64_t trial = record.value("trial", int64_t{0});
      const tune::PopulationStep step = again.next(trial);
      if (tune::to_json(again.history_->space(), step.point) != record["point"] ||
          step.parent != record.value("from", int64_t{0}))
        others.push_back(trial);
    }
    again.take_line(line, ++number);
  }
  return others;
}

}  // namespace linac::study
