#include "train/summary/event.h"

#include <chrono>

#include "train/summary/event.pb.h"
#include "train/summary/packed_items.h"
#include "train/summary/summary.pb.h"

namespace towerflow::summary {
namespace {

HistogramData histogram_of(const proto::HistogramProto& proto) {
  return {proto.min(),
          proto.max(),
          proto.num(),
          proto.sum(),
          proto.sum_squares(),
          {proto.bucket_limit().begin(), proto.bucket_limit().end()},
          {proto.bucket().begin(), proto.bucket().end()}};
}

void fill(proto::HistogramProto& proto, const HistogramData& histogram) {
  proto.set_min(histogram.min);
  proto.set_max(histogram.max);
  proto.set_num(histogram.num);
  proto.set_sum(histogram.sum);
  proto.set_sum_squares(histogram.sum_squares);
  proto.mutable_bucket_limit()->Add(histogram.bucket_limit.begin(), histogram.bucket_limit.end());
  proto.mutable_bucket()->Add(histogram.bucket.begin(), histogram.bucket.end());
}

SummaryImage image_of(const proto::Summary::Image& proto) {
  return {proto.height(), proto.width(), proto.colorspace(), proto.encoded_image_string()};
}

void fill(proto::Summary::Image& proto, const SummaryImage& image) {
  proto.set_height(image.height);
  proto.set_width(image.width);
  proto.set_colorspace(image.colorspace);
  proto.set_encoded_image_string(image.encoded_image_string);
}

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string serialize_summary(const std::vector<SummaryValue>& values) {
  proto::Summary summary;
  for (const SummaryValue& value : values) {
    proto::Summary::Value& made = *summary.add_value();
    made.set_tag(value.tag);
    if (value.simple_value) made.set_simple_value(*value.simple_value);
    if (value.histo) fill(*made.mutable_histo(), *value.histo);
    if (value.image) fill(*made.mutable_image(), *value.image);
  }
  return summary.SerializeAsString();
}

std::string serialize_event(double wall_time, std::int64_t step, std::string_view summary) {
  proto::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  event.set_summary(summary.data(), summary.size());
  return event.SerializeAsString();
}

std::string serialize(const Event& event) {
  proto::Event made;
  made.set_wall_time(event.wall_time);
  made.set_step(event.step);
  if (!event.file_version.empty()) made.set_file_version(event.file_version);
  if (event.summary) made.set_summary(serialize_summary(*event.summary));
  if (event.graph_def) made.set_graph_def(*event.graph_def);
  if (event.meta_graph_def) made.set_meta_graph_def(*event.meta_graph_def);
  if (event.session_log) {
    proto::SessionLog& log = *made.mutable_session_log();
    log.set_status(event.session_log->status);
    log.set_checkpoint_path(event.session_log->checkpoint_path);
    log.set_msg(event.session_log->msg);
  }
  return made.SerializeAsString();
}

std::vector<SummaryValue> parse_summary(std::string_view bytes) {
  std::vector<SummaryValue> values;
  proto::Summary::Value proto;
  for_each_item(bytes, "Summary", [&](std::string_view item) {
    if (!parse_message(item, proto)) return false;
    SummaryValue value{proto.tag()};
    if (proto.has_simple_value()) value.simple_value = proto.simple_value();
    if (proto.has_histo()) value.histo = histogram_of(proto.histo());
    if (proto.has_image()) value.image = image_of(proto.image());
    values.push_back(std::move(value));
    return true;
  });
  return values;
}

Event parse_event(std::string_view bytes) {
  proto::Event proto;
  if (bytes.size() > INT_MAX || !parse_message(bytes, proto)) {
    throw errors::DataLossError(fmt::format("damaged Event of {} bytes", bytes.size()));
  }
  Event event{proto.wall_time(), proto.step()};
  switch (proto.what_case()) {
    case proto::Event::kFileVersion:
      event.file_version = proto.file_version();
      break;
    case proto::Event::kSummary:
      event.summary = parse_summary(proto.summary());
      break;
    case proto::Event::kGraphDef:
      event.graph_def = std::move(*proto.mutable_graph_def());
      break;
    case proto::Event::kMetaGraphDef:
      event.meta_graph_def = std::move(*proto.mutable_meta_graph_def());
      break;
    case proto::Event::kSessionLog:
      event.session_log =
          SessionLog{static_cast<SessionLog::Status>(proto.session_log().status()),
                     proto.session_log().checkpoint_path(), proto.session_log().msg()};
      break;
    case proto::Event::WHAT_NOT_SET:
      break;
  }
  return event;
}

}  // namespace towerflow::summary

namespace towerflow::types {

std::string Summary::SerializeToString() const { return summary::serialize_summary(value); }
Summary Summary::FromString(std::string_view bytes) { return {summary::parse_summary(bytes)}; }

}  // namespace towerflow::types
