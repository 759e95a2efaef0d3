#include "client/table_errors.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "client/table_attributes.h"

namespace moraine::client {
namespace {

using Text = std::optional<std::string_view>;

// What follows `before`, up to the next `after`.
Text between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const std::size_t end = text.find(after);
  return end == text.npos ? std::nullopt : Text(text.substr(0, end));
}

// The digits, or hexadecimal digits, that follow `before`.
Text word_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto end = std::ranges::find_if_not(text, is_part);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  return word.empty() ? std::nullopt : Text(word);
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view before) {
  const Text word = word_after(text, before);
  std::uint64_t number = 0;
  if (!word) return std::nullopt;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

constexpr std::string_view kConflict = "row lock conflict: row ";
constexpr std::string_view kHeld[] = {": a write", ": an exclusive lock", ": a shared write",
                                      ": a shared lock", ": a strong shared lock"};

// "TABLE: row lock conflict: row KEY: a write of lock group "x" by transaction A was committed at
// N; transaction B began at M" (table/tablet/write/lock_table.cpp).
void add_conflict(std::string_view text, std::size_t at, YsonMap& attributes) {
  std::string_view rest = text.substr(at + kConflict.size());
  // The key is the user's text: what follows it is looked for from the end.
  std::size_t held = rest.npos;
  for (const std::string_view form : kHeld) {
    const std::size_t found = rest.rfind(form);
    if (found != rest.npos && (held == rest.npos || found > held)) held = found;
  }
  if (held == rest.npos) return;
  attributes.set("key", rest.substr(0, held));
  rest.remove_prefix(held);
  const Text group = between(rest, " of lock group \"", "\" by transaction ");
  attributes.set("lock", group.value_or("<primary>"));
  if (const Text winner = word_after(rest, " by transaction ")) {
    attributes.set("winner_transaction_id", *winner);
  }
  if (const auto commit = number_after(rest, " was committed at ")) {
    attributes.set("winner_transaction_commit_timestamp", *commit);
  }
  if (const Text loser = word_after(rest, "; transaction ")) {
    attributes.set("loser_transaction_id", *loser);
  }
}

// "Cannot read from tablet N of table T while it is in "S" state", and the like.
void add_tablet(std::string_view text, YsonMap& attributes) {
  auto tablet = number_after(text, "ablet ");
  if (!tablet) return;
  attributes.set("tablet_id", to_text(tablet_object_id(TabletId{*tablet})));
  for (const std::string_view after : {" while ", " is in ", " in \"", " since "}) {
    if (const Text path = between(text, " of table ", after)) {
      attributes.set("table_path", *path);
      break;
    }
  }
  const bool unmounted = text.find("\"unmounted\" state") != text.npos;
  if (text.find("\" state") != text.npos) attributes.set("is_tablet_unmounted", unmounted);
}

}  // namespace

YsonMap table_error_attributes(const Error& error) {
  YsonMap attributes;
  const std::string_view text = error.context;
  if (error.code == Errc::kAborted) {
    const std::size_t at = text.find(kConflict);
    if (at != text.npos) add_conflict(text, at, attributes);
  } else if (error.code == Errc::kReadOnly || error.code == Errc::kNotHere) {
    add_tablet(text, attributes);
  }
  return attributes;
}

}  // namespace moraine::client
