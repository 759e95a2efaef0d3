// An HTTP request and its reply.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/http/url.h"

namespace moraine::http {

// Header fields in their order. Names are case-insensitive.
class Fields {
 public:
  void reserve(std::size_t fields) { all_.reserve(fields); }
  void add(std::string name, std::string value) {
    all_.emplace_back(std::move(name), std::move(value));
  }
  // The first value of `name`; nullptr when there is none.
  const std::string* find(std::string_view name) const;
  // Whether one of the comma-separated words of `name` is `word`.
  bool has_word(std::string_view name, std::string_view word) const;
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

struct Request {
  std::string method;  // As sent: "GET".
  Target target;
  Fields fields;
  std::string peer;  // The client's address, for logs.
};

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

struct Head {
  unsigned status = 200;
  std::string content_type{kPlainText};
  Fields fields{};  // Without Content-Type and the fields of the transfer.
};

struct Reply {
  Head head;
  Slice body;
};
Reply text_reply(unsigned status, std::string_view text);

// The status of a request that failed with this code. 503, with Retry-After: nothing was done, and
// a client may repeat it by itself. A change that may have been made is kUnknownOutcome or kTimeout
// (moraine/database.h), and gets 500 or 504.
unsigned status_of(Errc code);
// With that status and the error as text.
Reply error_reply(const Error& error);

}  // namespace moraine::http
