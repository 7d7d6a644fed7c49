#include "linac/train/comm/parcels.h"

#include <algorithm>
#include <type_traits>

namespace linac::comm {
namespace {

template <class Piece>
size_t floats_of(const std::vector<Piece>& pieces) {
  size_t floats = 0;
  for (const auto& piece : pieces) floats += piece.size();
  return floats;
}

// Whether a message can be sent from, or received at, the place of its data.
template <class Number, class Piece>
bool stays(const std::vector<Piece>& pieces) {
  return std::is_same_v<Number, float> && pieces.size() == 1;
}

template <class Number, class Parcels>
size_t packed_floats(const Parcels& parcels) {
  size_t floats = 0;
  for (const auto& [rank, pieces] : parcels) floats += stays<Number>(pieces) ? 0 : floats_of(pieces);
  return floats;
}

}  // namespace

void Parcels::send(int to, std::span<const float> piece) {
  if (!piece.empty()) out_[to].push_back(piece);
}

void Parcels::receive(int from, std::span<float> piece) {
  if (!piece.empty()) in_[from].push_back(piece);
}

void Parcels::exchange(Group& group, Exchange how, int tag) {
  how == Exchange::kFloat ? carry<float>(group, tag) : carry<uint16_t>(group, tag);
  out_.clear();
  in_.clear();
}

template <class Number>
void Parcels::carry(Group& group, int tag) {
  constexpr bool kNarrow = !std::is_same_v<Number, float>;
  std::vector<Number>*packed_out = nullptr, *packed_in = nullptr;
  if constexpr (kNarrow) {
    packed_out = &narrow_out_;
    packed_in = &narrow_in_;
  } else {
    packed_out = &packed_out_;
    packed_in = &packed_in_;
  }
  packed_out->resize(packed_floats<Number>(out_));
  packed_in->resize(packed_floats<Number>(in_));

  std::vector<Group::Outward> sends;
  auto* to = packed_out->data();
  for (const auto& [rank, pieces] : out_) {
    if (stays<Number>(pieces)) {
      sends.push_back({rank, std::as_bytes(pieces[0])});
      continue;
    }
    auto* const begin = to;
    for (const auto& piece : pieces) {
      if constexpr (kNarrow)
        to = std::transform(piece.begin(), piece.end(), to, to_bfloat16);
      else
        to = std::copy(piece.begin(), piece.end(), to);
    }
    sends.push_back({rank, std::as_bytes(std::span(begin, to))});
  }

  std::vector<Group::Inward> receives;
  auto* place = packed_in->data();
  for (const auto& [rank, pieces] : in_) {
    if (stays<Number>(pieces)) {
      receives.push_back({rank, std::as_writable_bytes(pieces[0])});
      continue;
    }
    receives.push_back({rank, std::as_writable_bytes(std::span(place, floats_of(pieces)))});
    place += floats_of(pieces);
  }
  group.exchange(sends, receives, tag);

  const auto* from = packed_in->data();
  for (const auto& [rank, pieces] : in_) {
    if (stays<Number>(pieces)) continue;
    for (const auto& piece : pieces) {
      if constexpr (kNarrow)
        std::transform(from, from + piece.size(), piece.begin(), from_bfloat16);
      else
        std::copy_n(from, piece.size(), piece.begin());
      from += piece.size();
    }
  }
}

}  // namespace linac::comm
