import Records
import Testing
import Wire

struct RecordIDTests {
  @Test func `a UUID of either case is an id, and is written in upper case`() throws {
    let text = "0F8FAD5B-D9CB-469F-A165-70867728950E"
    let id = try #require(RecordID(uuid: text))
    #expect(id == RecordID(uuid: text.lowercased()))
    #expect(id.uuid == text)
    #expect(RecordID(kind: Kind.trip, key: text) == id)
  }

  @Test(arguments: [
    "", "0F8FAD5B-D9CB-469F-A165-70867728950", "0F8FAD5BD9CB469FA16570867728950E",
    "0F8FAD5B-D9CB-469F-A165-70867728950G", "0F8FAD5B-D9CB-469F-A1657-0867728950E",
    "0F8FAD5B-D9CB-469F-A165-70867728950é",
  ])
  func `invalid UUIDs are refused`(text: String) { #expect(RecordID(uuid: text) == nil) }

  @Test func `a text gives one id per kind`() {
    let health = RecordID(kind: Kind.category, key: "health")
    #expect(health == RecordID(kind: Kind.category, key: "health"))
    #expect(health != RecordID(kind: Kind.setting, key: "health"))
    #expect(health != RecordID(kind: Kind.category, key: "Health"))
    // The example of Protocol/records.md.
    #expect(health.uuid == "D2B0CE44-28AA-CE68-CD1A-5A9AF92DBBA1")
  }

  @Test func `new ids contain their time, version and variant, and sort by time`() {
    let random = Bytes16(.max, .max)
    let early = RecordID(milliseconds: 0x0123_4567_89ab, random: random)
    #expect(early.uuid == "01234567-89AB-7FFF-BFFF-FFFFFFFFFFFF")
    #expect(
      RecordID(milliseconds: 0x0123_4567_89ac, random: .zero).uuid == "01234567-89AC-7000-8000-000000000000")
    #expect(early < RecordID(milliseconds: 0x0123_4567_89ac, random: .zero))
  }
}
