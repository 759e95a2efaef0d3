// ApiRequest: one request for a command over HTTP: which parameters and formats it has, its data
// and its answer as bytes.
//
// Promise    Every request gets an answer in YTsaurus's form; errors have their number in header
//            fields, or, once part of the answer was sent, in trailers.
// Threading  The connection's lane.
// Limits     kUserNameBytesMax; those of call.h.
// Tests      door_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "gateway/http/answer_budget.h"
#include "gateway/http/exchange.h"
#include "gateway/yt/call.h"
#include "gateway/yt/coding.h"
#include "gateway/yt/request_head.h"

namespace moraine::yt {

inline constexpr std::size_t kUserNameBytesMax = 256;

// The name by which a client addresses this node.
std::string host_of(const http::Request& request, std::string_view otherwise);
// 401, or nothing: any token is accepted, and any name of kUserNameBytesMax.
YtResult<void> check_credentials(const http::Request& request);
std::string user_of(const http::Request& request);

class ApiRequest final : private Input, private Output {
 public:
  // Both outlive the request.
  ApiRequest(DoorLane& lane, http::Exchange& exchange, std::string address);
  ApiRequest(const ApiRequest&) = delete;
  ApiRequest& operator=(const ApiRequest&) = delete;

  // `name`: as in the path.
  Task<void> run(unsigned version, std::string name);
  // An answer that is an error.
  Task<void> refuse_with(unsigned status, YtError error);

 private:
  Task<YtResult<Slice>> read() override;
  Task<YtResult<Slice>> read_part();
  Task<YtResult<void>> write(std::string bytes) override;

  const std::string* field(std::string_view name) const;
  // Reads what the header says; status_ is that of an error.
  YtResult<void> read_head(Call& call);
  void take_head(const RequestHead& head, Call& call);
  YtResult<void> read_codings(Call& call);
  Task<YtResult<void>> read_body_parameters(Call& call);
  YtResult<void> take_parameter_room(Call& call) const;

  http::Head head(unsigned status) const;
  // Adds where and when it happened.
  void stamp(YtError& error) const;
  void add_error(http::Fields& fields, const YtError& error) const;
  Task<YtResult<void>> send(std::string bytes, bool last);
  Task<void> finish(Call& call);
  Task<void> finish_streamed();
  Task<void> finish_structured(Call& call);
  Task<void> fail(Call& call, YtError error);

  DoorLane& lane_;
  http::Exchange& exchange_;
  const std::string address_;

  unsigned status_ = 400;
  DataFormat header_format_;
  DataFormat error_format_;
  std::size_t parameter_bytes_ = 0;  // Of the texts of parameters.
  Coding input_coding_ = Coding::kIdentity;
  Coding output_coding_ = Coding::kIdentity;
  bool framed_ = false;

  Slice raw_;                         // What the decoder reads.
  std::unique_ptr<Decoder> decoder_;  // Null: the data is not encoded.
  std::size_t turn_bytes_ = 0;        // Since others of the lane could continue.
  bool input_ended_ = false;

  Call* call_ = nullptr;
  http::AnswerRoom coding_room_;
  std::unique_ptr<Encoder> encoder_;  // Null: the answer is not encoded.
  std::string held_;                  // Of the answer, not sent yet.
  bool begun_ = false;
};

}  // namespace moraine::yt
