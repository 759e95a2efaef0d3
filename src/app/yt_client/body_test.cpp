#include "app/yt_client/body.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "app/cli_test_util.h"
#include "app/yt_client/deflate.h"

namespace moraine::app {
namespace {

std::string all_of(BodySource& source) {
  std::string all;
  for (;;) {
    const auto piece = source.next();
    EXPECT_TRUE(piece) << piece.error().message();
    if (!piece || piece->empty()) return all;
    all += *piece;
  }
}

class FileBodies : public testing::Test {
 protected:
  // A pipe is read once, as standard input is.
  FileBody pipe_of(const std::string& text, std::function<void(std::uint64_t)> progress = {}) {
    write_file(folder / "input", text);
    file_ = std::fopen((folder / "input").c_str(), "rb");
    return FileBody(fileno(file_), std::move(progress));
  }
  ~FileBodies() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  TemporaryFolder folder;
  std::FILE* file_ = nullptr;
};

TEST_F(FileBodies, ReturnWhatWasReadAgain) {
  const std::string text = some_bytes(300'000, 1);
  std::uint64_t seen = 0;
  FileBody body = pipe_of(text, [&seen](std::uint64_t bytes) { seen = bytes; });
  ASSERT_TRUE(body.next());
  ASSERT_TRUE(body.rewind()) << "in the middle";
  EXPECT_EQ(all_of(body), text);
  EXPECT_EQ(seen, text.size());
  ASSERT_TRUE(body.rewind());
  EXPECT_EQ(all_of(body), text);
}

TEST_F(FileBodies, ThatAreLongAreReadOnce) {
  const std::string text = some_bytes(kReplayBytesMax + 1, 2);
  FileBody body = pipe_of(text);
  EXPECT_TRUE(all_of(body) == text);
  EXPECT_FALSE(body.rewind());
}

TEST(Gzip, PacksAndUnpacksAcrossPieces) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{1'000'000}}) {
    const std::string text = std::string(size, 'x') + some_bytes(size, 3);
    TextBody plain(text);
    GzipBody packed(plain);
    const std::string gzip = all_of(packed);
    ASSERT_TRUE(packed.rewind());
    EXPECT_TRUE(all_of(packed) == gzip);
    for (const std::size_t step : {std::size_t{1 + gzip.size() / 300}, gzip.size()}) {
      Gunzip unpacks;
      std::string got;
      const BodySink sink = [&got](std::string_view piece) -> Result<void> {
        got += piece;
        return {};
      };
      for (std::size_t at = 0; at < gzip.size(); at += step) {
        ASSERT_TRUE(unpacks.feed(std::string_view(gzip).substr(at, step), sink));
      }
      EXPECT_TRUE(unpacks.finish());
      EXPECT_TRUE(got == text) << size;
    }
  }
}

TEST(Gzip, DamagedAndShortStreamsFail) {
  TextBody plain(some_bytes(1000, 4));
  GzipBody packed(plain);
  const std::string gzip = all_of(packed);
  const BodySink sink = [](std::string_view) -> Result<void> { return {}; };
  Gunzip cut;
  ASSERT_TRUE(cut.feed(gzip.substr(0, gzip.size() / 2), sink));
  EXPECT_EQ(cut.finish().error().code, Errc::kCorrupt);
  Gunzip wrong;
  EXPECT_EQ(wrong.feed("no gzip at all", sink).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace moraine::app
