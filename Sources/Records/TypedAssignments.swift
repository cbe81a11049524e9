// Protocol/records.md, "Command line": a value as the arguments that assign it, which `Assignments` parses.

import FileFormat
package import Replication
package import Wire

extension Kind {
  /// Returns the assignments that give a record these values; nil if one of the values can't be typed.
  ///
  /// - Parameter zones: the table of time zones, from which the offsets of times in a zone are taken.
  package func assignments(
    of values: [FieldNumber: Value], zones: ZoneOffsets
  ) -> [(name: String, text: String)]? {
    var assignments: [(name: String, text: String)] = []
    for (number, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let field = field(number), let parts = field.typedTexts(of: value, zones) else { return nil }
      assignments += parts
    }
    return assignments
  }
}

extension Field {
  /// The name under which the help lists a part of the field: an alias, if there is one.
  package func typedName(part: Int) -> String {
    aliases.filter { $0.value == parts[part] }.keys.min() ?? parts[part]
  }

  /// Returns the texts that assign a value, one for each part; nil if the value can't be typed.
  fileprivate func typedTexts(of value: Value, _ zones: ZoneOffsets) -> [(name: String, text: String)]? {
    let names = parts.indices.map(typedName)
    if value == .null { return [(names[0], "")] }
    switch type {
    case .instant, .datedInstant:
      guard case .integer(let time) = value.part(0) else { return nil }
      let zone = value.part(1).asText
      return [(names[0], zones.text(milliseconds: time, zone: zone)), (names[1], zone ?? "")]
    case .money:
      return value.part(0).asText.map { [(names[0], $0), (names[1], value.part(1).asText ?? "")] }
    case .coordinate:
      guard case .float(let latitude) = value.part(0), case .float(let longitude) = value.part(1) else {
        return nil
      }
      return [(names[0], plainText(latitude)), (names[1], plainText(longitude))]
    case .owner:
      guard case .integer(let number) = value.part(0), let kind = Schema.builtIn.kind(number: number),
        let id = value.part(1).asRecordID
      else { return nil }
      return [(kind.name, id.uuid)]
    default: return typedText(of: value).map { [(names[0], $0)] }
    }
  }

  /// Returns the text that assigns a value to a field of one part.
  private func typedText(of value: Value) -> String? {
    switch (type, value) {
    case (.reference(KindNumbers.address), _), (.blob, _), (.bytes, _), (.any, _): nil
    case (.list(let shape), _): shape.text(value)
    case (.uuid, _), (.reference, _): value.asRecordID?.uuid
    case (.timestamp, .integer(let time)): timeText(milliseconds: time)
    case (_, .bool(let flag)): flag ? "yes" : "no"
    case (_, .integer(let number)): "\(number)"
    case (_, .float(let number)): plainText(number)
    case (_, .text(let text)): text
    default: nil
    }
  }
}
