// YtClient: commands of YTsaurus's HTTP API, sent to a proxy.
//
// Promise    call() returns the answer of a command, or an error whose kind says whether there was
//            an answer. Commands that may be sent twice are retried within
//            YtClientOptions::patience: reads, row commands outside a transaction that add nothing
//            up, and changes of the tree, which carry a mutation id. Row commands are also retried
//            while a tablet is being mounted or moved. The first refused connection is not retried.
// Threading  Blocks; one thread.
// Limits     kYtAnswerBytesMax for answers that are gathered; others are passed on in pieces.
// Errors     kInvalidArgument: a proxy address that cannot be parsed, or https. kUnavailable and
//            kTimeout: no proxy, no answer. kAborted: an answer with an error; its code is the
//            server's.
// Tests      yt_client_test.cpp, against a scripted server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "app/yt_client/body.h"
#include "app/yt_client/commands.h"
#include "app/yt_client/http_connection.h"
#include "yson/node.h"

namespace moraine::app {

inline constexpr std::size_t kYtAnswerBytesMax = std::size_t{256} << 20;
inline constexpr std::string_view kDefaultProxy = "127.0.0.1:8080";
// Longer parameters are sent in several header fields.
inline constexpr std::size_t kParametersFieldBytesMax = std::size_t{16} << 10;

struct YtClientOptions {
  TcpAddress proxy;
  std::string token;
  Duration connect_timeout = 5s;
  Duration light_timeout = 60s;       // Without progress, of commands about the tree.
  Duration heavy_timeout = 600s;      // Of commands about rows.
  Duration patience = 30s;            // In which a failed call is retried.
  Duration tablet_patience = 10s;     // The same, while tablets are not ready.
  bool compress = false;              // Of rows that are sent, and of answers.
  bool discover = false;              // Row commands go to the proxy that /hosts names first.
  std::function<bool()> interrupted;  // Ends a call that waits when a signal came.
};

// "host:port", "host", "http://host:port/". kInvalidArgument: none of these.
Result<TcpAddress> parse_proxy(std::string_view text);
// Options of a proxy on another machine differ: compression and discovery are on.
YtClientOptions options_for(TcpAddress proxy);

struct YtCall {
  std::string command;
  YsonMap parameters = {};
  BodySource* body = nullptr;  // For commands with input.
  bool compress = true;        // The body, if the options say so.
  bool is_gzip = false;        // The body is compressed already.
};

struct YtAnswer {
  std::string body;
  YsonMap parameters;  // X-YT-Response-Parameters.
};

class YtClient {
 public:
  explicit YtClient(YtClientOptions options);

  YtResult<YtAnswer> call(const YtCall& call);
  // Passes the body on. An error of the sink ends the call, and is returned.
  YtResult<YsonMap> call(const YtCall& call, const BodySink& sink);
  // The answer of a command with structured output, asked for as YSON: without a `value` around it.
  YtResult<YsonNode> get(std::string command, YsonMap parameters);
  // What the proxy says of a command that this program does not know.
  YtResult<YtCommand> command(const std::string& name);

  const YtClientOptions& options() const { return options_; }
  // The body of a GET of another path, such as /hosts.
  YtResult<std::string> page(std::string target);

 private:
  struct Attempt;

  YtResult<YsonMap> attempt(const YtCommand& command, const YtCall& call, YsonMap parameters,
                            Attempt& state, const BodySink& sink);
  YtResult<HttpAnswer> exchange(const TcpAddress& address, const HttpCall& call,
                                const HttpConnection::Begin& begin, Duration timeout);
  Result<HttpConnection*> connection(const TcpAddress& address);
  TcpAddress address_of(const YtCommand& command);
  bool may_repeat(const YtCommand& command, const YtCall& call) const;
  Duration pause(const YtError& error, const YtCommand& command, const YtCall& call,
                 const Attempt& state) const;

  const YtClientOptions options_;
  std::map<std::string, HttpConnection> connections_;  // At most two: by address.
  std::map<std::string, YtCommand> commands_;          // Learned from the proxy.
  std::optional<TcpAddress> heavy_proxy_;
  bool connected_ = false;  // Some connection was made.
};

}  // namespace moraine::app
