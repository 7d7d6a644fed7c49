#include "linac/base/base/redactor.h"

#include <fmt/format.h>

#include <algorithm>

namespace linac {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

uint64_t edge(int32_t node, unsigned char byte) {
  return static_cast<uint64_t>(node) << 8 | byte;
}

}  // namespace

Redactor::Redactor(const std::vector<std::pair<std::string, std::string>>& secrets) : Redactor() {
  for (const auto& [name, value] : secrets) {
    const auto secret = static_cast<int32_t>(labels_.size());
    labels_.push_back(fmt::format("[secret {}]", name));
    for (std::string_view rest = value; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      add(trimmed(rest.substr(0, end)), secret);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  link();
}

void Redactor::add(std::string_view value, int32_t secret) {
  if (value.size() < kRedactedMin) return;
  int32_t node = 0;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const auto [at, fresh] = children_.try_emplace(edge(node, byte), static_cast<int32_t>(nodes_.size()));
    nodes_[static_cast<size_t>(node)].goes_on = true;
    if (fresh) {
      nodes_.emplace_back();
      nodes_.back().depth = nodes_[static_cast<size_t>(node)].depth + 1;
    }
    node = at->second;
  }
  Node& last = nodes_[static_cast<size_t>(node)];
  if (last.found == 0) last.secret = secret;
  last.found = last.depth;
}

int32_t Redactor::child(int32_t node, unsigned char byte) const {
  const auto found = children_.find(edge(node, byte));
  return found == children_.end() ? -1 : found->second;
}

int32_t Redactor::next(int32_t node, unsigned char byte) const {
  for (;;) {
    if (const int32_t there = child(node, byte); there >= 0) return there;
    if (node == 0) return 0;
    node = nodes_[static_cast<size_t>(node)].fallback;
  }
}

// Shorter prefixes first, on which longer ones fall back.
void Redactor::link() {
  struct Step {
    int32_t depth, parent, node;
    unsigned char byte;
  };
  std::vector<Step> steps;
  for (const auto& [key, node] : children_)
    steps.push_back({nodes_[static_cast<size_t>(node)].depth, static_cast<int32_t>(key >> 8), node,
                     static_cast<unsigned char>(key & 0xff)});
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.depth < b.depth; });
  for (const Step& step : steps) {
    Node& node = nodes_[static_cast<size_t>(step.node)];
    node.fallback = step.parent == 0 ? 0 : next(nodes_[static_cast<size_t>(step.parent)].fallback, step.byte);
    const Node& shorter = nodes_[static_cast<size_t>(node.fallback)];
    if (node.found == 0 && shorter.found > 0) {
      node.found = shorter.found;
      node.secret = shorter.secret;
    }
  }
}

std::string Redactor::redacted(std::string_view text) const {
  RedactedStream stream(*this);
  std::string told = stream.take(text);
  return told + stream.end();
}

std::string RedactedStream::take(std::string_view piece) {
  if (redactor_.empty()) return std::string(piece);
  size_t at = held_.size();
  held_.append(piece);
  for (; at < held_.size(); ++at) {
    node_ = redactor_.next(node_, static_cast<unsigned char>(held_[at]));
    const Redactor::Node& node = redactor_.nodes_[static_cast<size_t>(node_)];
    if (node.found == 0) continue;
    Found found{at + 1 - static_cast<size_t>(node.found), at + 1, node.secret};
    while (!found_.empty() && found_.back().end > found.begin) {  // they overlap: one
      if (found_.back().begin < found.begin) found.secret = found_.back().secret;
      found.begin = std::min(found.begin, found_.back().begin);
      found_.pop_back();
    }
    found_.push_back(found);
  }
  // Whatever begins a value may still become one, and what overlaps with that belongs to it.
  int32_t begun = node_;
  while (!redactor_.nodes_[static_cast<size_t>(begun)].goes_on)
    begun = redactor_.nodes_[static_cast<size_t>(begun)].fallback;
  size_t until = held_.size() - static_cast<size_t>(redactor_.nodes_[static_cast<size_t>(begun)].depth);
  for (const Found& found : found_)
    if (found.end > until) until = std::min(until, found.begin);
  return told(until);
}

std::string RedactedStream::end() {
  node_ = 0;
  return told(held_.size());
}

std::string RedactedStream::told(size_t until) {
  std::string text;
  size_t from = 0, count = 0;
  for (const Found& found : found_) {
    if (found.end > until) break;
    text.append(held_, from, found.begin - from).append(redactor_.labels_[static_cast<size_t>(found.secret)]);
    from = found.end;
    ++count;
  }
  text.append(held_, from, until - from);
  held_.erase(0, until);
  found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
  for (Found& found : found_) {
    found.begin -= until;
    found.end -= until;
  }
  return text;
}

}  // namespace linac
