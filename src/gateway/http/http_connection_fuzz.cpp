// Whatever a client sends, in any pieces, the connection ends with the client and holds nothing.
#include "base/invariant.h"
#include "gateway/http/http_test_util.h"

using namespace moraine;
using namespace moraine::http;

namespace {

Task<void> read_and_answer(Exchange& exchange) {
  const Result<Slice> body = co_await exchange.read_all(10'000);
  if (exchange.request().target.path.size() % 2 == 0) {
    Head head;
    std::ignore = co_await exchange.begin(std::move(head));
    if (body) std::ignore = co_await exchange.write(*body);
    std::ignore = co_await exchange.end({});
  } else if (body) {
    Reply reply = text_reply(200, body->text());
    std::ignore = co_await exchange.reply(std::move(reply));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ScopedLogCapture quiet(0);
  SimWorld world(1);
  MetricRegistry registry;
  AnswerBudget answers(kAnswerRoom);
  HttpService service(world.executor(), registry, answers, read_and_answer);
  SimStreamOptions options;
  options.read_bytes_max = 1 + data[0] * 16;
  auto [client, server] = make_sim_streams(world.executor(), options);
  TaskScope tasks;
  std::string got;
  bool ended = false;
  tasks.spawn(service.streams()(std::move(server)));
  if (data[1] % 4 != 0) tasks.spawn(read_to_end(client, got, ended));  // Else it reads nothing.
  tasks.spawn(write_text(client, std::string(reinterpret_cast<const char*>(data) + 2, size - 2)));
  world.run_for(10s);
  client->close();
  world.run_for(10s);
  INVARIANT(tasks.live() == 0, "{} tasks live on", tasks.live());
  INVARIANT(service.connections() == 0, "{} connections", service.connections());
  INVARIANT(answers.bytes() == 0, "{} bytes of answers", answers.bytes());
  client.reset();
  world.shutdown();
  return 0;
}
