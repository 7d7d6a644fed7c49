#include "linac/base/base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

namespace linac {
namespace {

// What a Progress wrote, in a file that vanishes with the test.
class Sheet {
 public:
  Sheet() : file_(std::tmpfile()) {}
  ~Sheet() { std::fclose(file_); }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) all.push_back(static_cast<char>(c));
    return all;
  }

 private:
  std::FILE* file_;
};

struct Clock {
  double now = 100;
  std::function<double()> function() {
    return [this] { return now; };
  }
};

int64_t count(const std::string& text, const std::string& what) {
  int64_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

int64_t columns(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TEST(FormatDuration, ReadsLikeATime) {
  EXPECT_EQ(format_duration(0), "0.0 s");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(59.97), "1 min 00 s");
  EXPECT_EQ(format_duration(185), "3 min 05 s");
  EXPECT_EQ(format_duration(3599.7), "1 h 00 min");
  EXPECT_EQ(format_duration(3725), "1 h 02 min");
  EXPECT_EQ(format_duration(86390), "1 d 00 h");
  EXPECT_EQ(format_duration(51 * 3600), "2 d 03 h");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::nan("")), "?");
}

TEST(Progress, PlainLinesFirstThenRarelyThenLast) {
  Sheet sheet;
  Clock clock;
  Progress progress("train", 100, {.style = Progress::Style::kPlain, .out = sheet.file(), .now_s = clock.function()});
  for (int64_t step = 1; step <= 25; ++step, clock.now += 1) progress.update(step, "step " + std::to_string(step));
  progress.finish("25 steps");
  const std::string text = sheet.text();
  EXPECT_EQ(count(text, "\n"), 4) << text;  // at 0, 10 and 20 s, and the end
  EXPECT_NE(text.find("train   1 %  step 1  0.0 s"), text.npos) << text;
  EXPECT_NE(text.find("step 21"), text.npos) << text;
  EXPECT_NE(text.find("train: 25 steps (25.0 s)\n"), text.npos) << text;
  EXPECT_EQ(text.find('\r'), text.npos) << "no terminal control in a file";
  EXPECT_EQ(text.find('\x1b'), text.npos);
}

TEST(Progress, BarFitsEveryWidth) {
  Sheet sheet;
  Clock clock;
  Progress progress("train", 200, {.style = Progress::Style::kBar, .out = sheet.file(), .now_s = clock.function()});
  clock.now += 30;
  progress.update(50, "epoch 1/3 step 50/75  d 5.31  g 12.2  3.4 showers/s");
  for (int width = 1; width < 200; ++width) EXPECT_LE(columns(progress.line(width)), width) << width;
  const std::string wide = progress.line(140);
  EXPECT_NE(wide.find(" 25 %"), wide.npos) << wide;
  EXPECT_NE(wide.find("3.4 showers/s"), wide.npos) << wide;
  EXPECT_NE(wide.find("30.0 s, 1 min 30 s left"), wide.npos) << wide;
  EXPECT_NE(progress.line(80).find("30.0 s, 1 min 30 s left"), wide.npos) << "the times matter more than the detail";
}

TEST(Progress, RedrawsAtMostTenTimesASecond) {
  Sheet sheet;
  Clock clock;
  Progress progress("x", 1000,
                    {.style = Progress::Style::kBar, .out = sheet.file(), .columns = 80, .now_s = clock.function()});
  for (int64_t step = 1; step <= 1000; ++step, clock.now += 0.001) progress.update(step, "");
  EXPECT_LE(count(sheet.text(), "\r"), 11);
  EXPECT_GE(count(sheet.text(), "\r"), 9);
}

TEST(Progress, TimeLeftFollowsThePaceAndNotWhatAResumeFound) {
  Sheet sheet;
  Clock clock;
  Progress progress("train", 300,
                    {.start = 200, .style = Progress::Style::kBar, .out = sheet.file(), .now_s = clock.function()});
  clock.now += 2;
  progress.update(201, "");
  EXPECT_NE(progress.line(120).find("3 min 18 s left"), std::string::npos) << progress.line(120);
  // Ten times slower from now on: the estimate forgets the fast start.
  for (int64_t done = 202; done < 222; ++done) {
    clock.now += 20;
    progress.update(done, "");
  }
  EXPECT_NE(progress.line(120).find("left"), std::string::npos);
  EXPECT_NE(progress.line(120).find(" 26 min"), std::string::npos) << progress.line(120);
}

TEST(Progress, OtherTextStaysApartFromTheBar) {
  Sheet sheet;
  Clock clock;
  {
    Progress progress("x", 10,
                      {.style = Progress::Style::kBar, .out = sheet.file(), .columns = 60, .now_s = clock.function()});
    progress.update(1, "detail");
    Progress::write_above("a log line\n");
    progress.update(2, "too soon to be drawn");
  }
  const std::string text = sheet.text();
  EXPECT_NE(text.find("\r\x1b[Ka log line\n\r\x1b[Kx "), text.npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "the destructor takes the bar away";
  EXPECT_EQ(text.find("too soon"), text.npos);
}

TEST(Progress, FinishWithoutAMessageLeavesNothing) {
  Sheet sheet;
  Clock clock;
  Progress progress("x", 10, {.style = Progress::Style::kPlain, .out = sheet.file(), .now_s = clock.function()});
  progress.finish("");
  progress.finish("too late");
  progress.update(5, "too late");
  EXPECT_EQ(sheet.text(), "");
}

TEST(Progress, ClearedLineStaysAwayUntilTheNextUpdate) {
  Sheet sheet;
  Clock clock;
  Progress progress("x", 10,
                    {.style = Progress::Style::kBar, .out = sheet.file(), .columns = 60, .now_s = clock.function()});
  progress.update(1, "");
  Progress::clear_line();
  Progress::clear_line();
  EXPECT_EQ(count(sheet.text(), "\r"), 2);
  clock.now += 1;
  progress.update(2, "");
  EXPECT_EQ(count(sheet.text(), "\r"), 3);
}

TEST(Progress, NewestDrawsAlone) {
  Sheet sheet;
  Clock clock;
  const Progress::Options options{
      .style = Progress::Style::kBar, .out = sheet.file(), .columns = 60, .now_s = clock.function()};
  Progress outer("outer", 10, options);
  outer.update(1, "");
  {
    Progress inner("inner", 10, options);
    clock.now += 1;
    outer.update(2, "hidden");
    inner.update(1, "");
    inner.finish("done");
  }
  clock.now += 1;
  outer.update(3, "seen");
  const std::string text = sheet.text();
  EXPECT_EQ(text.find("hidden"), text.npos);
  EXPECT_NE(text.find("inner: done (1.0 s)\n"), text.npos);
  EXPECT_NE(text.find("seen"), text.npos);
}

TEST(Progress, UpdatesAndLogLinesFromManyThreads) {
  Sheet sheet;
  Progress progress("x", 1000, {.style = Progress::Style::kBar, .out = sheet.file(), .columns = 60});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 50; ++i) {
        progress.update(i, "d");
        Progress::write_above("line\n");
      }
    });
  }
  threads.clear();
  progress.finish("done");
  const std::string text = sheet.text();
  EXPECT_EQ(count(text, "line\n"), 200);
  // Every line of text starts at the left edge.
  EXPECT_EQ(count(text, "\x1b[Kline\n") + count(text, "\nline\n") + (text.starts_with("line\n") ? 1 : 0), 200);
}

TEST(Progress, UnknownTotalShowsNoBar) {
  Sheet sheet;
  Progress progress("scan", 0, {.style = Progress::Style::kBar, .out = sheet.file(), .columns = 60});
  progress.update(17, "17 events");
  EXPECT_NE(progress.line(60).find("17 events"), std::string::npos);
  EXPECT_EQ(progress.line(60).find('%'), std::string::npos);
}

}  // namespace
}  // namespace linac
