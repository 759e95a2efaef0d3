#include "scheme/path.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine {
namespace {

bool allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// "%2F": two upper-case hex digits of a byte that is not allowed as itself, or of a dot.
bool escape_at(std::string_view name, std::size_t at) {
  const auto digit = [&](std::size_t i) {
    const char c = i < name.size() ? name[i] : ' ';
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  const int high = digit(at + 1);
  const int low = digit(at + 2);
  if (high < 0 || low < 0) return false;
  const char byte = static_cast<char>(high * 16 + low);
  return byte == '.' ? name == "%2E" || name == "%2E%2E" : !allowed(byte);
}

}  // namespace

Result<void> check_name(std::string_view name) {
  if (name.empty()) return fail(Errc::kInvalidArgument, "an empty name");
  if (name == "." || name == "..") {
    return fail(Errc::kInvalidArgument, fmt::format("'{}' is no name", name));
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (allowed(name[i])) continue;
    if (name[i] == '%' && escape_at(name, i)) {
      i += 2;
      continue;
    }
    return fail(Errc::kInvalidArgument,
                fmt::format("'{}': names have letters, digits, '.', '_' and '-'", name));
  }
  return {};
}

Result<void> check_stored_path(std::string_view path) {
  if (!is_hidden(path)) return check_path(path);
  for (const char c : path.substr(1)) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-') continue;
    return fail(Errc::kInvalidArgument, fmt::format("'{}' is no path", path));
  }
  return {};
}

Result<void> check_path(std::string_view path) {
  if (path.empty()) return fail(Errc::kInvalidArgument, "an empty name");
  if (path.size() > kPathBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a path of {} bytes, more than {}", path.size(), kPathBytesMax));
  }
  const std::vector<std::string_view> names = names_of(path);
  if (names.size() > kPathNamesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a path of {} names, more than {}", names.size(), kPathNamesMax));
  }
  for (const std::string_view name : names) {
    TRY_VOID(check_name(name));
  }
  return {};
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t slash = path.find('/');
    names.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return names;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace moraine
