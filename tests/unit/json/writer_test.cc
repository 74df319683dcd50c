// Strings as they are written: whatever stands where, in whatever company.
#include "dlo/json/writer.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace dlo {
namespace {

std::string written(std::string_view text) {
  JsonWriter json;
  json.text(text);
  return json.take();
}

/// Byte by byte, by the book (RFC 8259), with DEL as a control character.
std::string by_the_book(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::string_view special = "\"\\\b\f\n\r\t";
    const std::string_view letters = "\"\\bfnrt";
    if (const auto at = special.find(c); at != std::string_view::npos) {
      out += {'\\', letters[at]};
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view hex = "0123456789abcdef";
      out += "\\u00";
      out += {hex[byte >> 4U], hex[byte & 0xFU]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

TEST(JsonWriter, EveryCharacterIsWrittenRightWhereverItStands) {
  for (std::size_t size = 1; size <= 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 0; c < 0x80; ++c) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(c);
        ASSERT_EQ(written(text), by_the_book(text)) << "byte " << c << " at " << at;
        if (at > 0) text[at - 1] = '\x1F';  // the neighbour borrows
        ASSERT_EQ(written(text), by_the_book(text)) << "byte " << c << " at " << at;
      }
    }
  }
}

TEST(JsonWriter, LettersOfOtherAlphabetsStayWhatTheyAre) {
  for (std::size_t before = 0; before < 9; ++before) {
    const std::string text = std::string(before, 'x') + "gr\xC3\xBC\xC3\x9F \"\xF0\x9F\x98\x80\"";
    EXPECT_EQ(written(text), by_the_book(text));
  }
}

TEST(JsonWriter, NamesAreWrittenAsStringsAre) {
  JsonWriter json;
  json.begin_object().member("", "").member("a\"b", "x").key("tab\t").null();
  json.member("\xC3\xA4", "\xC3\xA4").member("longer than eight", "also longer\n").end_object();
  EXPECT_EQ(json.take(),
            "{\"\":\"\",\"a\\\"b\":\"x\",\"tab\\t\":null,\"\xC3\xA4\":\"\xC3\xA4\","
            "\"longer than eight\":\"also longer\\n\"}");
}

TEST(JsonWriter, NumbersAreWrittenToTheirLastDigit) {
  JsonWriter json;
  json.begin_array()
      .number(std::numeric_limits<std::int64_t>::min())
      .number(std::numeric_limits<std::int64_t>::max())
      .number(std::numeric_limits<std::uint64_t>::max())
      .number(std::uint64_t{0})
      .end_array();
  EXPECT_EQ(json.take(), "[-9223372036854775808,9223372036854775807,18446744073709551615,0]");
}

}  // namespace
}  // namespace dlo
