// Options of tables by their YTsaurus names.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "scheme/table_record.h"

namespace moraine {
namespace {

using Milliseconds = std::chrono::milliseconds;

struct Option {
  std::function<std::string(const TableOptions&)> get;
  std::function<bool(TableOptions&, std::string_view)> set;  // False: an invalid value.
};

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

template <class Get>
Option number(Get field) {
  return {[field](const TableOptions& options) {
            return fmt::format("{}", field(const_cast<TableOptions&>(options)));
          },
          [field](TableOptions& options, std::string_view text) {
            return parse_number(text, field(options));
          }};
}

template <class Get>
Option flag(Get field) {
  return {[field](const TableOptions& options) {
            return std::string(field(const_cast<TableOptions&>(options)) ? "true" : "false");
          },
          [field](TableOptions& options, std::string_view text) {
            if (text != "true" && text != "false") return false;
            field(options) = text == "true";
            return true;
          }};
}

template <class Get>
Option milliseconds(Get field) {
  return {[field](const TableOptions& options) {
            return fmt::format("{}", field(const_cast<TableOptions&>(options)).count());
          },
          [field](TableOptions& options, std::string_view text) {
            Milliseconds::rep count = 0;
            if (!parse_number(text, count) || count < 0) return false;
            field(options) = Milliseconds(count);
            return true;
          }};
}

template <class Get>
Option choice(Get field, std::vector<std::string> names) {
  return {[field, names](const TableOptions& options) {
            const auto chosen = static_cast<std::size_t>(field(const_cast<TableOptions&>(options)));
            return chosen < names.size() ? names[chosen] : std::to_string(chosen);
          },
          [field, names](TableOptions& options, std::string_view text) {
            const auto found = std::ranges::find(names, text);
            if (found == names.end()) return false;
            using Enum = std::remove_reference_t<decltype(field(options))>;
            field(options) = static_cast<Enum>(found - names.begin());
            return true;
          }};
}

Option auto_compaction_period() {
  return {[](const TableOptions& options) {
            const auto& period = options.mount.auto_compaction_period;
            return period ? fmt::format("{}", period->count()) : std::string("#");
          },
          [](TableOptions& options, std::string_view text) {
            auto& period = options.mount.auto_compaction_period;
            if (text == "#") {
              period.reset();
              return true;
            }
            Milliseconds::rep count = 0;
            if (!parse_number(text, count) || count <= 0) return false;
            period = Milliseconds(count);
            return true;
          }};
}

#define FIELD(name) [](TableOptions& o) -> auto& { return o.name; }

std::map<std::string, Option, std::less<>> make_options() {
  return {
      {"optimize_for", choice(FIELD(optimize_for), {"lookup", "scan"})},
      {"atomicity", choice(FIELD(atomicity), {"full", "none"})},
      {"in_memory_mode", choice(FIELD(in_memory_mode), {"none", "compressed", "uncompressed"})},
      {"compression_codec",
       {[](const TableOptions& o) { return o.compression_codec; },
        [](TableOptions& o, std::string_view text) {
          if (!table::parse_codec(text)) return false;
          o.compression_codec = text;
          return true;
        }}},
      {"block_size", number(FIELD(block_size))},
      {"key_filter", flag(FIELD(key_filter))},
      {"min_data_versions", number(FIELD(mount.min_data_versions))},
      {"max_data_versions", number(FIELD(mount.max_data_versions))},
      {"min_data_ttl", milliseconds(FIELD(mount.min_data_ttl))},
      {"max_data_ttl", milliseconds(FIELD(mount.max_data_ttl))},
      {"auto_compaction_period", auto_compaction_period()},
      {"forced_compaction_revision", number(FIELD(mount.forced_compaction_revision))},
      {"lookup_cache_rows_ratio", number(FIELD(mount.lookup_cache_rows_ratio))},
      {"lookup_cache_rows_per_tablet", number(FIELD(mount.lookup_cache_rows_per_tablet))},
      {"enable_lookup_cache_by_default", flag(FIELD(mount.enable_lookup_cache_by_default))},
      {"enable_key_filter_for_lookup", flag(FIELD(mount.enable_key_filter_for_lookup))},
      {"max_dynamic_store_row_count", number(FIELD(mount.max_dynamic_store_row_count))},
      {"max_dynamic_store_bytes", number(FIELD(mount.max_dynamic_store_bytes))},
      {"dynamic_store_auto_flush_period",
       milliseconds(FIELD(mount.dynamic_store_auto_flush_period))},
      {"merge_rows_on_flush", flag(FIELD(mount.merge_rows_on_flush))},
      {"enable_compaction_and_partitioning", flag(FIELD(mount.enable_compaction_and_partitioning))},
      {"min_partition_data_size", number(FIELD(mount.min_partition_data_size))},
      {"desired_partition_data_size", number(FIELD(mount.desired_partition_data_size))},
      {"max_partition_data_size", number(FIELD(mount.max_partition_data_size))},
  };
}

#undef FIELD

// Attributes of YTsaurus that have no effect here, and why.
const std::map<std::string, std::string, std::less<>>& unsupported() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"backing_store_retention_time",
       "a memory store is released when it was flushed; conflicts are tracked separately"},
  };
  return names;
}

const std::map<std::string, Option, std::less<>>& all_options() {
  static const auto options = make_options();
  return options;
}

}  // namespace

std::map<std::string, std::string> to_attributes(const TableOptions& options) {
  std::map<std::string, std::string> named;
  for (const auto& [name, option] : all_options()) named.emplace(name, option.get(options));
  return named;
}

Result<void> set_attributes(TableOptions& options,
                            const std::map<std::string, std::string>& named) {
  TableOptions changed = options;
  for (const auto& [name, value] : named) {
    if (const auto why = unsupported().find(name); why != unsupported().end()) {
      return fail(Errc::kUnsupported,
                  fmt::format("attribute \"{}\" is not supported: {}", name, why->second));
    }
    const auto found = all_options().find(name);
    if (found == all_options().end()) {
      return fail(Errc::kInvalidArgument, fmt::format("a table has no attribute \"{}\"", name));
    }
    if (!found->second.set(changed, value)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("attribute \"{}\" cannot be \"{}\"", name, value));
    }
  }
  options = std::move(changed);
  return {};
}

}  // namespace moraine
