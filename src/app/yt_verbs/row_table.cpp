#include "app/yt_verbs/row_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace moraine::app {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kRowColumn = "row";  // Of rows that are no maps.

// At most `characters` of them; the rest is cut.
std::string printable(std::string_view text, std::size_t characters) {
  std::string out;
  std::size_t count = 0;
  while (!text.empty()) {
    if (++count > characters) return out + "…";
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < ' ' || first == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", first);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

bool is_number(const YsonNode& node) {
  return node.type() == YsonType::kInt64 || node.type() == YsonType::kUint64 ||
         node.type() == YsonType::kDouble;
}

void append_cell(std::string& line, std::string_view text, std::size_t width, bool right) {
  const std::size_t own = text_width(text);
  const std::string space(width > own ? width - own : 0, ' ');
  if (!line.empty()) line += kGap;
  line += right ? space : "";
  line += text;
  line += right ? "" : space;
}

std::string ended(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cell_text(const YsonNode& node, std::size_t characters) {
  if (!node.has_attributes()) {
    if (node.is_entity()) return "null";
    if (const auto* text = node.as<std::string>()) return printable(*text, characters);
    if (const bool* flag = node.as<bool>()) return *flag ? "true" : "false";
    if (const auto* number = node.as<std::uint64_t>()) return std::to_string(*number);
  }
  return printable(write_yson(node, YsonFormat::kText), characters);
}

std::size_t RowTable::column(std::string_view name) {
  const auto found = std::ranges::find(columns_, name, &Column::name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  columns_.push_back({.name = std::string(name), .width = 0});
  return columns_.size() - 1;
}

Result<void> RowTable::add(const YsonNode& row) {
  std::vector<Cell> cells;
  const auto place = [&](std::string_view name, const YsonNode& node) {
    const std::size_t at = column(name);
    if (cells.size() <= at) cells.resize(at + 1);
    cells[at] = {.text = cell_text(node), .number = is_number(node)};
  };
  const auto* map = row.as<YsonMap>();
  if (map == nullptr) place(columns_.empty() ? kRowColumn : columns_[0].name, row);
  for (std::size_t i = 0; map != nullptr && i < map->size(); ++i) {
    place(map->pair(i).key, map->pair(i).node);
  }
  held_.push_back(std::move(cells));
  ++rows_;
  return held_.size() < kTableBatchRows ? Result<void>() : finish();
}

Result<void> RowTable::finish() {
  if (held_.empty()) return {};
  std::vector<bool> numbers(columns_.size(), false);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].width = std::max(columns_[i].width, text_width(columns_[i].name));
    for (const auto& cells : held_) {
      if (i >= cells.size()) continue;
      columns_[i].width = std::max(columns_[i].width, text_width(cells[i].text));
      numbers[i] = numbers[i] || cells[i].number;
    }
  }
  std::string text;
  if (shown_columns_ != columns_.size()) {
    shown_columns_ = columns_.size();
    std::string heads;
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      append_cell(heads, printable(columns_[i].name, kCellCharactersMax), columns_[i].width,
                  numbers[i]);
      append_cell(line, std::string(columns_[i].width, '-'), columns_[i].width, false);
    }
    text += ended(std::move(heads)) + ended(std::move(line));
  }
  for (const auto& cells : held_) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = i < cells.size() ? cells[i] : Cell();
      append_cell(line, cell.text, columns_[i].width, cell.number);
    }
    text += ended(std::move(line));
  }
  held_.clear();
  return print_(text);
}

Result<void> RowReader::feed(std::string_view piece) {
  if (piece.empty()) return {};
  reader_.feed(piece);
  return read();
}

Result<void> RowReader::finish() {
  reader_.finish();
  return read();
}

Result<void> RowReader::read() {
  YsonEvent event;
  for (;;) {
    switch (reader_.next(event)) {
      case YsonStep::kEvent: break;
      case YsonStep::kNeedInput:
      case YsonStep::kEnd: return {};
      case YsonStep::kError: return std::unexpected(reader_.error());
    }
    if (!builder_.on(event)) return std::unexpected(builder_.error());
    if (reader_.depth() == 0 && event.ends_node()) {
      TRY_VOID(table_.add(builder_.take()));
    }
  }
}

}  // namespace moraine::app
