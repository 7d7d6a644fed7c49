#include "linac/train/train/record/record_fence.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

namespace fs = std::filesystem;

// ".linac-writer-CLAIM-000004"
constexpr std::string_view kMark = ".linac-writer-";

std::optional<int64_t> view_of(std::string_view name, std::string_view claim) {
  if (!name.starts_with(kMark)) return std::nullopt;
  name.remove_prefix(kMark.size());
  if (!name.starts_with(claim) || !name.substr(claim.size()).starts_with('-')) return std::nullopt;
  name.remove_prefix(claim.size() + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

// Views have a way of their own to be written down, and so has the key.
RecordFence::RecordFence(fs::path folder, std::string claim)
    : folder_(std::move(folder)),
      claimed_before_(!claim.empty()),
      claim_(std::move(claim)),
      files_(folder_, {"views", "private"}, [this] { check(); }) {}

void RecordFence::share(const std::string& claim) {
  const std::scoped_lock lock(mutex_);
  claim_ = claim;
}

fs::path RecordFence::mark_of(int64_t view) const {
  return folder_ / fmt::format("{}{}-{:06}", kMark, claim_, view);
}

bool RecordFence::enter(int64_t view, First first) {
  if (first == First::kYes && !claimed_before_ && storage::local_claim_of(folder_).token != claim_) {
    own_ = std::make_unique<storage::LocalClaim>(folder_, storage::TakeOver::kIfLeft, claim_);
    remove_writers_marks(folder_);
  } else if (!own_ && !held_) {
    // Its holder may have ended meanwhile, and the run goes on.
    held_ = storage::hold_local_claim(folder_, claim_);
  }
  int64_t before = 0;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(view_, view);
  }
  check();
  const fs::path mark = mark_of(view);
  const Descriptor made(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!made)
    throw environment_error(fmt::format("[run] {}: cannot be created ({}); check space and permissions", mark.string(),
                                        std::strerror(errno)));
  check();
  files_.begin(fmt::format("{}-{}", claim_, view));
  const Marks marks = look(before, view);
  remove_marks_before(view);
  return marks.others_since;
}

void RecordFence::check() const {
  const storage::ClaimHolder holder = storage::local_claim_of(folder_);
  std::string mine;
  int64_t view = -1;
  {
    const std::scoped_lock lock(mutex_);
    mine = claim_;
    view = view_;
  }
  if (!holder.token.empty() && holder.token != mine)
    throw user_error(storage::taken_over_words(folder_.string(), holder.words()));
  if (view >= 0 && holder.token.empty()) need_run();
  if (const int64_t last = look(view, view).last; last > view)
    throw Error(ErrorCode::kPeerLost, fmt::format("[run] {}: another worker writes the record since view {}, this one "
                                                  "had to in view {}",
                                                  folder_.string(), last, view));
}

// Claim and job are there from the first writer on. What is written where they are not would begin a record in its
// midst.
void RecordFence::need_run() const {
  std::error_code unknown;
  for (const char* file : {storage::kLocalClaimName, "job.yaml"})
    if (fs::exists(folder_ / file, unknown) || unknown) return;
  throw environment_error(removed_words(folder_.string()));
}

RecordFence::Marks RecordFence::look(int64_t since, int64_t now) const {
  Marks marks;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const auto view = view_of(entry.path().filename().string(), claim_);
    if (!view) continue;
    marks.last = std::max(marks.last, *view);
    marks.others_since = marks.others_since || (*view > since && *view < now);
  }
  return marks;
}

void RecordFence::remove_marks_before(int64_t view) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const auto number = view_of(entry.path().filename().string(), claim_);
    if (number && *number < view) fs::remove(entry.path(), ignored);
  }
}

std::string removed_words(const std::string& folder, std::optional<int64_t> step) {
  return fmt::format(
      "[run] {}: the folder was removed under the run, or its disk is gone. What was recorded there{} is lost unless "
      "it "
      "comes back; start the run again with another --out",
      folder, step ? fmt::format(" until step {}", *step) : "");
}

void remove_writers_marks(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(kMark)) fs::remove(entry.path(), ignored);
}

}  // namespace linac::train
