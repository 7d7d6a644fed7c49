// Studies of hyper-parameters over HTTP: made, asked, told, shown. What the requests do to a study says
// studies/trials.h; who is first is first (studies/desks.h).

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/base/utf8.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/named_experiment.h"
#include "linac/control/service/ownership.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/studies/submission.h"
#include "linac/control/service/studies/trials.h"
#include "linac/control/service/things.h"
#include "linac/control/study/record.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr size_t kStudyBytesMax = 1 << 20, kWordsBytesMax = 64 << 10;
constexpr size_t kReasonMax = 2000, kHolderMax = 200;
constexpr int64_t kLeaseSeconds = 600, kLeaseSecondsMax = 7 * 86400;
constexpr int64_t kPageMax = 1000, kLinesMax = 10000;

Refusal invalid(const std::string& what) {
  return {RefusalKind::kInvalid, "[studies] " + what};
}

/// A study whose trials programs ask for.
study::Study checked_study(const std::string& text) {
  study::Study study = study::parse_study(text, "the study", {});
  if (!study.job.empty() || !study.command().empty())
    throw invalid(
        "it has a job or a command, and programs that ask carry its trials out; leave search, objective, sampler, "
        "pruner and budget, or submit the study to the queue (`linac submit`)");
  check_size(study);
  return study;
}

json record_words(const catalog::StudyRecord& record) {
  return {{"name", record.name},
          {"user", record.user},
          {"experiment_id", std::to_string(record.experiment)},
          {"created_ms", record.created_ms},
          {"updated_ms", record.updated_ms},
          {"lines", record.lines},
          {"trials", record.trials},
          {"told", record.told}};
}

json study_words(const OpenStudy& study) {
  json words = record_words(study.record), states = json::object(), front = json::array(), objectives = json::array();
  const tune::History& history = study.ledger.history();
  for (const tune::Trial& trial : history.trials()) {
    json& count = states[study::to_string(trial.state)];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }
  for (const tune::Trial* trial : history.front()) front.push_back(trial_words(study, *trial));
  const std::vector<std::string> names = study.ledger.study().objective_names();
  for (size_t i = 0; i < names.size(); ++i)
    objectives.push_back({{"name", names[i]}, {"maximize", history.directions()[i] == tune::Direction::kMaximize}});
  words["study"] = study.record.file;
  words["budget"] = study.ledger.study().settings.budget.trials;
  words["objectives"] = objectives;
  words["states"] = states;
  words["front"] = front;
  return words;
}

/// {"queue": how it stands there}, beside `words`.
Task<json> with_queue(Context& context, const std::string& name, json words) {
  words["queue"] = co_await reading(
      context, [&](Database& database) { return submitted_words(database, catalog::study(database, name).number); });
  co_return words;
}

/// By the same text again the study goes on, with another budget if it says so.
StudyStep goes_on(const OpenStudy& open, const study::Study& study) {
  if (open.ledger.study().identity() != study.identity() || !open.ledger.study().job.empty())
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[studies] there is another study '{}'; what is searched, the objective, sampler, pruner "
                              "and seed of one do not change: choose another name",
                              open.record.name));
  const std::string file = study.to_yaml();
  if (file == open.record.file) return {};
  return {.also = [file, number = open.record.number](Database& database) {
    catalog::set_study_file(database, number, file);
  }};
}

Handler creates(Context& context, Desks& desks) {
  return [&context, &desks](Request& request) -> Task<Response> {
    http::check_room(context.data, kStudyBytesMax, context.keep_free);
    const std::string name = request.text("name"), text = request.text("study");
    catalog::check_study_name(name);
    const auto study = std::make_shared<study::Study>();
    const std::function<void()> parse = [study, text] { *study = checked_study(text); };
    co_await context.checks.run(request.caller.user, parse);
    const catalog::Viewer viewer = viewer_of(request);
    const auto there = co_await reading(context, [&](Database& database) {
      catalog::refuse_hidden_study_name(database, viewer, name);
      return catalog::find_study(database, name);
    });
    request.things = {{kStudyThing, name}};
    const Desks::Answer answer = study_words;
    if (there) {
      if (there->user != request.caller.user && !viewer.all)
        throw Refusal(RefusalKind::kExists,
                      fmt::format("[studies] '{}' is a study of {}; choose another name", name, there->user));
      const Desks::Make make = [&](OpenStudy& open) { return goes_on(open, *study); };
      const json words = co_await desks.change(&request, name, make, answer);
      co_return Response::json(words);
    }
    co_await writing(
        context,
        [&](Database& database) {
          request.noted = false;
          catalog::StudyRecord record;
          record.name = name, record.user = request.caller.user, record.file = study->to_yaml();
          record.experiment = named_experiment(database, viewer, request.text("experiment"), context.visibility);
          catalog::create_study(database, record, study::Ledger::first_line(*study));
          note_change(database, request);
        },
        who_asks(request));
    const json words = co_await desks.look(name, answer);
    co_return Response::json(words);
  };
}

json listed(Database& database, Request& request) {
  const int64_t limit = std::clamp<int64_t>(request.integer("limit", kPageMax), 1, kPageMax);
  const auto found =
      catalog::studies(database, viewer_of(request), request.text("user"), request.integer("before"), limit);
  json studies = json::array();
  for (const catalog::StudyRecord& record : found) studies.push_back(record_words(record));
  const bool more = static_cast<int64_t>(found.size()) == limit;
  return {{"studies", studies}, {"before", more ? json(found.back().number) : json()}};
}

int64_t trial_number(const Request& request) {
  const std::string& text = request.variable("trial");
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1)
    throw invalid(fmt::format("'{}' is no number of a trial", printable(text.substr(0, 40))));
  return number;
}

std::string holder_of(const Request& request) {
  std::string holder = request.text("lease");
  if (holder.size() > kHolderMax) throw invalid(fmt::format("'lease' has more than {} bytes", kHolderMax));
  return holder;
}

int64_t lease_ms(const Request& request) {
  const int64_t seconds = request.integer("seconds", kLeaseSeconds);
  if (seconds < 1 || seconds > kLeaseSecondsMax)
    throw invalid(fmt::format("'seconds' is {}; a lease lasts 1 to {}", seconds, kLeaseSecondsMax));
  return seconds * 1000;
}

/// A change of one study.
Handler changes(Desks& desks, std::function<StudyStep(OpenStudy&, const Request&)> make,
                std::function<json(const OpenStudy&, const Request&)> answer) {
  return [&desks, make = std::move(make), answer = std::move(answer)](Request& request) -> Task<Response> {
    const std::string name = request.variable("study");
    const Desks::Make step = [&](OpenStudy& open) { return make(open, request); };
    const Desks::Answer said = [&](const OpenStudy& open) { return answer(open, request); };
    const json words = co_await desks.change(&request, name, step, said);
    co_return Response::json(words);
  };
}

Handler shows(Context& context, Desks& desks, std::function<json(const OpenStudy&, const Request&)> answer) {
  return [&context, &desks, answer = std::move(answer)](Request& request) -> Task<Response> {
    const std::string name = request.variable("study");
    const Desks::Answer said = [&](const OpenStudy& open) { return answer(open, request); };
    const json words = co_await desks.look(name, said);
    const json all = co_await with_queue(context, name, words);
    co_return Response::json(all);
  };
}

json trials_page(const OpenStudy& open, const Request& request) {
  const auto trials = open.ledger.history().trials();
  const auto begin =
      static_cast<size_t>(std::clamp<int64_t>(request.integer("after"), 0, static_cast<int64_t>(trials.size())));
  const auto count = static_cast<size_t>(std::clamp<int64_t>(request.integer("limit", kPageMax), 1, kPageMax));
  json words = json::array();
  const size_t end = std::min(trials.size(), begin + count);
  for (size_t i = begin; i < end; ++i) words.push_back(trial_words(open, trials[i]));
  return {{"trials", words}, {"count", trials.size()}, {"after", end < trials.size() ? json(end) : json()}};
}

/// With the run of each trial, where the queue carries them out.
Handler shows_trials(Context& context, Desks& desks) {
  return [&context, &desks](Request& request) -> Task<Response> {
    const std::string name = request.variable("study");
    const Desks::Answer said = [&](const OpenStudy& open) { return trials_page(open, request); };
    json words = co_await desks.look(name, said);
    json& trials = words["trials"];
    const auto jobs = co_await reading(context, [&](Database& database) {
      const int64_t number = catalog::study(database, name).number;
      if (trials.empty()) return std::vector<catalog::StudyJob>();
      const int64_t first = trials.front().at("trial");
      return catalog::study_jobs(database, number, first - 1, static_cast<int64_t>(trials.size()));
    });
    std::map<int64_t, std::string> runs;
    for (const catalog::StudyJob& job : jobs) runs[job.trial] = job.run;
    for (json& trial : trials) {
      const auto run = runs.find(trial.at("trial").get<int64_t>());
      trial["run"] = run == runs.end() ? json() : json(run->second);
    }
    co_return Response::json(words);
  };
}

Handler deletes(Desks& desks) {
  return [&desks](Request& request) -> Task<Response> {
    const std::string name = request.variable("study");
    co_await desks.remove(request, name, request.flag("force"));
    co_return Response::json({{"deleted", name}});
  };
}

Handler asks(Context& context, Desks& desks) {
  return [&context, &desks](Request& request) -> Task<Response> {
    http::check_room(context.data, kWordsBytesMax, context.keep_free);
    const std::string name = request.variable("study"), named = holder_of(request);
    const std::string holder = named.empty() ? random_hex(32) : named;
    const int64_t lasts_ms = lease_ms(request);
    const Desks::Make step = [&](OpenStudy& open) { return ask_step(open, holder, lasts_ms, now_ms()); };
    const Desks::Answer said = [&](const OpenStudy& open) { return ask_answer(open, holder, now_ms()); };
    const json words = co_await desks.change(&request, name, step, said);
    co_return Response::json(words);
  };
}

StudyStep reported(OpenStudy& open, const Request& request) {
  return report_step(open, trial_number(request), holder_of(request), request.integer("step"), request.number("value"),
                     lease_ms(request), now_ms());
}

json report_answer(const OpenStudy& open, const Request& request) {
  const tune::Verdict verdict = open.ledger.verdict(trial_number(request));
  return {{"stop", verdict.stop}, {"reason", verdict.reason}};
}

Told told_of(const Request& request) {
  Told told;
  told.trial = trial_number(request);
  told.state = study::state_named(request.text("state", "complete"));
  told.reason = request.text("reason");
  told.values = request.numbers("values");
  if (request.has("cost") && !((told.cost = request.number("cost")) >= 0))
    throw invalid("a cost is a number of 0 or more");
  if (request.has("value")) told.values.push_back(request.number("value"));
  if (told.reason.size() > kReasonMax) throw invalid(fmt::format("a reason has {} bytes at most", kReasonMax));
  if (told.state == tune::State::kRunning) throw invalid("a trial that runs is not told");
  if (told.state != tune::State::kComplete && !told.values.empty())
    throw invalid(fmt::format("a trial that is {} has no values; report them before", study::to_string(told.state)));
  return told;
}

json journal_page(Database& database, Request& request) {
  const catalog::StudyRecord record = catalog::study(database, request.variable("study"));
  const int64_t after = std::max<int64_t>(0, request.integer("after"));
  const auto lines = catalog::study_lines(database, record.number, after, kLinesMax);
  const int64_t next = after + static_cast<int64_t>(lines.size());
  return {{"study", record.file}, {"lines", lines}, {"after", next < record.lines ? json(next) : json()}};
}

/// Those who look take a tenth of the study's time at most: who asks and tells waits meanwhile.
json drawn(const OpenStudy& open, const Request& request) {
  constexpr int64_t kRest = 9;  // times what it took
  DrawnStudy& drawn = open.drawn;
  const int64_t lines = open.record.lines, begin_ms = now_ms();
  if (!drawn.record || (drawn.lines != lines && begin_ms > drawn.at_ms + kRest * drawn.took_ms)) {
    drawn.record =
        std::make_shared<const json>(study::record_of(open.ledger, open.record.name, {{"user", open.record.user}}));
    drawn.lines = lines, drawn.at_ms = now_ms(), drawn.took_ms = drawn.at_ms - begin_ms;
  }
  const bool known = request.integer("since", -1) == drawn.lines;
  return {{"lines", drawn.lines}, {"record", known ? json() : *drawn.record}};
}

}  // namespace

std::vector<Route> study_routes(Context& context, Desks& desks) {
  using enum Method;
  // What is asked and told is the record itself.
  const Changes of_trial = Changes::recorded(by_variable(kStudyThing, "study"));
  const Reads reads_study = Reads::of(by_variable(kStudyThing, "study"));
  const FieldRule lease{"lease", FieldType::kText, false, "the word that asking answered with; none: whoever has it"};
  const FieldRule seconds{"seconds", FieldType::kInteger, false, "from now until others are given it; 600"};
  const auto get = [&](const char* end, const char* name, const char* summary, std::vector<FieldRule> fields,
                       Handler handler) {
    return showing(reads_study, {kGet, fmt::format("/api/v1/studies/{{study}}{}", end), name, summary, Access::kViewer,
                                 BodyKind::kNone, std::move(fields), std::move(handler)});
  };
  const auto post = [&](const char* end, const char* name, const char* summary, std::vector<FieldRule> fields,
                        Handler handler) {
    return changing(of_trial, {kPost, fmt::format("/api/v1/studies/{{study}}/{}", end), name, summary, Access::kMember,
                               BodyKind::kJson, std::move(fields), std::move(handler), kWordsBytesMax});
  };
  return {
      changing(Changes::made(),
               {kPost,
                "/api/v1/studies",
                "create_study",
                "Makes a study whose trials programs ask for, or goes on with the same one",
                Access::kMember,
                BodyKind::kJson,
                {{"name", FieldType::kText, true, "letters, digits, '.', '_', '-'"},
                 {"study", FieldType::kText, true, "a study's file: search, objective, sampler, pruner, budget, seed"},
                 {"experiment", FieldType::kText, false, "its name; made if there is none; else Default"}},
                creates(context, desks),
                kStudyBytesMax},
               Reads::found()),
      showing(Reads::found(), {kGet,
                               "/api/v1/studies",
                               "list_studies",
                               "Studies that the caller may read, the newest first",
                               Access::kViewer,
                               BodyKind::kNone,
                               {{"user", FieldType::kText, false, "whose"},
                                {"before", FieldType::kInteger, false, "of a former answer: the next page"},
                                {"limit", FieldType::kInteger, false, "at most 1000"}},
                               reads(context, listed)}),
      changing(Changes::of(by_variable(kStudyThing, "study")),
               {kDelete,
                "/api/v1/studies/{study}",
                "delete_study",
                "Deletes a study with all that was asked and told; its name is free then",
                Access::kMember,
                BodyKind::kNone,
                {{"force", FieldType::kBoolean, false, "although programs have trials of it"}},
                deletes(desks)}),
      get("", "get_study", "A study: its file, how many trials are in which state, and the best of them", {},
          shows(context, desks, [](const OpenStudy& open, const Request&) { return study_words(open); })),
      get("/trials", "get_study_trials", "Its trials, in the order in which they were asked for",
          {{"after", FieldType::kInteger, false, "of a former answer: the next page"},
           {"limit", FieldType::kInteger, false, "at most 1000"}},
          shows_trials(context, desks)),
      get("/journal", "get_study_journal", "What was asked and told, line by line, as in a study's folder",
          {{"after", FieldType::kInteger, false, "of a former answer: the next page"}}, reads(context, journal_page)),
      get("/record", "get_study_record",
          "All that its page shows, as new as the time that it takes allows; null where that is nothing new",
          {{"since", FieldType::kInteger, false, "lines of a former answer"}}, shows(context, desks, drawn)),
      post("ask", "ask_study", "The next trial, leased to whoever asks",
           {{"lease", FieldType::kText, false,
             "a word of one's own, by which one is given the same trial if one asks again"},
            seconds},
           asks(context, desks)),
      post("trials/{trial}/renew", "renew_trial", "The trial goes on", {lease, seconds},
           changes(
               desks,
               [](OpenStudy& open, const Request& request) {
                 return renew_step(open, trial_number(request), holder_of(request), lease_ms(request), now_ms());
               },
               [](const OpenStudy&, const Request& request) {
                 return json{{"trial", trial_number(request)}};
               })),
      post("trials/{trial}/report", "report_trial", "An intermediate value of a trial; whether to stop it",
           {{"step", FieldType::kInteger, true, "e.g. epochs that are done"},
            {"value", FieldType::kNumber, true, "of the first objective"},
            lease,
            seconds},
           changes(desks, reported, report_answer)),
      post("trials/{trial}/tell", "tell_trial", "The end of a trial; the same once more is no error",
           {{"value", FieldType::kNumber, false, "of one objective"},
            {"values", FieldType::kNumbers, false, "of several"},
            {"state", FieldType::kText, false, "complete, pruned, failed (it says nothing) or infeasible"},
            {"reason", FieldType::kText, false, "in words"},
            {"cost", FieldType::kNumber, false, "what it took, in the unit of the study's sampler.cost"},
            lease},
           changes(
               desks,
               [](OpenStudy& open, const Request& request) {
                 return tell_step(open, told_of(request), holder_of(request));
               },
               [](const OpenStudy& open, const Request& request) {
                 return trial_words(open, *open.ledger.history().find(trial_number(request)));
               })),
  };
}

}  // namespace linac::service
