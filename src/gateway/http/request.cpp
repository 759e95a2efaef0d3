#include "gateway/http/request.h"

#include <algorithm>

namespace moraine::http {
namespace {

char lower(char one) {
  return one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one;
}

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

const std::string* Fields::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(all_, [&](const auto& one) { return same(one.first, name); });
  return found == all_.end() ? nullptr : &found->second;
}

bool Fields::has_word(std::string_view name, std::string_view word) const {
  for (const auto& [known, value] : all_) {
    if (!same(known, name)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (same(trimmed(rest.substr(0, end)), word)) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return false;
}

Reply text_reply(unsigned status, std::string_view text) {
  Reply reply;
  reply.head.status = status;
  reply.body = Slice::copy_of(as_bytes(text));
  return reply;
}

unsigned status_of(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return 400;
    case Errc::kNotFound: return 404;
    case Errc::kAlreadyExists:
    case Errc::kReadOnly:  // The state of the table does not allow it.
    case Errc::kConflict:
    case Errc::kNotEmpty:
    case Errc::kLockConflict:
    case Errc::kNoTransaction:
    case Errc::kAborted: return 409;
    case Errc::kCorrupt:
    case Errc::kIo:
    case Errc::kUnknownOutcome: return 500;  // No client repeats it by itself.
    case Errc::kUnsupported: return 501;
    case Errc::kOverloaded:
    case Errc::kUnavailable:
    case Errc::kNotHere: return 503;  // Nothing was done.
    case Errc::kTimeout: return 504;  // It may have been done, as with 500.
    case Errc::kNoSpace: return 507;
  }
  return 500;
}

Reply error_reply(const Error& error) {
  Reply reply = text_reply(status_of(error.code), error.message() + "\n");
  if (reply.head.status == 503) reply.head.fields.add("Retry-After", "1");
  return reply;
}

}  // namespace moraine::http
