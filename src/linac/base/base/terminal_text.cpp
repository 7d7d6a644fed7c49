#include "linac/base/base/terminal_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "linac/base/base/utf8.h"

namespace linac {
namespace {

constexpr size_t kLetterBytesMax = 4;

char32_t code_of(std::string_view letter) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(letter[i]); };
  if (letter.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xFFu >> (letter.size() + 1));
  for (size_t i = 1; i < letter.size(); ++i) code = code << 6 | (byte(i) & 0x3Fu);
  return code;
}

bool steers(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0), line = c == 0x2028 || c == 0x2029;
  const bool direction =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || line || direction;
}

/// Bytes of a colour, "ESC [ 1 ; 31 m", at the start of `text`; 0 if there is none.
size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Bytes at the end of `text` of a letter that is not whole yet.
size_t begun_at_end(std::string_view text) {
  for (size_t n = 1; n <= std::min(text.size(), kLetterBytesMax - 1); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return wanted > n ? n : 0;
  }
  return 0;
}

/// What a stream has got of a letter whose other bytes are to come.
struct Terminal {
  std::string rest;
};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

ssize_t write_plain(void* cookie, const char* data, size_t size) {
  auto& terminal = *static_cast<Terminal*>(cookie);
  const std::string text = std::move(terminal.rest) + std::string(data, size);
  const size_t whole = text.size() - begun_at_end(text);
  terminal.rest = text.substr(whole);
  write_all(plain_lines(std::string_view(text).substr(0, whole)));
  return static_cast<ssize_t>(size);
}

}  // namespace

size_t find_steering(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(utf8_length(text.substr(i)), 1);
    if (steers(code_of(text.substr(i, length)))) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string one_line(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const std::string_view letter = text.substr(i, std::max<size_t>(length, 1));
    if (length == 0 || steers(code_of(letter)))
      shown += '?';
    else
      shown += letter;
    i += letter.size();
  }
  return shown;
}

std::string plain_lines(std::string_view text) {
  std::string shown;
  for (size_t from = 0; from < text.size();) {
    const size_t at = std::min(text.find_first_of("\n\t\r\x1b", from), text.size());
    shown += one_line(text.substr(from, at - from));
    from = at;
    if (at == text.size()) break;
    if (const size_t colour = colour_length(text.substr(at)); colour > 0) {
      from += colour;
      continue;
    }
    const char c = text[at];
    const bool ends_with_both = c == '\r' && text.substr(at).starts_with("\r\n");
    if (c == '\x1b')
      shown += '?';
    else if (!ends_with_both)
      shown += c == '\r' ? '\n' : c;
    ++from;
  }
  return shown;
}

void keep_terminal_plain() {
  if (::isatty(STDOUT_FILENO) == 0) return;
  static Terminal& terminal = *new Terminal;  // standard output is flushed when all else is gone
  std::FILE* plain = ::fopencookie(&terminal, "w", {nullptr, write_plain, nullptr, nullptr});
  if (plain == nullptr) return;
  std::setvbuf(plain, nullptr, _IOLBF, BUFSIZ);
  std::fflush(stdout);
  stdout = plain;
}

}  // namespace linac
