#include "cluster/local/data_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "blob/device/device.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/file_holder.h"
#include "cluster/local/files.h"
#include "cluster/local/http_get.h"
#include "io/real/disk_file.h"
#include "io/real/real_world.h"

namespace moraine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVersionLine = "moraine data folder, version ";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kVersionFile = "VERSION";
constexpr std::string_view kMakingFile = "VERSION.making";
constexpr std::string_view kConfigFile = "cluster.yaml";
constexpr std::string_view kAddressFile = "node.port";
constexpr std::string_view kKafkaAddressFile = "kafka.address";
constexpr std::string_view kDevicePrefix = "device-";
constexpr double kFreeShare = 0.8;
constexpr std::size_t kQuotedBytesMax = 60;
constexpr Duration kProbeTimeout = 1s;

std::string inside(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

bool is_own_name(std::string_view name) {
  if (name.ends_with(".new")) name.remove_suffix(4);
  return name == kVersionFile || name == kMakingFile || name == kConfigFile ||
         name == kAddressFile || name == kKafkaAddressFile || name.starts_with(kDevicePrefix);
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name != "lost+found") names.push_back(name);
  }
  if (error) return std::unexpected(disk_error(error.value(), "list", folder));
  return names;
}

bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Enough of the line to recognise it.
std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kQuotedBytesMax));
}

Result<void> check_version(const std::string& folder) {
  TRY(const std::string text, read_text(inside(folder, kVersionFile)));
  std::string_view rest = text;
  std::uint32_t version = 0;
  if (!rest.starts_with(kVersionLine)) {
    return fail(Errc::kUnsupported,
                fmt::format("{} begins with {:?} where a data folder of moraine has {:?}",
                            inside(folder, kVersionFile), first_line(text),
                            fmt::format("{}{}", kVersionLine, kVersion)));
  }
  rest.remove_prefix(kVersionLine.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), version);
  if (error != std::errc{} || std::string_view(end, rest.data() + rest.size()) != "\n") {
    return fail(Errc::kUnsupported,
                fmt::format("{} names no version: it has {:?} where {:?} is expected",
                            inside(folder, kVersionFile), first_line(text),
                            fmt::format("{}{}", kVersionLine, kVersion)));
  }
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("{} is a data folder of version {}; this program "
                                                "knows version {}",
                                                folder, version, kVersion));
  }
  return {};
}

// Prevents a second process from creating the same folder at the same time.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::string& folder) {
    FolderLock lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.fd_ < 0) return std::unexpected(disk_error(errno, "open", folder));
    if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      return fail(Errc::kConflict, folder + ": another process is creating this data folder");
    }
    return lock;
  }
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

Result<std::uint64_t> default_size(const std::string& folder, std::uint32_t devices) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return std::unexpected(disk_error(error.value(), "free space of", folder));
  const auto share = static_cast<std::uint64_t>(static_cast<double>(space.available) * kFreeShare);
  return align_down(std::min(kFolderSizeDefaultMax, share / devices), kSectorSize);
}

// With device paths relative to the folder, so that it can be moved.
Result<blob::ClusterConfig> plan_config(const std::string& folder, const NewFolder& options,
                                        std::uint64_t cluster_id) {
  blob::GroupConfig group;
  group.id = kFolderGroup;
  group.geometry = blob::Geometry::standard(options.species);
  std::uint64_t size = align_down(options.size, kSectorSize);
  if (options.size == 0) {
    TRY(size, default_size(folder, group.geometry.disks()));
  }
  const std::uint32_t segment_bytes =
      options.segment_bytes != 0 ? options.segment_bytes : choose_segment_bytes(size);
  // Whole sectors are used; messages have the requested size.
  TRY_VOID(blob::plan_superblock(options.size != 0 ? options.size : size, segment_bytes));
  blob::NodeConfig node;
  node.id = kFolderNode;
  node.host = "127.0.0.1";
  for (std::uint32_t id = 1; id <= group.geometry.disks(); ++id) {
    node.devices.push_back({id, fmt::format("{}{}", kDevicePrefix, id), size, segment_bytes});
    group.disks.push_back({node.id, id, 0});
  }
  blob::ClusterConfig config;
  config.name = "folder";
  config.id = cluster_id;
  config.nodes.push_back(std::move(node));
  config.groups.push_back(std::move(group));
  TRY_VOID(check(config));
  return config;
}

Task<Result<void>> format_devices(World world, blob::ClusterConfig config, std::uint32_t prefill) {
  for (const blob::DeviceConfig& device : config.nodes.front().devices) {
    blob::FormatOptions options;
    options.size = device.size;
    options.segment_bytes = static_cast<std::uint32_t>(device.segment_size);
    options.prefill_segments = prefill;
    CO_TRY_VOID(co_await blob::Device::format(world, device.path, options));
  }
  co_return Result<void>();
}

Result<void> remove_half_made(const std::string& folder) {
  TRY(const std::vector<std::string> names, names_in(folder));
  for (const std::string& name : names) {
    if (name == kMakingFile) continue;
    if (unlink(inside(folder, name).c_str()) != 0) {
      return std::unexpected(disk_error(errno, "remove", inside(folder, name)));
    }
  }
  return {};
}

// Devices are sparse files: they may be larger than what is free now.
void warn_of_space(const std::string& folder, const blob::NodeConfig& node) {
  std::uint64_t bytes = 0;
  for (const blob::DeviceConfig& device : node.devices) bytes += device.size;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || bytes <= space.available) return;
  log_warning(
      "the devices are larger than the free space of their file system: it may be full "
      "before they are",
      {{"folder", folder}, {"devices", bytes}, {"free", std::uint64_t{space.available}}});
}

Result<void> fill_folder(const std::string& folder, const NewFolder& options) {
  RealWorld world;
  TRY_VOID(write_text(inside(folder, kMakingFile), ""));
  TRY_VOID(remove_half_made(folder));
  TRY(const blob::ClusterConfig config, plan_config(folder, options, world.world().random.next()));
  warn_of_space(folder, config.nodes.front());
  const std::string head =
      "# Written when the data folder was made. Paths are relative to this file; the port is "
      "chosen\n"
      "# anew at each start and stands in node.port.\n";
  TRY_VOID(write_text(inside(folder, kConfigFile), head + to_yaml(config)));
  TRY(blob::ClusterConfig loaded, load_cluster_file(inside(folder, kConfigFile)));
  TRY_VOID(world.run(format_devices(world.world(), std::move(loaded), options.prefill_segments)));
  TRY_VOID(write_text(inside(folder, kVersionFile), fmt::format("{}{}\n", kVersionLine, kVersion)));
  unlink(inside(folder, kMakingFile).c_str());
  return {};
}

// Removes the files of a failed creation, and the folder if it was created for it.
void undo(const std::string& folder, bool folder_was_there) {
  if (auto removed = remove_half_made(folder); !removed) {
    log_warning("incomplete data folder could not be removed",
                {{"path", folder}, {"why", removed.error()}});
    return;
  }
  unlink(inside(folder, kMakingFile).c_str());
  if (!folder_was_there) rmdir(folder.c_str());
}

// The address is only for commands on this machine, which can also get it as an option: a full file
// system must not prevent a start.
Result<void> write_address(const std::string& path, const TcpAddress& address) {
  const std::string text = to_string(address) + "\n";
  auto written = write_text(path, text);
  if (written || written.error().code != Errc::kNoSpace) return written;
  // The file of a killed server is wrong, and may take the last free space.
  unlink(path.c_str());
  written = write_text(path, text);
  if (written || written.error().code != Errc::kNoSpace) return written;
  unlink((path + ".new").c_str());
  log_warning("no space to write the server's address: commands with --data will not find it",
              {{"file", path}, {"address", to_string(address)}});
  return {};
}

}  // namespace

Result<std::uint64_t> parse_device_size(std::string_view text) {
  TRY(const std::uint64_t size, blob::parse_size(text));
  if (size == 0) return fail(Errc::kInvalidArgument, "--size 0: a device needs some space");
  if (size > kDeviceSizeMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--size {}: at most {}", text, blob::print_size(kDeviceSizeMax)));
  }
  return size;
}

Result<bool> can_create_data_folder(const std::string& path) {
  if (path.empty()) return fail(Errc::kInvalidArgument, "the path of the data folder is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return true;
  if (error) return std::unexpected(disk_error(error.value(), "open", path));
  if (status.type() != fs::file_type::directory) {
    return fail(Errc::kUnsupported, path + " is not a folder");
  }
  TRY(const std::vector<std::string> names, names_in(path));
  if (has_name(names, kVersionFile)) return false;
  if (names.empty()) return true;
  const auto foreign = std::ranges::find_if_not(names, is_own_name);
  if (foreign != names.end()) {
    return fail(Errc::kUnsupported,
                fmt::format("{} is no data folder: it holds '{}', which is not of moraine. Give a "
                            "folder that is empty or does not exist yet; nothing was touched",
                            path, *foreign));
  }
  if (!has_name(names, kMakingFile)) {
    return fail(
        Errc::kUnsupported,
        fmt::format("{} has files of a data folder, but no VERSION file; nothing was touched",
                    path));
  }
  return true;
}

Result<DataFolder> open_data_folder(const std::string& path) {
  TRY(const bool fresh, can_create_data_folder(path));
  if (fresh) {
    return fail(Errc::kNotFound, fmt::format("{} is no data folder yet; moraine serve or moraine "
                                             "init creates one",
                                             path));
  }
  TRY_VOID(check_version(path));
  auto loaded = load_cluster_file(inside(path, kConfigFile));
  if (!loaded) {
    const bool contradicts = loaded.error().code == Errc::kInvalidArgument;
    return fail(contradicts ? Errc::kUnsupported : loaded.error().code, loaded.error().context);
  }
  blob::ClusterConfig& config = *loaded;
  if (config.nodes.size() != 1) {
    return fail(Errc::kUnsupported, fmt::format("{} has {} nodes; a data folder has one",
                                                inside(path, kConfigFile), config.nodes.size()));
  }
  return DataFolder{path, std::move(config)};
}

Result<DataFolder> create_data_folder(const std::string& path, const NewFolder& options) {
  TRY(const bool fresh, can_create_data_folder(path));
  if (!fresh) return fail(Errc::kAlreadyExists, path + " is a data folder already");
  std::error_code error;
  const bool was_there = fs::exists(path, error);
  fs::create_directories(path, error);
  if (error) return std::unexpected(disk_error(error.value(), "make folder", path));
  TRY(const FolderLock lock, FolderLock::take(path));
  TRY(const bool still_fresh, can_create_data_folder(path));
  if (!still_fresh) return fail(Errc::kAlreadyExists, path + " was created by another process");
  if (auto filled = fill_folder(path, options); !filled) {
    undo(path, was_there);
    return std::unexpected(std::move(filled).error());
  }
  return open_data_folder(path);
}

Result<void> write_node_address(const DataFolder& folder, const TcpAddress& address) {
  return write_address(inside(folder.path, kAddressFile), address);
}

Result<std::optional<TcpAddress>> read_node_address(const DataFolder& folder) {
  std::error_code error;
  const std::string path = inside(folder.path, kAddressFile);
  if (!fs::exists(path, error)) return std::nullopt;
  TRY(const std::string text, read_text(path));
  TRY(TcpAddress address, parse_address(text.substr(0, text.find('\n'))));
  return address;
}

std::string in_use_advice(const std::string& device) {
  const std::string folder = fs::path(device).parent_path().string();
  const auto address_in = [&folder](std::string_view file) {
    const std::string path = inside(folder, file);
    std::error_code ignored;
    const auto text = fs::exists(path, ignored) ? read_text(path) : Result<std::string>("");
    return text ? first_line(*text) : "";
  };
  const std::string holder = holder_text(device);
  const std::string node = address_in(kAddressFile);
  const auto parsed = parse_address(node);
  if (!parsed || !can_connect(*parsed, kProbeTimeout)) {
    return fmt::format("{} has it open: a server or another command; try again when that has ended",
                       holder);
  }
  const std::string kafka = address_in(kKafkaAddressFile);
  return fmt::format(
      "{} serves it (node {}{}{}): stop that server first, or ask it with moraine blob status "
      "--data {}",
      holder, node, kafka.empty() ? "" : ", kafka ", kafka, folder.empty() ? "." : folder);
}

void remove_node_address(const DataFolder& folder) {
  unlink(inside(folder.path, kAddressFile).c_str());
}

Result<void> write_kafka_address(const DataFolder& folder, const TcpAddress& address) {
  return write_address(inside(folder.path, kKafkaAddressFile), address);
}

Result<TcpAddress> read_kafka_address(const DataFolder& folder) {
  std::error_code error;
  const std::string path = inside(folder.path, kKafkaAddressFile);
  if (!fs::exists(path, error)) {
    return fail(
        Errc::kUnavailable,
        fmt::format("no server serves topics of {}; start one with: moraine serve --data {}",
                    folder.path, folder.path));
  }
  TRY(const std::string text, read_text(path));
  return parse_address(text.substr(0, text.find('\n')));
}

void remove_kafka_address(const DataFolder& folder) {
  unlink(inside(folder.path, kKafkaAddressFile).c_str());
}

blob::ClusterConfig with_address(blob::ClusterConfig config, const TcpAddress& address) {
  config.nodes.front().host = address.host;
  config.nodes.front().port = address.port;
  return config;
}

bool clock_is_confirmed() {
  const char* value = std::getenv("MORAINE_ACCEPT_CLOCK");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace moraine
