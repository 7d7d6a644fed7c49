#include "linac/control/service/job_wishes.h"

#include <fmt/format.h>

#include "linac/base/base/refusal.h"

namespace linac::service {
namespace {

constexpr int64_t kPriorityMax = 1000;

}  // namespace

const std::vector<FieldRule>& job_text_fields() {
  static const std::vector<FieldRule> fields = {
      {"file", FieldType::kText, false, "where that text is from, for messages"},
      {"folder", FieldType::kText, false,
       "of the job file, on the service's host; its relative paths are looked for there"},
      {"directory", FieldType::kText, false, "on the service's host; and then there, as are those of set"},
      {"set", FieldType::kTexts, false, "overrides, e.g. train.epochs=5"}};
  return fields;
}

const std::vector<FieldRule>& wish_fields() {
  static const std::vector<FieldRule> fields = {
      {"priority", FieldType::kInteger, false, "larger first; more than 0 is for admins"},
      {"cores", FieldType::kInteger, false, "else workers x threads of the job"},
      {"memory_mb", FieldType::kInteger, false, "0: not said"},
      {"gpus", FieldType::kInteger, false, "else 1 if the job's device is cuda"},
      {"seconds_max", FieldType::kInteger, false, "of running; then it checkpoints and stops"},
      {"cost_max", FieldType::kNumber, false, "by the service's price; then it checkpoints and stops"},
      {"on", FieldType::kText, false,
       "\"pilots\": carried out by agents that ask for work; a site's name (get_sites): there; else by the service's "
       "host"},
      {"tags", FieldType::kTexts, false, "that such an agent must have"}};
  return fields;
}

catalog::Wishes wishes_of(const Request& request) {
  catalog::Wishes wishes;
  wishes.priority = request.integer("priority");
  wishes.resources = {request.integer("cores"), request.integer("memory_mb"), request.integer("gpus")};
  wishes.seconds_max = request.integer("seconds_max");
  wishes.cost_max = request.number("cost_max");
  wishes.place = request.text("on");
  wishes.tags = request.texts("tags");
  if (wishes.priority < -kPriorityMax || wishes.priority > kPriorityMax)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[submit] priorities are from -{} to {}", kPriorityMax, kPriorityMax));
  if (wishes.priority > 0 && request.caller.access != Access::kAdmin)
    throw Refusal(RefusalKind::kDenied, "[submit] a priority above 0 is for admins; leave it at 0 or below");
  return wishes;
}

void need_trust(Context& context, const execution::AttemptSettings& settings, const std::string& user) {
  const std::string why = context.catalog.read_as([&](catalog::Database& database) {
    return execution::why_not_trusted(database, user, settings.account(database, user), settings);
  });
  if (!why.empty()) throw Refusal(RefusalKind::kDenied, "[submit] " + why);
}

}  // namespace linac::service
