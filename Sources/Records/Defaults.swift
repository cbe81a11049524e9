// Protocol/records.md, "Defaults": what a new record gets where its author says nothing.

package import Replication
package import Wire

extension Kind {
  /// The fields of a new record that its author did not name, at a time in milliseconds since 1970.
  package func defaults(now: Int64) -> [FieldNumber: Value] {
    // Exported files have whole seconds: what is made here must come back from there unchanged.
    let second = wholeSecond(now)
    let named: [String: Value] =
      switch number {
      case KindNumbers.trip: ["createdDate": .integer(second), "isProtected": .bool(false)]
      case KindNumbers.lodging, KindNumbers.activity:
        ["paid": .text("none"), "hideLocation": .bool(false)]
      case KindNumbers.transportation: ["paid": .text("none")]
      case KindNumbers.attachment: ["createdDate": .integer(second)]
      case KindNumbers.habit:
        [
          "colorHex": .text("#2DA9E3"), "kind": .text("binary"), "schedule": .text("daily"),
          "reminders": .array([]), "startDate": .integer(second), "isActive": .bool(true),
          "displayOrder": .integer(0), "isPinned": .bool(false),
        ]
      case KindNumbers.category:
        ["isActive": .bool(true), "isPredefined": .bool(false), "order": .integer(0)]
      default: [:]
      }
    return Dictionary(uniqueKeysWithValues: named.map { (self.number($0.key), $0.value) })
  }
}
