#include "transaction/open_table.h"

#include <algorithm>

#include "table/model/key.h"

namespace moraine {

std::size_t OpenTable::range_of(ByteSpan key) const {
  if (ranges.size() == 1) return 0;
  const auto after = std::upper_bound(
      ranges.begin() + 1, ranges.end(), key, [](ByteSpan wanted, const OpenRange& range) {
        return table::compare_keys(wanted, as_bytes(range.from)) < 0;
      });
  return static_cast<std::size_t>(after - ranges.begin()) - 1;
}

std::string was_removed(std::string_view path) {
  return fmt::format("table {} was removed; if there is one of that name again, take it anew",
                     path);
}

std::string OpenRange::shown_state() const {
  std::string shown = fmt::format("\"{}\" state", to_string(state));
  if (!error.empty()) shown += fmt::format(" (its last start failed: {})", error);
  return shown;
}

Result<std::shared_ptr<table::TableTablet>> OpenTable::readable(std::size_t range) const {
  const OpenRange& wanted = ranges[range];
  if (wanted.running) return wanted.running;
  if (removed) return fail(Errc::kNotFound, was_removed(path));
  const bool starts =
      wanted.state == MountState::kMounting || wanted.state == MountState::kFrozenMounting;
  return fail(starts ? Errc::kNotHere : Errc::kReadOnly,
              fmt::format("Cannot read from tablet {} of table {} while it is in {}",
                          wanted.tablet.value, path, wanted.shown_state()));
}

TableHolder::TableHolder(std::shared_ptr<const OpenTable> first)
    : owned_(std::move(first)), published_(owned_.get()) {}

TableHolder::~TableHolder() {
  retire([old = std::move(owned_)] {});
}

std::shared_ptr<const OpenTable> TableHolder::hold() const {
  const EpochGuard guard;
  return get().shared_from_this();
}

void TableHolder::publish(std::shared_ptr<const OpenTable> next) {
  published_.store(next.get(), std::memory_order_release);
  retire([old = std::exchange(owned_, std::move(next))] {});
}

}  // namespace moraine
