// Draws curves of simulated towers as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/scale/curve.h"

namespace towerflow::report {
namespace {

constexpr std::array<const char*, 8> kColours{"#1f5fa8", "#c4501b", "#2e8b57", "#8a3fa0",
                                              "#b08900", "#c2185b", "#00838f", "#6d4c41"};
constexpr std::array<const char*, 3> kDashes{"none", "6 4", "2 3"};
constexpr double kTop = 52, kHeight = 300, kWidth = 330;
constexpr double kLeft[] = {74, 494};  // of the two panels

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  return value >= 1e4 ? fmt::format("{:g}k", value / 1e3) : fmt::format("{:g}", value);
}

/// The scales of the picture: powers of two of towers, powers of ten of examples per second.
struct Scales {
  double first = 1e9, last = 1, low = 1e300, high = 0;

  void show(int towers, double rate) {
    first = std::min(first, static_cast<double>(towers));
    last = std::max(last, static_cast<double>(towers));
    low = std::min(low, rate);
    high = std::max(high, rate);
  }
  double x(int panel, double towers) const {
    const double all = std::log2(last / first);
    return kLeft[panel] + (all > 0 ? std::log2(towers / first) / all : 0.5) * kWidth;
  }
  double y(int panel, double value) const {
    const double share = panel == 1 ? value : std::log(value / low) / std::log(high / low);
    return kTop + (1 - std::clamp(share, 0.0, 1.05)) * kHeight;
  }
};

std::string axes(const Scales& scales) {
  std::string text;
  for (int panel = 0; panel < 2; ++panel) {
    const auto line = [&](double value, const std::string& name) {
      const double y = scales.y(panel, value);
      text += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n", kLeft[panel], y,
                          kLeft[panel] + kWidth);
      text += label(kLeft[panel] - 6, y + 4, "end", name);
    };
    if (panel == 1) {
      for (int percent = 0; percent <= 100; percent += 20) {
        line(percent / 100.0, fmt::format("{} %", percent));
      }
    } else {
      for (double ten = std::pow(10, std::floor(std::log10(scales.low))); ten <= scales.high;
           ten *= 10) {
        for (const double value : {ten, 2 * ten, 5 * ten}) {
          if (value >= scales.low * 0.999 && value <= scales.high * 1.001) {
            line(value, short_number(value));
          }
        }
      }
    }
    for (double towers = scales.first; towers <= scales.last * 1.001; towers *= 2) {
      text += label(scales.x(panel, towers), kTop + kHeight + 18, "middle", short_number(towers));
    }
    text += label(kLeft[panel] + kWidth / 2, kTop + kHeight + 36, "middle", "towers");
    text += label(kLeft[panel], kTop - 12, "start",
                  panel == 0 ? "examples a second" : "efficiency against independent towers");
  }
  return text;
}

/// Returns the attributes of the line of curve `i`. Once each colour was used, lines are dashed.
std::string stroke(std::size_t i) {
  const char* dashes = kDashes[i / kColours.size() % kDashes.size()];
  return fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\"", kColours[i % kColours.size()],
                     dashes);
}

std::string line_of(const Scales& scales, const ScaleCurve& curve, std::size_t number) {
  const char* colour = kColours[number % kColours.size()];
  std::string text;
  for (int panel = 0; panel < 2; ++panel) {
    std::string points, dots;
    for (std::size_t i = 0; i < curve.towers.size(); ++i) {
      const double x = scales.x(panel, curve.towers[i]);
      const double y = scales.y(panel, panel == 0 ? curve.rate(i) : curve.results[i].efficiency());
      points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y);
      dots +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>\n", x, y, colour);
    }
    text += fmt::format("<polyline points=\"{}\" fill=\"none\" {} stroke-width=\"1.8\"/>\n", points,
                        stroke(number));
    text += dots;
  }
  return text;
}

}  // namespace

std::string curve_picture(const std::string& title, const std::vector<ScaleCurve>& curves,
                          const std::vector<std::vector<PublishedPoint>>& published) {
  Scales scales;
  for (const ScaleCurve& curve : curves) {
    for (std::size_t i = 0; i < curve.towers.size(); ++i) {
      scales.show(curve.towers[i], curve.rate(i));
    }
  }
  for (const auto& points : published) {
    for (const PublishedPoint& point : points) scales.show(point.towers, point.examples_per_second);
  }
  scales.low *= 0.8;
  scales.high *= 1.25;
  const std::size_t rows = (curves.size() + 2) / 3;
  const double height = kTop + kHeight + 56 + 20.0 * static_cast<double>(rows);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 850 {0:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
      "<rect width=\"850\" height=\"{0:.0f}\" fill=\"white\"/>\n",
      height);
  text += fmt::format("<text x=\"74\" y=\"16\" font-size=\"14\">{}</text>\n", escaped(title));
  text += axes(scales);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    text += line_of(scales, curves[i], i);
    if (i < published.size()) {
      for (const PublishedPoint& point : published[i]) {
        const double alone = curves[i].examples / curves[i].results.front().alone;
        const double efficiency = point.examples_per_second / point.towers / alone;
        for (int panel = 0; panel < 2; ++panel) {
          text += fmt::format(
              "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"none\" stroke=\"{}\"/>\n",
              scales.x(panel, point.towers),
              scales.y(panel, panel == 0 ? point.examples_per_second : efficiency), colour);
        }
      }
    }
    const double x = kLeft[0] + 260.0 * static_cast<double>(i % 3);
    const double y = kTop + kHeight + 60 + 20.0 * static_cast<double>(i / 3);
    text +=
        fmt::format("<path d=\"M{:.1f} {:.1f}h18\" {} stroke-width=\"2\"/>\n", x, y - 4, stroke(i));
    text += label(x + 24, y, "start", curves[i].name);
  }
  return text + "</svg>\n";
}

}  // namespace towerflow::report
