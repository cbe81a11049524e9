// Protocol/records.md lists the same kinds and fields, which a test checks. Numbers never change.

package import Replication
package import Wire

/// Every kind of record that this version knows.
package enum Registry {
  package static let kinds: [Kind] = [
    trip, lodging, transportation, activity, organization, address, attachment, content,
    habit, category, habitEntry, profile, setting,
  ]

  private static let byNumber = Dictionary(uniqueKeysWithValues: kinds.map { ($0.number, $0) })

  /// The kind with a number; nil for one that a newer version has added.
  package static func kind(_ number: KindNumber) -> Kind? { byNumber[number] }

  /// The kind with a name on the command line, singular or plural.
  package static func kind(named name: String) -> Kind? {
    kinds.first { $0.name == name || $0.plural == name }
  }

  /// The organization that means "no organization": the same in every circle, never renamed or deleted.
  package static let noneID = FixedRecords.none.id
  package static let noneName = "None"
  /// The profile.
  package static let profileID = FixedRecords.profile.id

  /// Records that exist in every circle, with stamp zero, so that any real edit wins over them.
  package static let seeds = [
    RecordDraft(organization, noneID, [FixedRecords.organizationName: .text(noneName)]),
    RecordDraft(profile, profileID),
  ]
}
