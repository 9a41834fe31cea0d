// Summaries of texts, and summaries that a program fills itself: their bytes are TensorFlow's.
#include "train/summary/text.h"

#include <fmt/format.h>

#include "tests/train/golden_nodes.h"
#include "tests/train/summary/support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text + "\n";
}

tf::Summary filled_summary() {
  return {
      .value = {{.tag = "a", .simple_value = 0.0F},
                {.tag = "i",
                 .image =
                     tf::Summary::Image{
                         .height = 1, .width = 2, .colorspace = 3, .encoded_image_string = "png"}},
                {.tag = "h", .histo = summary::HistogramData{1, 2, 3, 4, 5, {1.5, 2.5}, {1, 2}}}}};
}

}  // namespace

TEST_CASE("summary::text and tf::Summary: nodes and bytes are TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor table, text;
  {
    const auto scope = tf::name_scope("s");
    table = tf::summary::text("my text", tf::constant({{"a", "bc"}, {"", "d"}}));
  }
  text = tf::summary::text("t2", tf::constant("x"), {.collections = {{"kept"}}});
  std::string lines = node_lines(graph, 0);
  Session session;
  lines += hex(session.run(table).item<std::string>());
  lines += hex(session.run(text).item<std::string>());
  lines += hex(filled_summary().SerializeToString());
  CHECK(lines == read_raw("tests/train/golden/text_summary.txt"));
  CHECK(graph.collections().matching(GraphKeys::SUMMARIES, std::nullopt).size() == 1);
  CHECK_THROWS_AS(tf::summary::text("t3", tf::constant(1)), ValueError);
}

TEST_CASE("tf::Summary: what is added to a file is read again") {
  const ScratchFolder folder;
  std::string path;
  {
    tf::summary::FileWriter writer(folder.path());
    path = writer.path();
    writer.add_summary(filled_summary(), 7);
    writer.close();
  }
  const auto events = read_events(path);
  REQUIRE(events.size() == 2);
  CHECK(events[1].step == 7);
  CHECK(events[1].summary == filled_summary().value);
  CHECK(tf::Summary::FromString(filled_summary().SerializeToString()) == filled_summary());
  CHECK_THROWS_AS(tf::Summary::FromString("\xff"), errors::DataLossError);
}
