// TcpConnection: frames over one non-blocking TCP socket of a lane.
//
// Promise    Frames are sent whole and in order, many with one system call, payloads without a
//            copy. Received frames are checked. on_closed is called exactly once, and no other
//            callback after it.
// Invariants Nothing is delivered inside send(); sending starts in the next loop turn.
// Threading  The lane's thread. The owner's callbacks may send, close and drop the last reference.
// Limits     The owner bounds what it sends (unsent_frames, unsent_bytes) and stops reading by
//            set_reading(false) when it has too much to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "io/real/frame.h"
#include "io/real/frame_reader.h"
#include "io/real/lane.h"

namespace moraine {

class TcpConnection final : public FdHandler, public std::enable_shared_from_this<TcpConnection> {
 public:
  class Owner {
   public:
    virtual void on_frame(Frame frame) = 0;
    virtual void on_closed(const Error& why) = 0;
    // The queue of frames to send has become shorter.
    virtual void on_sent() = 0;

   protected:
    ~Owner() = default;
  };

  TcpConnection(Lane& lane, Owner& owner) : lane_(lane), owner_(&owner) {}
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  ~TcpConnection();

  // Takes ownership of the socket, which may still be connecting. Frames sent before are queued.
  void attach(int fd);
  // Requires: the payload is within the limit of its kind.
  void send(FrameKind kind, std::uint64_t request, Slice payload);
  // Drops a queued frame of which no byte was sent; false when there is none.
  bool drop_unsent(std::uint64_t request);
  std::size_t unsent_frames() const { return queue_.size(); }
  std::size_t unsent_bytes() const { return unsent_bytes_; }

  void set_reading(bool reading);
  // Until then payloads are limited to kControlBytesMax: an unknown peer cannot use much memory.
  void trust() { reader_.set_payload_max(kFrameBytesMax); }

  bool closed() const { return owner_ == nullptr; }
  void close(const Error& why);
  // Sends the reason to the peer if the socket accepts it, and closes.
  void reject(const Error& why);

  void on_ready(Ready ready) override;

 private:
  static constexpr std::size_t kPiecesPerSend = 128;
  static constexpr std::size_t kReadBytesPerTurn = std::size_t{2} << 20;

  struct Outgoing {
    FrameHeaderBytes header;
    std::uint64_t request;
    Slice payload;
    std::size_t size() const { return header.size() + payload.size(); }
  };

  void flush_later();
  void flush();
  bool send_some();
  void sent(std::size_t bytes);
  void read();
  bool read_some(std::size_t& budget);
  bool deliver();

  Lane& lane_;
  Owner* owner_;
  int fd_ = -1;
  WatchId watch_;
  bool connected_ = false;
  bool readable_ = false;
  bool writable_ = false;
  bool ended_ = false;  // The peer sends no more; what it sent is still read.
  bool reading_ = true;
  bool in_read_ = false;
  bool flush_posted_ = false;
  FrameReader reader_{kControlBytesMax};
  std::deque<Outgoing> queue_;
  std::size_t front_sent_ = 0;  // Bytes of the front frame that are sent.
  std::size_t unsent_bytes_ = 0;
};

}  // namespace moraine
