#pragma once
// Objects as ROOT streams them into a record: each with its class, its length and its version, so that what is not
// known can be passed over; one that was streamed before is named by its place. Not thread-safe.

#include <cstdint>
#include <map>
#include <string>

#include "linac/io/root/bytes.h"

namespace linac::root {

inline constexpr int kObjectsDeepMax = 64;

/// The begin of a versioned part: its version, and where it ends (0: not said).
struct Part {
  uint16_t version = 0;
  size_t end = 0;
};

/// A pointer to an object.
struct Pointer {
  std::string class_name;  // of a new object, which follows; empty for none and for one that was streamed before
  uint64_t place = 0;      // what names the object, new or streamed before; 0: none
  size_t end = 0;          // of a new one
  bool is_new() const { return !class_name.empty(); }
};

class Objects {
 public:
  /// `head` is the length of the record's key: places count from the record's begin.
  Objects(Cursor cursor, uint16_t head) : cursor_(std::move(cursor)), head_(head) {}

  Cursor& cursor() { return cursor_; }
  Part begin();
  /// To the end of a part that says where it is.
  void finish(const Part& part);
  /// A base class or a member that is not needed.
  void pass() { finish(begin()); }
  void object();  // TObject
  /// Name and title of a TNamed.
  std::string named(std::string* title = nullptr);
  Pointer pointer();
  /// The head of a TObjArray: the number of pointers that follow.
  uint32_t array();
  /// One level deeper, or a data error.
  class Level {
   public:
    explicit Level(Objects& objects) : objects_(objects) {
      if (++objects_.depth_ > kObjectsDeepMax) objects_.cursor_.fail("nests objects too deep");
    }
    ~Level() { --objects_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Objects& objects_;
  };

 private:
  Cursor cursor_;
  uint16_t head_;
  int depth_ = 0;
  std::map<uint64_t, std::string> classes_;  // by place
};

}  // namespace linac::root
