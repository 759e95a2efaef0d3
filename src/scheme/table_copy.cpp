#include "scheme/table_copy.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine {
namespace {

bool all_in(const TableRecord& record, std::initializer_list<MountState> states) {
  return std::ranges::all_of(record.tablets, [&](const TabletOfTable& tablet) {
    return std::ranges::find(states, tablet.state) != states.end();
  });
}

// In the groups of the tablet that it is made of.
TabletInfo next_to(const TabletInfo& known, TabletId id) {
  return TabletInfo::simple(id, known.latest_group(kFirstDataChannel), known.channels.size());
}

}  // namespace

Result<void> check_copyable(const TableRecord& record, std::string_view path) {
  if (!record.dynamic || all_in(record, {MountState::kUnmounted, MountState::kFrozen})) return {};
  return fail(Errc::kReadOnly,
              fmt::format("Cannot copy dynamic table {} since not all tablets are in \"unmounted\" "
                          "or \"frozen\" state",
                          path));
}

Result<void> check_movable(const TableRecord& record, std::string_view path) {
  if (!record.dynamic || all_in(record, {MountState::kUnmounted})) return {};
  return fail(
      Errc::kReadOnly,
      fmt::format("Cannot move dynamic table {} since not all tablets are unmounted", path));
}

Result<TableCopy> copy_table(const TableRecord& source, std::string_view path, TabletId first) {
  TRY_VOID(check_copyable(source, path));
  TableCopy made;
  made.copy = source;
  TableRecord after = source;
  const auto next_id = [&] { return TabletId{first.value + made.tablets++}; };
  for (std::size_t i = 0; i < source.tablets.size(); ++i) {
    const TabletOfTable& known = source.tablets[i];
    TabletOfTable& copied = made.copy.tablets[i];
    copied.info = next_to(known.info, next_id());
    copied.state = source.dynamic ? MountState::kUnmounted : MountState::kFrozen;
    if (source.dynamic && !known.parents.empty()) continue;  // Its rows are those of the parents.
    if (!known.parents.empty()) {
      return fail(Errc::kUnavailable,
                  fmt::format("Cannot copy table {} since it is still starting; retry", path));
    }
    copied.parents = {known.info.id};
    after.tablets[i].parents = {known.info.id};
    after.tablets[i].info = next_to(known.info, next_id());
    after.retired.push_back(known.info);
  }
  const bool changed = after.retired.size() != source.retired.size();
  made.copy.retired = after.retired;
  if (changed) made.source = std::move(after);
  return made;
}

}  // namespace moraine
