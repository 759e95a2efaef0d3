#include "app/topic_print.h"

#include <fmt/format.h>

#include "app/topic_arguments.h"
#include "base/json.h"
#include "base/utf8.h"

namespace moraine::app {
namespace {

std::string_view text_of(const kafka::NullableBytes& bytes) {
  return bytes ? as_text(*bytes) : std::string_view();
}

// As "name"; bytes that are no text as "name_base64".
void add_bytes(Json& json, const std::string& name, const kafka::NullableBytes& bytes) {
  if (!bytes) {
    json.key(name).null();
  } else if (is_utf8(as_text(*bytes))) {
    json.field(name, as_text(*bytes));
  } else {
    json.field(name + "_base64", base64(*bytes));
  }
}

std::string to_json(std::int32_t partition, const kafka::Record& record) {
  Json json;
  json.object().field("partition", partition).field("offset", record.offset);
  json.field("timestamp", record.timestamp).field("time", time_text(record.timestamp));
  add_bytes(json, "key", record.key);
  add_bytes(json, "value", record.value);
  if (!record.headers.empty()) {
    json.key("headers").array();
    for (const kafka::RecordField& header : record.headers) {
      json.object().field("key", header.key);
      add_bytes(json, "value", header.value);
      json.end();
    }
    json.end();
  }
  json.end();
  return json.take();
}

}  // namespace

Result<MessageFormat> parse_format(std::string_view word) {
  if (word == "value") return MessageFormat::kValue;
  if (word == "key-value") return MessageFormat::kKeyValue;
  if (word == "json") return MessageFormat::kJson;
  return fail(Errc::kInvalidArgument,
              fmt::format("format '{}' is none of value, key-value, json", word));
}

void append_message(std::string& to, std::int32_t partition, const kafka::Record& record,
                    const PrintRules& rules) {
  switch (rules.format) {
    case MessageFormat::kValue: to += text_of(record.value); break;
    case MessageFormat::kKeyValue:
      to += text_of(record.key);
      to += rules.key_separator;
      to += text_of(record.value);
      break;
    case MessageFormat::kJson: to += to_json(partition, record); break;
  }
  to += '\n';
}

}  // namespace moraine::app
