#include "linac/model/graph/place.h"

#include <utility>

namespace linac::graph {
namespace {

thread_local Place place_of_thread;

}  // namespace

const Place& current_place() {
  return place_of_thread;
}

AtPlace::AtPlace(const Place& place) : before_(std::exchange(place_of_thread, place)) {}

AtPlace::~AtPlace() {
  place_of_thread = before_;
}

}  // namespace linac::graph
