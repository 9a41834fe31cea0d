#pragma once

#include <cstdint>
#include <string>

#include "data/record_reader.h"

namespace towerflow::types {

struct FixedLengthRecordReaderOptions {
  std::int64_t header_bytes = 0;  ///< before the first record
  std::int64_t footer_bytes = 0;  ///< at the end of a file, after the last record
  std::int64_t hop_bytes = 0;     ///< from one record's start to the next; 0: record_bytes
  std::string name{};
  std::string encoding{};  ///< "", "ZLIB" or "GZIP": the compression of the files
};

/// Reads records of one length, such as CIFAR-10's. Keys are "path:record number", counted from 0
/// in each file; a partial record at the end of a file is skipped.
///
/// errors   ValueError: record_bytes below 1 or above 2^30, a negative number, an unknown encoding;
///          in a run those of `TFRecordReader`
/// source   tf.FixedLengthRecordReader
class FixedLengthRecordReader : public ReaderBase {
 public:
  explicit FixedLengthRecordReader(std::int64_t record_bytes,
                                   FixedLengthRecordReaderOptions options = {},
                                   Site site = Site::current());
};

struct TextLineReaderOptions {
  std::int64_t skip_header_lines = 0;  ///< of each file
  std::string name{};
};

/// Reads lines, without "\n" or "\r\n". Keys are "path:line number", from 1.
///
/// errors   ValueError: skip_header_lines below 0; at run time ResourceExhaustedError: a line of
///          more than 2^30 bytes; and those of `TFRecordReader`
/// source   tf.TextLineReader
class TextLineReader : public ReaderBase {
 public:
  explicit TextLineReader(TextLineReaderOptions options = {}, Site site = Site::current());
};

struct WholeFileReaderOptions {
  std::string name{};
};

/// Reads whole files. Keys are their paths.
///
/// errors   at run time ResourceExhaustedError: a file of more than 2^30 bytes; and those of
///          `TFRecordReader`
/// source   tf.WholeFileReader
class WholeFileReader : public ReaderBase {
 public:
  explicit WholeFileReader(WholeFileReaderOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::types
