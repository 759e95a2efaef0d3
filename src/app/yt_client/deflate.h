// gzip, in pieces: of what is sent, and of what is received in gzip or zlib wrapping.
//
// Threading  One thread.
// Limits     Constant memory.
// Errors     kCorrupt: the input is no gzip or zlib stream, or it ends too early.
// Tests      body_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/yt_client/body.h"

namespace moraine::app {

// Another source's bytes, compressed.
class GzipBody final : public BodySource {
 public:
  // Requires: `source` outlives this.
  explicit GzipBody(BodySource& source);
  ~GzipBody() override;
  Result<std::string_view> next() override;
  bool rewind() override;

 private:
  struct State;
  void reset();

  BodySource& source_;
  std::unique_ptr<State> state_;
};

class Gunzip {
 public:
  Gunzip();
  ~Gunzip();
  // Passes on what the piece unpacks to.
  Result<void> feed(std::string_view piece, const BodySink& sink);
  // kCorrupt: the stream is not complete.
  Result<void> finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::app
