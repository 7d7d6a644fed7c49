#include "linac/base/base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "linac/base/base/progress.h"
#include "linac/base/base/terminal_text.h"

namespace linac::log {
namespace {

// Others' words are in it: what follows a line end is set in, so that no line of theirs looks like one of ours.
std::string readable(std::string_view line) {
  std::string text = plain_lines(line.substr(0, line.size() - 1));
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
  return text + "\n";
}

// Writes to standard error above the progress bar, and to the run's log file.
class TerminalSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string text = readable({line.data(), line.size()});
    Progress::write_above(text);
    // One write call on a descriptor opened for appending: lines of several processes do not tear.
    if (file_ >= 0 && ::write(file_, text.data(), text.size()) < 0) file_ = -1;
  }
  void flush_() override { std::fflush(stderr); }

 public:
  void open(const std::filesystem::path& path) {
    const std::lock_guard lock(mutex_);
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }

 private:
  int file_ = -1;
};

std::shared_ptr<TerminalSink> sink() {
  static const auto instance = std::make_shared<TerminalSink>();
  return instance;
}

void set_pattern(spdlog::logger& logger, const std::string& tag) {
  logger.set_pattern(tag.empty() ? "%H:%M:%S %^%L%$ %v" : "%H:%M:%S %^%L%$ [" + tag + "] %v");
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("linac", sink());
    set_pattern(*made, "");
    const char* level = std::getenv("LINAC_LOG_LEVEL");
    made->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::info);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_tag(std::string tag) {
  set_pattern(logger(), tag);
}
void set_file(const std::filesystem::path& path) {
  sink()->open(path);
}
void debug(std::string_view message) {
  logger().debug("{}", message);
}
void info(std::string_view message) {
  logger().info("{}", message);
}
void warn(std::string_view message) {
  logger().warn("{}", message);
}
void error(std::string_view message) {
  logger().error("{}", message);
}

}  // namespace linac::log
