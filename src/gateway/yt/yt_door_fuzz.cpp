// Whatever clients send to a node, in a command's parameters, its data or as plain bytes: they get
// a proper answer or the connection ends, and the node serves the next one.
#include "gateway/yt/coding.h"
#include "gateway/yt/command.h"
#include "gateway/yt/yt_test_util.h"

using namespace moraine;
using namespace moraine::yt;

namespace {

constexpr int kInputsPerNode = 300;

class FuzzedNode final : public YtTest {
 public:
  FuzzedNode() : YtTest(1) {
    create_table("t", small_schema());
    INVARIANT(call("insert_rows", R"({"path":"//t"})", "{k=1;v=a};{k=2;v=b}").status == 200,
              "rows are not inserted");
    INVARIANT(call("set", R"({"path":"//tmp/doc"})", "{a=1;b=[x;y]}").status == 200,
              "a document is not set");
  }
  void TestBody() override {}

  // A command with its parameters and data.
  void command(const yt::Command& command, unsigned version, std::uint8_t form,
               std::string parameters, std::string data) {
    Headers headers;
    const bool yson = form % 2 == 0;
    if (yson) headers.emplace_back("X-YT-Header-Format", "yson");
    std::erase_if(parameters, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
    constexpr const char* kFormats[] = {"yson", "json", "dsv", "schemaful_dsv"};
    const char* format = kFormats[form / 2 % 4];
    headers.emplace_back("X-YT-Input-Format", fmt::format("\"{}\"", format));
    headers.emplace_back("X-YT-Output-Format", fmt::format("\"{}\"", kFormats[form / 8 % 2]));
    headers.emplace_back("X-YT-Parameters", std::move(parameters));
    const auto coding = static_cast<Coding>(form / 16 % 4);
    if (coding != Coding::kIdentity) {
      headers.emplace_back("Content-Encoding", to_string(coding));
      headers.emplace_back("Accept-Encoding", to_string(coding));
      data = make_encoder(coding)->encode(data, true);
    }
    const Response response = send("PUT", fmt::format("/api/v{}/{}", version, command.name),
                                   std::move(headers), std::move(data));
    INVARIANT(response.status != 0 && response.status != 500, "{}: status {}: {}", command.name,
              response.status, response.body);
    INVARIANT(
        response.status < 400 || response.status == 431 || !response.field("x-yt-error").empty(),
        "{}: status {} without an error", command.name, response.status);
  }
  void bytes(std::string text) {
    auto [client, server] = make_sim_streams(node_.world().executor(), node_.lane(0));
    connections_.spawn(serve(0, std::move(server)));
    connections_.spawn(write(client, std::move(text)));
    node_.world().run_for(1s);
    client->close();
    node_.world().run_for(1s);
  }
  void expect_alive() {
    const Response response = send("GET", "/api/v4/get_current_user");
    INVARIANT(response.body == R"({"user":"root"})", "{} {}", response.status, response.body);
    INVARIANT(answers_.bytes() == 0, "{} bytes of answers", answers_.bytes());
    INVARIANT(services_[0]->connections() == 0, "{} connections", services_[0]->connections());
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  static const ScopedLogCapture quiet(0);
  static std::unique_ptr<FuzzedNode> node;
  static int inputs = 0;
  if (inputs++ % kInputsPerNode == 0) {
    node.reset();
    node = std::make_unique<FuzzedNode>();
  }
  const std::string text(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (data[0] == 255) {
    node->bytes(text);
  } else {
    // Parameters, a line break, data.
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto all = commands();
    const yt::Command& command = all[data[0] % all.size()];
    const unsigned version = command.known(4) && data[2] % 4 != 0 ? 4 : 3;
    if (command.known(version)) {
      node->command(command, version, data[1], text.substr(0, end),
                    text.substr(std::min(end + 1, text.size())));
    }
  }
  node->expect_alive();
  return 0;
}
