#include "linac/control/sites/shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "linac/base/base/child_process.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/base/shell_word.h"

namespace linac::sites {
namespace {

constexpr size_t kSaidMax = 64 << 20;

Error failed(const std::string& problem) {
  return environment_error(fmt::format("[sites] {}; is it installed?", problem));
}

Error failed(const std::string& program, const char* call, int code) {
  return failed(ProcessStart{.process = {}, .name = program, .failed = call, .error = code}.problem());
}

// Both ends close by themselves in other processes that are started.
std::array<Descriptor, 2> channel(const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw failed(program, "socketpair", errno);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A process with its three streams; killed if it is still there at the end.
class Child {
 public:
  explicit Child(const std::vector<std::string>& words) {
    auto in = channel(words[0]), out = channel(words[0]), errors = channel(words[0]);
    ProcessStart start = start_program(
        {.words = words},
        {.in = in[1].get(), .out = out[1].get(), .errors = errors[1].get(), .others = ChildSettings::Others::kKept});
    if (!start) throw failed(start.problem());
    process_ = std::move(start.process);
    in_ = std::move(in[0]);
    out_ = std::move(out[0]);
    errors_ = std::move(errors[0]);
    for (const Descriptor* end : {&in_, &out_, &errors_}) fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }

  void tell(std::string_view& text) {
    const ssize_t sent = send(in_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) text.remove_prefix(static_cast<size_t>(sent));
    if (text.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR)) in_.reset();
  }
  static void hear(Descriptor& from, std::string& into) {
    std::array<char, 65536> piece;
    const ssize_t got = read(from.get(), piece.data(), piece.size());
    if (got > 0) into.append(piece.data(), static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) from.reset();
  }
  // Nothing while it goes on.
  bool ended(int& status) {
    const auto end = process_.ended();
    if (end) status = end->status();
    return end.has_value();
  }

  Descriptor in_, out_, errors_;

 private:
  ChildProcess process_;
};

std::string trimmed(const std::string& text) {
  constexpr size_t kShown = 2000;
  const size_t end = text.find_last_not_of(" \r\n");
  const std::string whole = end == std::string::npos ? "" : text.substr(0, end + 1);
  return whole.size() > kShown ? "..." + whole.substr(whole.size() - kShown) : whole;
}

}  // namespace

std::vector<std::string> ShellAnswer::said(const std::string& key) const {
  const std::string mark = "linac: " + key;
  std::vector<std::string> found;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line == mark) found.emplace_back();
    if (line.starts_with(mark + " ")) found.push_back(line.substr(mark.size() + 1));
  }
  return found;
}

std::string ShellAnswer::last(const std::string& key) const {
  const auto all = said(key);
  return all.empty() ? "" : all.back();
}

Shell::Shell(const std::vector<std::string>& ssh, const std::string& host) : words_(ssh), name_(host) {
  words_.insert(words_.end(), {"-T", host, "sh -s"});
}

std::string Shell::command() const {
  std::string line;
  for (const std::string& word : words_) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

ShellAnswer Shell::run(const std::string& script, std::chrono::seconds patience) const {
  return converse(script, patience, nullptr);
}

ShellAnswer Shell::converse(const std::string& script, std::chrono::seconds patience,
                            const std::function<void(std::string_view)>& take) const {
  using Clock = std::chrono::steady_clock;
  // What is printed before this word is not of the script: greetings of the place, and nobody can guess it.
  const std::string mark = "linac begins " + random_hex(32) + "\n";
  const std::string whole = "linac_main() {\necho " + mark + script + "\n}\nlinac_main </dev/null\n";
  std::string_view left = whole;
  ShellAnswer answer;
  Child child(words_);
  auto until = Clock::now() + patience;
  bool over = false;
  const auto begin = [&] {
    const size_t at = answer.out.find(mark);
    answer.began = at != std::string::npos;
    if (answer.began) answer.out.erase(0, at + mark.size());
  };
  const auto hand_on = [&] {
    if (!take || answer.out.empty()) return;
    if (!answer.began) begin();
    if (!answer.began) return;
    take(answer.out);
    answer.out.clear();
    until = Clock::now() + patience;
  };
  while (child.out_ || child.errors_) {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (time <= 0) {
      throw environment_error(fmt::format("[sites] {}: no answer within {} s{}", name_, patience.count(),
                                          answer.errors.empty() ? "" : "; it says: " + trimmed(answer.errors)));
    }
    // poll() passes by descriptors that are closed (-1).
    std::array<pollfd, 3> ends{pollfd{child.in_.get(), POLLOUT, 0}, pollfd{child.out_.get(), POLLIN, 0},
                               pollfd{child.errors_.get(), POLLIN, 0}};
    constexpr long kLookMs = 200;
    const int ready = poll(ends.data(), ends.size(), over ? 0 : static_cast<int>(std::min<long>(time, kLookMs)));
    if (ready < 0 && errno != EINTR) throw failed(words_[0], "poll", errno);
    if (ready == 0) {
      // What it has left in the background may hold its streams for hours: ssh does, where connections are shared.
      if (over) break;
      over = child.ended(answer.status);
    }
    if (ready <= 0) continue;
    if (ends[0].revents != 0) child.tell(left);
    if (ends[1].revents != 0) Child::hear(child.out_, answer.out);
    hand_on();
    if (ends[2].revents != 0) Child::hear(child.errors_, answer.errors);
    if (answer.out.size() + answer.errors.size() > kSaidMax)
      throw environment_error(fmt::format("[sites] {}: it says more than {} MiB", name_, kSaidMax >> 20));
  }
  while (!over && !child.ended(answer.status)) {
    if (Clock::now() > until)
      throw environment_error(fmt::format("[sites] {}: no end within {} s", name_, patience.count()));
    usleep(1000);
  }
  if (!answer.began) begin();
  return answer;
}

ShellAnswer Shell::need(const std::string& what, const std::string& script) const {
  ShellAnswer answer = run(script);
  need_good(what, answer);
  return answer;
}

void Shell::stream(const std::string& what, const std::string& script,
                   const std::function<void(std::string_view)>& take, std::chrono::seconds patience) const {
  need_good(what, converse(script, patience, take));
}

void Shell::need_good(const std::string& what, const ShellAnswer& answer) const {
  if (answer.status != 0 || !answer.began) {
    constexpr int kSshFailed = 255;
    std::string words = trimmed(answer.errors);
    if (words.empty() && !answer.began) words = trimmed(answer.out);  // "This account is currently not available."
    if (words.empty())
      words = answer.status == 0 ? "it ends without having run anything" : fmt::format("exit status {}", answer.status);
    throw environment_error(fmt::format("[sites] {}: {} ({}); {}", name_, what, words,
                                        answer.status == kSshFailed || !answer.began
                                            ? "does `" + command() + "` work in a terminal?"
                                            : "`linac sites check` looks at it"));
  }
}

void Shell::send(const std::string& what, const std::string& script, const std::string& file) const {
  constexpr auto kPatience = std::chrono::hours(24);
  std::string line;
  for (const std::string& word : words_)
    if (&word != &words_.back()) line += shell_word(word) + " ";  // "sh -s", which would read the file
  line += shell_word("exec sh -c " + shell_word(script)) + " < " + shell_word(file);
  const ShellAnswer answer = Shell().run(line, kPatience);
  need_good(what, answer);
}

// Programs pass it on as it comes: it may be larger than the memory.
void Shell::unpack(const std::string& what, const std::string& script, const std::string& folder) const {
  constexpr auto kPatience = std::chrono::hours(24);
  const std::string mark = "linac begins " + random_hex(32);
  const std::string there = "linac_main() {\necho; echo " + mark + "\n" + script + "\n}\nlinac_main </dev/null\n";
  const std::string here = "mkdir -p " + shell_word(folder) + " && printf %s " + shell_word(there) + " | " + command() +
                           " | LC_ALL=C sed " + shell_word("1,/^" + mark + "$/d") +
                           " | tar -xf - --no-same-owner --no-same-permissions -C " + shell_word(folder);
  const ShellAnswer answer = Shell().run(here, kPatience);
  if (answer.status != 0 || !answer.began)
    throw environment_error(fmt::format("[sites] {}: {} ({}); does `{}` work in a terminal?", name_, what,
                                        trimmed(answer.errors), command()));
}

}  // namespace linac::sites
