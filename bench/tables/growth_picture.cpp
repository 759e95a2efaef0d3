#include "bench/tables/growth_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/invariant.h"

namespace moraine::bench {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 400;
constexpr double kLeft = 80;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr int kGridLines = 4;

// Maps values to positions in the picture.
class Frame {
 public:
  explicit Frame(const std::vector<GrowthPoint>& points)
      : first_(std::log(static_cast<double>(points.front().rows))),
        last_(std::log(static_cast<double>(points.back().rows))) {
    for (const GrowthPoint& point : points) top_ = std::max({top_, point.ours, point.peer});
  }
  double x(std::uint64_t rows) const {
    const double share = (std::log(static_cast<double>(rows)) - first_) / (last_ - first_);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double y(double rate) const {
    return kHeight - kBottom - rate / top_ * (kHeight - kTop - kBottom);
  }
  double top() const { return top_; }

 private:
  double first_;
  double last_;
  double top_ = 1;
};

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     words);
}

std::string grid(const Frame& frame) {
  std::string out;
  for (int i = 0; i <= kGridLines; ++i) {
    const double rate = frame.top() * i / kGridLines;
    const double y = frame.y(rate);
    out +=
        fmt::format("<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n",
                    kLeft, kWidth - kRight, y);
    out += text(kLeft - 8, y + 4, "end", fmt::format("{:.0f}k/s", rate / 1e3));
  }
  return out;
}

std::string curve(const Frame& frame, const std::vector<GrowthPoint>& points,
                  double GrowthPoint::* rate, const char* colour, const char* name) {
  std::string path;
  std::string dots;
  for (const GrowthPoint& point : points) {
    const double x = frame.x(point.rows);
    const double y = frame.y(point.*rate);
    path += fmt::format("{:.1f},{:.1f} ", x, y);
    dots +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y, colour);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n{}",
                     path, colour, dots) +
         text(kWidth - kRight, frame.y(points.back().*rate) - 10, "end", name);
}

}  // namespace

std::string growth_picture(const std::vector<GrowthPoint>& points) {
  INVARIANT(points.size() >= 2, "a curve of {} points", points.size());
  const Frame frame(points);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += text(kLeft, kTop / 2, "start", "Point lookups on one thread, all rows in memory");
  out += grid(frame);
  for (const GrowthPoint& point : points) {
    out += text(frame.x(point.rows), kHeight - kBottom + 20, "middle",
                fmt::format("{:g} M rows", static_cast<double>(point.rows) / 1e6));
  }
  out += curve(frame, points, &GrowthPoint::ours, "#0a6", "Moraine");
  out += curve(frame, points, &GrowthPoint::peer, "#c50", "RocksDB");
  return out + "</svg>\n";
}

}  // namespace moraine::bench
