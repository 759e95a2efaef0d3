#include "blob/proxy/command_metrics.h"

#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

TEST(CommandMetrics, CountCommandsByHowTheyEnded) {
  MetricRegistry registry;
  ProxyOptions options;
  options.metrics = &registry;
  TestGroup group(Species::kBlock42, options);
  const auto put = [&](Step step, Generation generation) {
    PutRequest request;
    request.id = test_id(100, step, generation);
    request.data = test_bytes(100);
    return group.run(group.proxy().put(std::move(request))).status;
  };
  EXPECT_EQ(put(1, 5), Status::kOk);
  EXPECT_EQ(put(2, 5), Status::kOk);
  BlockRequest block;
  block.tablet = TabletId{kTestTablet};
  block.generation = 6;
  EXPECT_EQ(group.run(group.proxy().block(block)).status, Status::kOk);
  EXPECT_EQ(put(3, 5), Status::kBlocked);
  PutRequest wrong;
  wrong.id = test_id(100, 4, 6);
  EXPECT_EQ(group.run(group.proxy().put(std::move(wrong))).status, Status::kError);

  const std::string text = registry.expose();
  const auto line = [](const char* command, const char* result, int count) {
    return fmt::format(
        "moraine_proxy_commands_total{{command=\"{}\",group=\"7\",result=\"{}\"}} {}\n", command,
        result, count);
  };
  EXPECT_TRUE(text.contains(line("put", "ok", 2))) << text;
  EXPECT_TRUE(text.contains(line("put", "blocked", 1))) << text;
  EXPECT_TRUE(text.contains(line("put", "error", 1))) << text;
  EXPECT_TRUE(text.contains(line("block", "ok", 1))) << text;
  EXPECT_TRUE(text.contains(line("get", "ok", 0))) << text;
  EXPECT_TRUE(text.contains("moraine_proxy_command_seconds_count{command=\"put\",group=\"7\"} 4\n"))
      << text;
}

}  // namespace
}  // namespace moraine::blob
