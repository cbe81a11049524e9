import Platform
import JSONDocument
import Records
import Replication
import Storage
import Wire

// A record as a `Codable` value, for state restoration, widgets, intents and the like: its fields by the names and in
// the form that exported files have, so what another version of the app has encoded can be decoded.

extension Record {
  /// Decodes a record, together with what the store had when it was read. A field that is missing has its default, and
  /// a field that this version does not know is ignored.
  public init(from decoder: any Decoder) throws {
    let document = try JSON(from: decoder)
    func refused(_ text: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
    }
    guard let id = document["id"]?.string.flatMap({ ID($0) }) else { throw refused("expected an id") }
    self.init(id: id)
    for field in Self.fields.all {
      do throws(FieldError) {
        field.read(try Self.kind.field(field.number)?.value(in: document) ?? .null, &self)
      } catch {
        throw refused("expected \(error.allowed) as \(error.field)")
      }
    }
    guard let edits = document[RecordOrigin.key] else { return }
    guard let origin = RecordOrigin(edits, of: values) else { throw refused("expected earlier values") }
    self.origin = origin
  }

  /// Encodes the record, together with what the store had when it was read, so that a decoded record can be edited and
  /// saved like the record itself. Times are encoded to the millisecond, as the store keeps them.
  public func encode(to encoder: any Encoder) throws {
    let values = values
    var members = [JSON.Member("id", .string(id.description))]
    for (number, value) in values.sorted(by: { $0.key < $1.key }) where value != .null {
      guard value.isWritable else {
        throw EncodingError.invalidValue(
          self, .init(codingPath: encoder.codingPath, debugDescription: "a number is not finite"))
      }
      Self.kind.field(number)?.append(value, zones: CivilTime.offsets, to: &members)
    }
    if let edits = origin.edits(values) { members.append(.init(RecordOrigin.key, edits)) }
    try JSON.object(members.filter { !$0.value.isNull }).encode(to: encoder)
  }
}

extension RecordOrigin {
  /// The key of what the store had among the fields of a record. No field can have this name.
  fileprivate static let key = "_read"

  /// Returns what the store had in the fields that were edited since, by their numbers; nil for a new record.
  fileprivate func edits(_ edited: [FieldNumber: Value]) -> JSON? {
    guard let values else { return nil }
    let members = edited.keys.sorted().compactMap { number -> JSON.Member? in
      let held = values[number] ?? .null
      return isSame(held, edited[number]) ? nil : .init("\(number)", .string(Base64.encode(held.encoded)))
    }
    return .object(members)
  }

  /// - Parameter edited: the values of the record, which are those that the store had in all fields that were not
  ///   edited.
  fileprivate init?(_ edits: JSON, of edited: [FieldNumber: Value]) {
    guard let members = edits.members else { return nil }
    var values = edited
    for member in members {
      guard let number = FieldNumber(member.key), let text = member.value.string,
        let bytes = Base64.decode(text), let value = try? Value(encoded: bytes[...])
      else { return nil }
      values[number] = value
    }
    self.init(values)
  }
}
