// RowLocks: a value for each lock of a row: the primary one, and the groups that ever needed one.
//
// Promise    A lock without an entry reads as a default-constructed Lock; the non-const lock()
//            creates the entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace moraine::table {

template <class Lock>
struct RowLocks {
  using Group = std::pair<std::uint8_t, Lock>;

  Lock primary;
  std::vector<Group> groups;

  const Lock& lock(std::size_t index) const {
    static const Lock kNone;
    const Lock* found = find(index);
    return found == nullptr ? kNone : *found;
  }
  Lock& lock(std::size_t index) {
    if (const Lock* found = find(index)) return const_cast<Lock&>(*found);
    return groups.emplace_back(static_cast<std::uint8_t>(index), Lock()).second;
  }

 private:
  // Null: no entry.
  const Lock* find(std::size_t index) const {
    if (index == 0) return &primary;
    for (const Group& group : groups) {
      if (group.first == index) return &group.second;
    }
    return nullptr;
  }
};

}  // namespace moraine::table
