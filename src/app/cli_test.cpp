// The commands on a data folder, as a user runs them.
#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

constexpr const char* kHello = "[1:1:1:0:0:6:0]";

TEST_F(Cli, PutsAndGetsABlobAcrossRestarts) {
  make_folder();
  EXPECT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0);
  const Outcome got = blob({"get", kHello});
  EXPECT_EQ(got.code, 0) << got.err;
  EXPECT_EQ(got.out, "hello\n");
  EXPECT_EQ(blob({"put", kHello, "-"}, "hello\n").code, 0) << "a put may be repeated";
}

TEST_F(Cli, FillsTheSizeInAndReadsRangesOfLargeBlobs) {
  make_folder();
  const std::string bytes = some_bytes(3'000'001, 7);
  write_file(folder / "file", bytes);
  const Outcome put = blob({"put", "--auto", "5:1:9:0:0:0:0", folder / "file"});
  ASSERT_EQ(put.code, 0) << put.err;
  EXPECT_EQ(put.out, "[5:1:9:0:0:3000001:0]\n");
  EXPECT_EQ(blob({"get", "5:1:9:0:0:3000001:0"}).out, bytes);
  EXPECT_EQ(blob({"get", "5:1:9:0:0:3000001:0", "--offset", "65535", "--size", "70000"}).out,
            bytes.substr(65535, 70000));
  EXPECT_EQ(blob({"get", "5:1:9:0:0:3000001:0", "--offset", "3000000", "--must-restore"}).out,
            bytes.substr(3000000));
  const Outcome to_file =
      blob({"get", "5:1:9:0:0:3000001:0", "--output", folder / "copy", "--json"});
  EXPECT_EQ(to_file.code, 0);
  EXPECT_EQ(read_file(folder / "copy"), bytes);
}

TEST_F(Cli, ListsATabletInBothDirections) {
  make_folder();
  for (const char* id : {"[1:1:1:0:0:1:0]", "[1:1:2:0:0:1:0]", "[1:2:1:0:0:1:0]", "[1:1:1:1:0:1:0]",
                         "[2:1:1:0:0:1:0]"}) {
    ASSERT_EQ(blob({"put", id, "-"}, "x").code, 0);
  }
  const Outcome up = blob({"range", "--tablet", "1", "--json"});
  EXPECT_EQ(up.code, 0) << up.err;
  const std::size_t first = up.out.find("[1:1:1:0:0:1:0]");
  const std::size_t last = up.out.find("[1:2:1:0:0:1:0]");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(last, std::string::npos);
  EXPECT_LT(first, last);
  EXPECT_EQ(up.out.find("[1:1:1:1:0:1:0]"), std::string::npos) << "another channel";
  EXPECT_EQ(up.out.find("[2:1:1:0:0:1:0]"), std::string::npos) << "another tablet";
  const Outcome down = blob({"range", "--tablet", "1", "--reverse", "--limit", "1"});
  EXPECT_NE(down.out.find("[1:2:1:0:0:1:0]"), std::string::npos) << down.out;
  EXPECT_NE(down.out.find("1 blob,"), std::string::npos) << down.out;
  const Outcome between = blob({"range", "[1:1:2:0:0:0:0]", "[1:9:9:0:0:0:0]"});
  EXPECT_NE(between.out.find("2 blobs,"), std::string::npos) << between.out;
}

TEST_F(Cli, DiscoversTheNewestBlob) {
  make_folder();
  EXPECT_EQ(blob({"discover", "1"}).code, 1) << "nothing is there yet";
  ASSERT_EQ(blob({"put", "[1:3:1:0:0:3:0]", "-"}, "old").code, 0);
  ASSERT_EQ(blob({"put", "[1:4:1:0:0:3:0]", "-"}, "new").code, 0);
  EXPECT_EQ(blob({"discover", "1"}).out, "[1:4:1:0:0:3:0]\n");
  EXPECT_EQ(blob({"discover", "1", "--body"}).out, "new");
  EXPECT_EQ(blob({"discover", "1", "--list"}).out, "[1:4:1:0:0:3:0]\n[1:3:1:0:0:3:0]\n");
  const Outcome listed = blob({"discover", "1", "--list", "--body", "--json"});
  EXPECT_NE(listed.out.find(R"("id":"[1:3:1:0:0:3:0]","data_base64":"b2xk")"), std::string::npos)
      << listed.out;
  EXPECT_EQ(blob({"discover", "1", "--list", "--body"}).code, 2) << "bodies need --json";
  EXPECT_EQ(blob({"discover", "1", "--min-generation", "5"}).code, 1);
  ASSERT_EQ(blob({"discover", "1", "--force-block", "4"}).code, 0);
  EXPECT_EQ(blob({"put", "[1:4:2:0:0:1:0]", "-"}, "x").code, 1) << "fenced by the discover";
}

TEST_F(Cli, FencesOldGenerations) {
  make_folder();
  ASSERT_EQ(blob({"block", "1", "5"}).code, 0);
  const Outcome refused = blob({"put", "[1:4:1:0:0:1:0]", "-"}, "x");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("BLOCKED"), std::string::npos) << refused.err;
  EXPECT_EQ(blob({"put", "[1:5:1:0:0:1:0]", "-"}, "x").code, 0);
  const Outcome lower = blob({"block", "1", "4"});
  EXPECT_EQ(lower.code, 1);
  EXPECT_NE(lower.err.find("ALREADY"), std::string::npos) << lower.err;
  EXPECT_NE(blob({"block", "1", "--show", "--json"}).out.find("\"blocked_generation\":4"),
            std::string::npos);
}

TEST_F(Cli, CollectsWhatABarrierCoversAndSparesWhatIsKept) {
  make_folder();
  for (const char* id : {"[1:1:1:0:0:1:0]", "[1:1:2:0:0:1:0]", "[1:1:3:0:0:1:0]"}) {
    ASSERT_EQ(blob({"put", id, "-"}, "x").code, 0);
  }
  const Outcome collected = blob({"collect", "1", "0", "--generation", "1", "--counter", "1",
                                  "--barrier", "1:2", "--keep", "[1:1:1:0:0:1:0]"});
  ASSERT_EQ(collected.code, 0) << collected.err;
  EXPECT_EQ(blob({"get", "[1:1:1:0:0:1:0]"}).code, 0) << "kept";
  const Outcome gone = blob({"get", "[1:1:2:0:0:1:0]"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_NE(gone.err.find("NODATA"), std::string::npos) << gone.err;
  EXPECT_EQ(blob({"get", "[1:1:3:0:0:1:0]"}).code, 0) << "above the barrier";
  ASSERT_EQ(blob({"collect", "1", "0", "--generation", "1", "--counter", "2", "--do-not-keep",
                  "[1:1:1:0:0:1:0]"})
                .code,
            0);
  EXPECT_EQ(blob({"get", "[1:1:1:0:0:1:0]"}).code, 1) << "no longer kept";
  ASSERT_EQ(blob({"collect", "1", "0", "--generation", "1", "--counter", "3", "--barrier", "1:3",
                  "--hard"})
                .code,
            0);
  EXPECT_EQ(blob({"get", "[1:1:3:0:0:1:0]"}).code, 1);
}

TEST_F(Cli, ShowsTheStateOfEveryDisk) {
  make_folder("32MiB", "block-4-2");
  const Outcome status = blob({"status", "--wait", "--json"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_NE(status.out.find("\"vdisk\":\"[82000000:1:0:7:0]\""), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("\"erasure\":\"block-4-2\""), std::string::npos) << status.out;
}

TEST_F(Cli, AnErasureGroupOfOneFolderSurvivesTwoWipedDevices) {
  make_folder("32MiB", "block-4-2");
  const std::string bytes = some_bytes(100'000, 3);
  ASSERT_EQ(blob({"put", "--auto", "1:1:1:0:0:0:0", "-"}, bytes).code, 0);
  for (const int lost : {2, 5}) {
    std::filesystem::remove(device(lost));
    ASSERT_EQ(run({"device", "format", device(lost), "--size", "32MiB"}).code, 0);
  }
  const Outcome got = blob({"get", "1:1:1:0:0:100000:0"});
  EXPECT_EQ(got.code, 0) << got.err;
  EXPECT_EQ(got.out, bytes);
}

TEST_F(Cli, ChecksAHealthyFolderWithoutChangingIt) {
  make_folder("32MiB");
  for (int step = 1; step <= 20; ++step) {
    ASSERT_EQ(blob({"put", "--auto", "1:1:" + std::to_string(step) + ":0:0:0:0", "-"},
                   some_bytes(static_cast<std::size_t>(step) * 5'000, 1))
                  .code,
              0);
  }
  const std::uint32_t before = fingerprint(device());
  const Outcome text = blob({"check"});
  EXPECT_EQ(text.code, 0) << text.out << text.err;
  EXPECT_NE(text.out.find("sound"), std::string::npos);
  EXPECT_NE(text.out.find("20 blobs, 20 parts"), std::string::npos) << text.out;
  EXPECT_EQ(text.err, "") << "progress is for terminals";
  EXPECT_NE(blob({"check", "--json"}).out.find("\"sound\":true"), std::string::npos);
  EXPECT_EQ(fingerprint(device()), before);
}

TEST_F(Cli, CheckNamesTheDamagedBlob) {
  make_folder("32MiB");
  const std::string bytes = some_bytes(200'000, 9);
  ASSERT_EQ(blob({"put", "--auto", "1:1:1:0:0:0:0", "-"}, bytes).code, 0);
  std::string image = read_file(device());
  const std::size_t at = image.find(bytes.substr(150'000, 64));
  ASSERT_NE(at, std::string::npos);
  image[at] = static_cast<char>(image[at] ^ 1);
  write_file(device(), image);
  const Outcome checked = blob({"check"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find("DAMAGED [1:1:1:0:0:200000:1]"), std::string::npos) << checked.out;
  EXPECT_EQ(checked.err, "moraine: damage was found\n") << "no progress where there is no terminal";
  const Outcome got = blob({"get", "1:1:1:0:0:200000:0"});
  EXPECT_EQ(got.code, 1) << "rotten bytes are not given out";
  EXPECT_TRUE(got.out.empty());
}

TEST_F(Cli, FormatsAndShowsADevice) {
  const std::string path = folder / "disk";
  const Outcome made = run({"device", "format", path, "--size", "64MiB", "--segment-size", "1MiB"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("63 segments"), std::string::npos) << made.out;
  const Outcome again = run({"device", "format", path});
  EXPECT_EQ(again.code, 3) << again.err;
  EXPECT_NE(again.err.find("--force"), std::string::npos) << again.err;
  EXPECT_EQ(run({"device", "format", path, "--force", "--json"}).code, 0);
  const Outcome info = run({"device", "info", path, "--json"});
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_NE(info.out.find("\"colour\":\"green\""), std::string::npos) << info.out;
  EXPECT_NE(run({"device", "info", path}).out.find("green"), std::string::npos);
}

TEST_F(Cli, HelpAndVersionArePrinted) {
  EXPECT_EQ(run({"--version"}).code, 0);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"serve"},
                                             {"init"},
                                             {"blob"},
                                             {"blob", "put"},
                                             {"blob", "get"},
                                             {"blob", "range"},
                                             {"blob", "discover"},
                                             {"blob", "block"},
                                             {"blob", "collect"},
                                             {"blob", "status"},
                                             {"blob", "check"},
                                             {"device"},
                                             {"device", "format"},
                                             {"device", "info"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const Outcome help = run(arguments);
    EXPECT_EQ(help.code, 0);
    const bool leaf = command.size() == 2 || (command.size() == 1 && command[0].size() > 3 &&
                                              command[0] != "blob" && command[0] != "device");
    if (leaf) {
      EXPECT_NE(help.out.find("Example"), std::string::npos) << help.out;
    }
  }
}

}  // namespace
}  // namespace moraine::app
