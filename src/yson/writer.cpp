#include "yson/writer.h"

#include "yson/escape.h"
#include "yson/number.h"

namespace moraine {
namespace {

using Kind = YsonEvent::Kind;

constexpr std::size_t kIndent = 4;

void append_varint(std::string& out, std::uint64_t word) {
  for (; word >= 0x80; word >>= 7) out.push_back(static_cast<char>(word | 0x80));
  out.push_back(static_cast<char>(word));
}

std::uint64_t to_zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

}  // namespace

bool YsonWriter::on(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kKey:
      begin_item();
      string(event.text);
      out_ += format_ == YsonFormat::kPretty ? " = " : "=";
      has_start_ = true;
      return true;
    case Kind::kBeginList:
      begin_node();
      open('[');
      return true;
    case Kind::kBeginMap:
      begin_node();
      open('{');
      return true;
    case Kind::kBeginAttributes:
      begin_node();
      open('<');
      return true;
    case Kind::kEndList:
      close(']');
      end_node();
      return true;
    case Kind::kEndMap:
      close('}');
      end_node();
      return true;
    case Kind::kEndAttributes:
      close('>');
      if (format_ == YsonFormat::kPretty) out_.push_back(' ');
      has_start_ = true;
      return true;
    default:
      begin_node();
      scalar(event);
      end_node();
      return true;
  }
}

void YsonWriter::raw(std::string_view yson) {
  begin_node();
  out_ += yson;
  end_node();
}

void YsonWriter::begin_item() {
  if (format_ != YsonFormat::kPretty) return;
  if (empty_ && !open_.empty()) out_.push_back('\n');
  out_.append(open_.size() * kIndent, ' ');
  empty_ = false;
}

void YsonWriter::begin_node() {
  if (!has_start_ && (!open_.empty() || document_ != YsonDocument::kNode)) begin_item();
  has_start_ = false;
}

void YsonWriter::end_node() {
  if (open_.empty() && document_ == YsonDocument::kNode) return;
  out_.push_back(';');
  if (open_.empty() ? !is_binary() : format_ == YsonFormat::kPretty) out_.push_back('\n');
}

void YsonWriter::open(char bracket) {
  out_.push_back(bracket);
  open_.push_back(bracket);
  empty_ = true;
}

void YsonWriter::close(char bracket) {
  open_.pop_back();
  if (format_ == YsonFormat::kPretty && !empty_) out_.append(open_.size() * kIndent, ' ');
  empty_ = false;
  out_.push_back(bracket);
}

void YsonWriter::string(std::string_view text) {
  if (!is_binary()) return append_quoted(out_, text);
  out_.push_back('\x01');
  append_varint(out_, std::uint64_t{text.size()} << 1);
  out_ += text;
}

void YsonWriter::scalar(const YsonEvent& event) {
  if (event.kind == Kind::kString) {
    string(event.text);
  } else if (event.kind == Kind::kEntity) {
    out_.push_back('#');
  } else if (is_binary()) {
    binary_scalar(event);
  } else {
    text_scalar(event);
  }
}

void YsonWriter::binary_scalar(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kInt64:
      out_.push_back('\x02');
      append_varint(out_, to_zigzag(event.as_int64()));
      break;
    case Kind::kUint64:
      out_.push_back('\x06');
      append_varint(out_, event.as_uint64());
      break;
    case Kind::kDouble:
      out_.push_back('\x03');
      out_.append(reinterpret_cast<const char*>(&event.word), sizeof(event.word));
      break;
    default: out_.push_back(event.as_boolean() ? '\x05' : '\x04'); break;
  }
}

void YsonWriter::text_scalar(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kInt64: append_decimal(out_, event.as_int64()); break;
    case Kind::kUint64:
      append_decimal(out_, event.as_uint64());
      out_.push_back('u');
      break;
    case Kind::kDouble: append_yson_double(out_, event.as_double()); break;
    default: out_ += event.as_boolean() ? "%true" : "%false"; break;
  }
}

}  // namespace moraine
