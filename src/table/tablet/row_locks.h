// RowLocks: something about each lock of a row: the primary one, and groups that ever had it.
//
// Promise    A lock that is not there reads as a Lock made without arguments; it is there once it
//            was asked for to be changed.
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
  // Null: not there.
  const Lock* find(std::size_t index) const {
    if (index == 0) return &primary;
    for (const Group& group : groups) {
      if (group.first == index) return &group.second;
    }
    return nullptr;
  }
};

}  // namespace moraine::table
