// Protocol/records.md, "Ids"

package import Replication
package import Wire

/// The records that exist in every circle, with the same ids everywhere.
package enum FixedRecords {
  package static let organization = KindNumbers.known(5)
  package static let profileKind = KindNumbers.known(4_096)
  package static let organizationName: FieldNumber = 1
  /// The key of the organization that means "no organization".
  package static let none = RecordKey(
    kind: organization, id: RecordID(Bytes16(0x7761_796d_6172_6b00, 0x0000_0000_0000_0001)))
  /// The key of the profile record.
  package static let profile = RecordKey(
    kind: profileKind, id: RecordID(Bytes16(0x7761_796d_6172_6b00, 0x0000_0000_0000_0002)))

  /// The id of the organization None.
  package static let noneID = none.id
  /// The id of the profile.
  package static let profileID = profile.id
  /// The name of the organization None.
  package static let noneName = "None"

  /// Reports whether no write can change a cell. This applies to the life and the name of the organization None, and
  /// to the life of records that are merged as a whole.
  package static func isFixed(_ record: RecordKey, _ field: FieldNumber) -> Bool {
    if record.kind.mergeClass == .wholeRecord { return field == Fields.life }
    return record == none && (field == Fields.life || field == organizationName)
  }
}
