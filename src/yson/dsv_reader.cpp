#include "yson/dsv_reader.h"

#include <fmt/format.h>

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

char unescaped(char c) {
  switch (c) {
    case '0': return '\0';
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return c;
  }
}

}  // namespace

void DsvSource::feed(std::string_view piece) {
  piece_ = at_ = piece.data();
  end_ = piece.data() + piece.size();
}

bool DsvSource::fail(std::string_view what) {
  failed_ = true;
  error_ = {Errc::kInvalidArgument,
            fmt::format("dsv: {} in row {} at byte {}", what, row_,
                        piece_offset_ + static_cast<std::size_t>(at_ - piece_))};
  return false;
}

YsonStep DsvSource::next(YsonEvent& event) {
  if (failed_) return YsonStep::kError;
  while (returned_ == added_) {
    if (field_ended_) field_.clear();
    field_ended_ = false;
    added_ = returned_ = 0;
    if (!scan()) return failed_ ? YsonStep::kError : input_ended();
  }
  event = events_[returned_++];
  if (event.begins()) ++depth_;
  if (event.ends()) --depth_;
  return YsonStep::kEvent;
}

// Reads on to the end of a field. False: the input ends before, or it failed.
bool DsvSource::scan() {
  while (at_ != end_) {
    if (after_escape_) {
      field_.push_back(unescaped(*at_++));
      after_escape_ = false;
      continue;
    }
    const char* begin = at_;
    const auto& stops = in_key_ ? syntax_.key_stops() : syntax_.value_stops();
    while (at_ != end_ && !stops[static_cast<std::uint8_t>(*at_)]) ++at_;
    field_.append(begin, at_);
    if (field_.size() > limits_.string_bytes_max) {
      return fail(fmt::format("a field is longer than {} bytes,", limits_.string_bytes_max));
    }
    if (at_ == end_) break;
    const char stop = *at_;
    if (syntax_.escapes(stop)) {
      after_escape_ = true;
      ++at_;
      continue;
    }
    field_ended_ = true;
    if (!field_ended(stop)) return false;
    ++at_;
    return true;
  }
  return false;
}

void DsvSource::end_row() {
  add(YsonEvent::of(Kind::kEndMap));
  ++row_;
  row_offset_ = piece_offset_ + static_cast<std::size_t>(at_ - piece_) + 1;
}

YsonStep DsvSource::input_ended() {
  const std::size_t offset = piece_offset_ + static_cast<std::size_t>(at_ - piece_);
  if (offset - row_offset_ > limits_.item_bytes_max) {
    fail(fmt::format("more than {} bytes", limits_.item_bytes_max));
    return YsonStep::kError;
  }
  if (!finished_) {
    piece_offset_ = offset;
    piece_ = at_ = end_ = nullptr;
    return YsonStep::kNeedInput;
  }
  if (offset == row_offset_) return YsonStep::kEnd;
  fail("no record separator at the end");
  return YsonStep::kError;
}

DsvReader::DsvReader(DsvOptions options, YsonLimits limits)
    : DsvSource(DsvSyntax(options, false), limits), options_(std::move(options)) {
  expect(first_part());
}

void DsvReader::expect(Part part) {
  part_ = part;
  in_key_ = part == Part::kKey;
}

bool DsvReader::field_ended(char stop) {
  const bool row_ends = stop == options_.record_separator;
  const bool is_separator = row_ends || stop == options_.field_separator ||
                            (part_ == Part::kKey && stop == options_.key_value_separator);
  if (!is_separator) return fail("a zero byte without an escape");
  if (!in_row_) add(YsonEvent::of(Kind::kBeginMap));
  in_row_ = true;
  switch (part_) {
    case Part::kPrefix:
      if (field() != *options_.line_prefix) {
        return fail(fmt::format("the line prefix {:?} is missing", *options_.line_prefix));
      }
      expect(Part::kKey);
      break;
    case Part::kKey:
      if (row_ends || stop != options_.key_value_separator) break;
      if (field().empty()) return fail("a key is empty");
      add(YsonEvent::key(field()));
      expect(Part::kValue);
      break;
    case Part::kValue:
      add(YsonEvent::string(field()));
      expect(Part::kKey);
      break;
  }
  if (!row_ends) return true;
  end_row();
  in_row_ = false;
  expect(first_part());
  return true;
}

SchemafulDsvReader::SchemafulDsvReader(SchemafulDsvOptions options, YsonLimits limits)
    : DsvSource(DsvSyntax(options), limits), options_(std::move(options)) {
  if (options_.columns.empty()) fail("the option `columns` is missing, which names the fields");
}

bool SchemafulDsvReader::field_ended(char stop) {
  const std::vector<std::string>& columns = options_.columns;
  if (column_ == columns.size()) {
    return fail(fmt::format("more than {} fields", columns.size()));
  }
  if (column_ == 0) add(YsonEvent::of(Kind::kBeginMap));
  add(YsonEvent::key(columns[column_++]));
  const bool null = options_.missing == SchemafulDsvOptions::Missing::kPrintSentinel &&
                    field() == options_.sentinel;
  add(null ? YsonEvent::of(Kind::kEntity) : YsonEvent::string(field()));
  if (stop != options_.record_separator) return true;
  if (column_ != columns.size()) {
    return fail(fmt::format("{} fields, not {},", column_, columns.size()));
  }
  column_ = 0;
  end_row();
  return true;
}

}  // namespace moraine
