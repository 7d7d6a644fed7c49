#include "linac/base/base/terminal_text.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace linac {
namespace {

TEST(TerminalText, WhatSteersIsFound) {
  for (const char* good : {"", "run 1", "Größe ü", "粒子", "π⁰ → γγ"})
    EXPECT_EQ(find_steering(good), std::string_view::npos) << good;
  for (const char* bad : {"a\x1b[2J", "a\nb", "a\rb", "a\x7f", "a\xc2\x9b", "a\xe2\x80\xa8", "a\xe2\x80\xae",
                          "a\xe2\x81\xa6", "a\xd8\x9c"})
    EXPECT_EQ(find_steering(bad), 1u) << one_line(bad);
  EXPECT_EQ(find_steering(std::string_view("a\0", 2)), 1u);
}

TEST(TerminalText, OneLineHasNothingThatSteers) {
  EXPECT_EQ(one_line("done\n  state SUCCEEDED\x1b[1A"), "done?  state SUCCEEDED?[1A");
  EXPECT_EQ(one_line("gr\xc3\xbc\xc3"), "gr\xc3\xbc?");
}

TEST(TerminalText, LinesKeepTheirEnds) {
  EXPECT_EQ(plain_lines("a\tb\r\nc\rd\n"), "a\tb\nc\nd\n");
  EXPECT_EQ(plain_lines("\x1b[1;31mred\x1b[0m \x1b]0;title\x07"), "red ?]0;title?");
}

/// What a terminal gets from a program that prints `pieces`, flushed each.
std::string on_terminal(std::initializer_list<const char*> pieces) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    keep_terminal_plain();
    for (const char* piece : pieces) {
      std::fputs(piece, stdout);
      std::fflush(stdout);
    }
    ::_exit(0);
  }
  std::string text;
  std::array<char, 256> buffer;
  for (ssize_t n; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(n));
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST(TerminalText, StandardOutputOfATerminalIsPlain) {
  EXPECT_EQ(on_terminal({"a\x1b[2J\n", "gr\xc3", "\xbc\n"}), "a?[2J\r\ngr\xc3\xbc\r\n");
}

}  // namespace
}  // namespace linac
