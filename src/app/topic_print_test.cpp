#include "app/topic_print.h"

#include <gtest/gtest.h>

#include "app/transfer_progress.h"

namespace moraine::app {
namespace {

std::string printed(const kafka::Record& record, MessageFormat format) {
  std::string text;
  append_message(text, 3, record, {format, ": "});
  return text;
}

kafka::Record some_record() {
  kafka::Record record;
  record.offset = 7;
  record.timestamp = 1'714'557'600'123;
  record.key = as_bytes("k");
  record.value = as_bytes("a \"b\"");
  return record;
}

TEST(TopicPrint, EachFormatIsALine) {
  const kafka::Record record = some_record();
  EXPECT_EQ(printed(record, MessageFormat::kValue), "a \"b\"\n");
  EXPECT_EQ(printed(record, MessageFormat::kKeyValue), "k: a \"b\"\n");
  EXPECT_EQ(printed(record, MessageFormat::kJson),
            "{\"partition\":3,\"offset\":7,\"timestamp\":1714557600123,"
            "\"time\":\"2024-05-01T10:00:00.123Z\",\"key\":\"k\",\"value\":\"a \\\"b\\\"\"}\n");
}

TEST(TopicPrint, NullIsEmptyInTextAndNullInJson) {
  kafka::Record record = some_record();
  record.key.reset();
  record.value.reset();
  EXPECT_EQ(printed(record, MessageFormat::kValue), "\n");
  EXPECT_EQ(printed(record, MessageFormat::kKeyValue), ": \n");
  EXPECT_TRUE(printed(record, MessageFormat::kJson).contains("\"key\":null,\"value\":null"));
}

TEST(TopicPrint, BytesThatAreNoTextAreBase64InJson) {
  kafka::Record record = some_record();
  record.value = as_bytes("\xff\xfe");
  record.headers = {{"h", as_bytes("1")}, {"h", std::nullopt}};
  EXPECT_EQ(printed(record, MessageFormat::kValue), "\xff\xfe\n");
  const std::string json = printed(record, MessageFormat::kJson);
  EXPECT_TRUE(json.contains("\"value_base64\":\"//4=\"")) << json;
  EXPECT_TRUE(
      json.contains("\"headers\":[{\"key\":\"h\",\"value\":\"1\"},{\"key\":\"h\",\"value\":null}]"))
      << json;
}

TEST(TopicPrint, FormatsGoByTheirNames) {
  EXPECT_EQ(parse_format("key-value").value(), MessageFormat::kKeyValue);
  EXPECT_FALSE(parse_format("xml"));
}

TEST(TransferProgressText, ShowsTheProgress) {
  EXPECT_EQ(message_text("wrote", 1, 1536, std::nullopt), "wrote 1 message, 1.50 KiB");
  EXPECT_EQ(message_text("read", 500, 10, 2000), "read 500 of 2000 messages, 10 B, 25 %");
}

}  // namespace
}  // namespace moraine::app
