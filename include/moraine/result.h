// Expected failures as values.
//
// Promise    A Result holds a value or an Error; an Error holds a small code that callers branch on
//            and a context for the user to read. Programmer errors end the program.
// Limits     Contexts are built on the cold path only.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace moraine {

// The numbers are sent between nodes: new codes are appended.
enum class Errc : std::uint8_t {
  kInvalidArgument,  // The caller's input is wrong; the same call will fail again.
  kNotFound,
  kAlreadyExists,
  kCorrupt,  // The bytes were read, but a checksum or grammar check failed.
  kIo,       // The device failed; what is on it is unknown until recovery.
  kNoSpace,
  kReadOnly,
  kOverloaded,   // A named limit was reached; retry later.
  kTimeout,      // No answer in time.
  kUnavailable,  // The peer cannot be reached or has stopped.
  kUnsupported,
  kConflict,
  kAborted,  // The transaction lost a conflict, or is over; begin a new one.
  // A commit may or may not have taken effect: read what it wrote to find out. Any other error of a
  // commit means that it changed nothing.
  kUnknownOutcome,
  // The tablet that was called does not run on this node: it is starting, or it is elsewhere. The
  // call did nothing. Find out where the tablet runs and retry; a program that uses one node in its
  // own process retries after a pause.
  kNotHere,
  kNotEmpty,       // A node of the tree has children.
  kLockConflict,   // A transaction of the tree has a lock on the node.
  kNoTransaction,  // No such transaction, or it is over.
};
inline constexpr Errc kErrcLast = Errc::kNoTransaction;

std::string_view to_string(Errc code);

struct [[nodiscard]] Error {
  Errc code = Errc::kIo;
  std::string context;

  // For example "corrupt: segment 7 header".
  std::string message() const;
  // The same error with `prefix: ` before its context.
  Error within(std::string_view prefix) &&;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Errc code, std::string context) {
  return std::unexpected<Error>(Error{code, std::move(context)});
}

}  // namespace moraine
