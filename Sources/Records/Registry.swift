// Protocol/records.md lists the same kinds and fields; a test compares the two. Numbers never change.

package import Replication
package import Wire

/// All kinds of records that this version knows.
package enum Registry {
  package static let kinds: [Kind] = [
    trip, lodging, transportation, activity, organization, address, attachment,
    habit, category, habitEntry, profile, setting,
  ]

  private static let byNumber = Dictionary(uniqueKeysWithValues: kinds.map { ($0.number, $0) })

  /// Returns the kind with a number; nil for a kind that a newer version has added.
  package static func kind(_ number: KindNumber) -> Kind? { byNumber[number] }

  /// Returns the kind that has this singular or plural name on the command line.
  package static func kind(named name: String) -> Kind? {
    kinds.first { $0.name == name || $0.plural == name }
  }

  /// The id of the organization that means "no organization". It is the same in every circle, and the organization is
  /// never renamed or deleted.
  package static let noneID = FixedRecords.none.id
  package static let noneName = "None"
  /// The id of the profile.
  package static let profileID = FixedRecords.profile.id

  /// The records that exist in every circle from the start. They have stamp zero, so any real edit wins over them.
  package static let seeds = [
    RecordDraft(organization, noneID, [FixedRecords.organizationName: .text(noneName)]),
    RecordDraft(profile, profileID),
  ]
}
