#include "linac/control/study/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/study/file_error.h"

namespace linac::study {
namespace {

constexpr const char* kJournal = "journal.jsonl";
constexpr const char* kStudy = "study.yaml";

}  // namespace

/// While it lives nobody else writes, and what others wrote is in the history.
class Journal::Locked {
 public:
  explicit Locked(Journal& journal) : journal_(journal) {
    if (!lock_alone(journal.file_.get(), kForever)) throw cannot(journal.folder_ / kJournal, "locked");
    try {
      journal.refresh();
      // What is left has no end of its line, and nobody is writing it.
      if (::ftruncate(journal.file_.get(), journal.read_) != 0) throw cannot(journal.folder_ / kJournal, "written");
    } catch (...) {
      unlock(journal.file_.get());
      throw;
    }
  }
  ~Locked() { unlock(journal_.file_.get()); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Journal& journal_;
};

Journal::Journal(std::filesystem::path folder, Study study)
    : folder_(std::move(folder)), ledger_(std::move(study), (folder_ / kJournal).string()) {}

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
  Journal journal(folder, study);
  journal.file_ = file_to_write(folder);
  {
    const Locked locked(journal);
    if (journal.ledger_.lines() == 0) journal.append(Ledger::first_line(study));
  }
  if (journal.study().identity() != study.identity())
    throw user_error(
        fmt::format("[study] {}: has another study; what is searched, the objective, sampler, pruner and seed of one "
                    "do not change: choose another --out",
                    folder.string()));
  journal.ledger_.set_study(study);
  write_file_atomically(folder / kStudy, study.to_yaml());
  return journal;
}

Journal Journal::make_given(const std::filesystem::path& folder, const GivenStudy& given) {
  // Whoever comes first; one that was killed has left an empty file, if any.
  const Descriptor lock = file_to_write(folder);
  if (!lock_alone(lock.get(), kForever)) throw cannot(folder / kJournal, "locked");
  struct stat held = {}, there = {};
  const bool mine = ::fstat(lock.get(), &held) == 0 && ::stat((folder / kJournal).c_str(), &there) == 0 &&
                    held.st_dev == there.st_dev && held.st_ino == there.st_ino && held.st_size == 0;
  if (!mine) throw user_error(fmt::format("[study] {}: has a study already; choose another --out", folder.string()));
  write_file_atomically(folder / kStudy, given.study.to_yaml());
  // At once, and last: an import that was killed has made no study.
  std::string text = Ledger::first_line(given.study) + "\n";
  for (const std::string& line : Ledger::given_lines(given)) text += line + "\n";
  write_file_atomically(folder / kJournal, text);
  return open(folder);
}

Journal Journal::open(const std::filesystem::path& folder) {
  const auto path = folder / kJournal;
  Descriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw user_error(fmt::format("[study] {}: is no folder of a study; linac tune STUDY.yaml --out {} makes one",
                                 folder.string(), folder.string()));
  Journal journal(folder, parse_study(read_file(folder / kStudy), (folder / kStudy).string(),
                                      {.job_folder = folder, .working_folder = {}}));
  journal.file_ = std::move(file);
  journal.refresh();
  if (journal.ledger_.lines() == 0)
    throw user_error(fmt::format("[study] {}: nothing has begun there; linac tune begins it", folder.string()));
  return journal;
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
    ledger_.take(text.substr(begin, end - begin));
    read_ += static_cast<int64_t>(end + 1 - begin);
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
  const auto asked = ledger_.ask();
  if (!asked) return std::nullopt;
  append(asked->line);
  return asked->trial;
}

tune::Verdict Journal::report(int64_t trial, int64_t step, double value) {
  const Locked locked(*this);
  append(ledger_.report(trial, step, value));
  return ledger_.verdict(trial);
}

void Journal::tell(int64_t trial, tune::State state, const std::vector<double>& values, const std::string& reason,
                   double cost) {
  const Locked locked(*this);
  append(ledger_.tell(trial, state, values, reason, cost));
}

std::vector<int64_t> Journal::replay() const {
  const std::string text = read_file(folder_ / kJournal);
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return Ledger::replay(study(), lines);
}

}  // namespace linac::study
