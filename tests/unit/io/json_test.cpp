// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/io/file_error.hpp"
#include "cli/io/json_reader.hpp"
#include "cli/io/json_writer.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  JsonValue value;
  const Status status = parse_json(text, &value);
  EXPECT_EQ(status.code(), StatusCode::kIoError) << text;
  return status.message();
}

TEST(JsonReaderTest, ReadsEveryKindOfValueInOrder) {
  JsonValue value;
  ASSERT_TRUE(
      parse_json(R"( {"z": [1, -2, 2.5, "t\n", null, true], "a": {}, "b": 18446744073709551615} )",
                 &value)
          .ok());
  ASSERT_NE(value.object(), nullptr);
  EXPECT_EQ(value.object()->at(0).key, "z");
  EXPECT_EQ(value.object()->at(1).key, "a");
  const JsonValue::Array& array = *value.member("z")->array();
  EXPECT_EQ(*array[0].unsigned_integer(), 1u);
  EXPECT_EQ(std::get<int64_t>(array[1].value), -2);
  EXPECT_EQ(array[1].unsigned_integer(), nullptr);
  EXPECT_EQ(std::get<double>(array[2].value), 2.5);
  EXPECT_EQ(*array[3].string(), "t\n");
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(array[4].value));
  EXPECT_TRUE(std::get<bool>(array[5].value));
  EXPECT_TRUE(value.member("a")->object()->empty());
  EXPECT_EQ(*value.member("b")->unsigned_integer(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(value.member("missing"), nullptr);
}

TEST(JsonReaderTest, IntegersWithFractionOrExponentOrTooManyDigitsAreNoIntegers) {
  for (const char* text : {"1.0", "1e3", "18446744073709551616", "-1"}) {
    JsonValue value;
    ASSERT_TRUE(parse_json(text, &value).ok()) << text;
    EXPECT_EQ(value.unsigned_integer(), nullptr) << text;
  }
}

TEST(JsonReaderTest, RefusesARepeatedKeyAtAnyLevel) {
  EXPECT_THAT(refusal(R"({"a": 1, "b": 2, "a": 3})"), HasSubstr("'a' appears twice"));
  EXPECT_THAT(refusal(R"([{"x": {"q": 1, "q": 1}}])"), HasSubstr("'q' appears twice"));
  // The same key written with an escape is the same key.
  EXPECT_THAT(refusal(R"({"a": 1, "\u0061": 3})"), HasSubstr("'a' appears twice"));
  JsonValue value;
  EXPECT_TRUE(parse_json(R"({"a": {"a": 1}, "b": {"a": 1}})", &value).ok());
}

TEST(JsonReaderTest, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  JsonValue value;
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth), &value).ok());
  EXPECT_THAT(refusal(nested(kMaxJsonDepth + 1)), HasSubstr("nested more than 32 deep"));
  EXPECT_THAT(refusal(nested(100)), HasSubstr("nested more than 32 deep"));
  EXPECT_THAT(refusal(std::string(10'000'000, '[')), HasSubstr("nested more than 32 deep"));
}

TEST(JsonReaderTest, TheNumberOfValuesIsBounded) {
  std::string text = "[";
  for (size_t i = 0; i < kMaxJsonValues; ++i) {
    text += "0,";
  }
  text += "0]";
  EXPECT_THAT(refusal(text), HasSubstr("more than 4000000 values"));
}

TEST(JsonReaderTest, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\"\xFF\"", "\"\xC3\x28\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"", "\"\xE2\x82\""}) {
    EXPECT_THAT(refusal(text), HasSubstr("UTF-8")) << text;
  }
}

TEST(JsonReaderTest, MessagesSayWhereAndHoldNoControlCharacters) {
  const std::string message = refusal("{\"a\": \x1b[2J}");
  EXPECT_THAT(message, HasSubstr("byte 7"));
  EXPECT_EQ(message.find('\x1b'), std::string::npos) << message;
  EXPECT_THAT(refusal(""), HasSubstr("unexpected end of input"));
  EXPECT_THAT(refusal("{} {}"), HasSubstr("byte 4"));
}

TEST(JsonWriterTest, PutsCommasAndEscapes) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().integer(-1).size(2).number(0.1).end();
  json.key("b\"\\\n").string("\x01ü").key("c").begin_object().end();
  json.key("d").boolean(true).key("e").null().end();
  EXPECT_EQ(json.text(), R"({"a":[-1,2,0.1],"b\"\\\u000a":"\u0001ü","c":{},"d":true,"e":null})");
  JsonValue value;
  EXPECT_TRUE(parse_json(json.text(), &value).ok());
}

TEST(JsonWriterTest, WritesOnlyValidJsonWhateverTheBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  for (const std::string& text :
       {bytes, std::string("\xED\xA0\x80\xF4\x90\x80\x80\xE0\x80\x80\xC2"),
        std::string("\xF0\x9F\x98\x80 \xE2\x82\xAC \xC3\xBC")}) {
    JsonWriter json;
    json.string(text);
    JsonValue value;
    EXPECT_TRUE(parse_json(json.text(), &value).ok()) << json.text();
  }
  JsonWriter json;
  json.string("\xF0\x9F\x98\x80 \xE2\x82\xAC");
  EXPECT_EQ(json.text(), "\"\xF0\x9F\x98\x80 \xE2\x82\xAC\"");
}

TEST(JsonWriterTest, NumbersReadBackTheSameAndNonFiniteOnesAreNull) {
  for (const double number : {1.0, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0}) {
    JsonWriter json;
    json.number(number);
    EXPECT_EQ(std::strtod(json.text().c_str(), nullptr), number);
  }
  JsonWriter json;
  json.begin_array().number(NAN).number(INFINITY).number(-INFINITY).end();
  EXPECT_EQ(json.text(), "[null,null,null]");
}

TEST(PrintableTest, EscapesWhatATerminalWouldObeyOrCannotShow) {
  EXPECT_EQ(printable("a ü € \xF0\x9F\x98\x80"), "a ü € \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\x1b[2J\n\x7F"), "\\x1B[2J\\x0A\\x7F");
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J \xC2\xA0"),
            "\\xC2\\x9B"
            "2J \xC2\xA0");
  EXPECT_EQ(printable("\xFF\xC2"), "\\xFF\\xC2");
  EXPECT_EQ(quoted_text("x"), "'x'");
  EXPECT_EQ(quoted_text(std::string(120, 'n')).size(), 122u);
  const std::string cut = quoted_text(std::string(500, 'a') + std::string(500, 'z'));
  EXPECT_TRUE(cut.starts_with("'aaa") && cut.ends_with("zzz'")) << cut;
  EXPECT_EQ(cut.size(), 2u + 120u + std::string_view("…").size());
}

}  // namespace
}  // namespace mxgemm::cli
